//! How long it took after each injury until work was taken again.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use crate::history::{Durability, History, Record};

/// The longest time from mending until a cell took work, of all cells and injuries; none without injuries. A cell that took none before it was
/// broken again did not for at least as long as that was away.
pub(crate) fn longest(history: &History) -> Option<Duration> {
    let taken = taken(history);
    let cells: BTreeSet<&str> = history.records.iter().map(|one| &*one.root).collect();
    let mut longest_us = None;
    for injury in &history.injuries {
        let mut later = history.injuries.iter();
        let next = later.find(|next| next.begin_us > injury.mended_us);
        let broken_again_us = next.map_or(u64::MAX, |next| next.begin_us);
        for cell in &cells {
            let mut here = taken.iter().filter(|one| &*one.root == *cell);
            let first = here.find(|one| one.start_us >= injury.mended_us);
            let taken_us = first.map_or(u64::MAX, |one| one.end_us);
            let took_us = taken_us.min(broken_again_us) - injury.mended_us;
            longest_us = longest_us.max(Some(took_us));
        }
    }
    longest_us.map(Duration::from_micros)
}

/// Calls that took new work and are kept. A submit is none: a cell without a single node takes it. Neither is a dispatch that may have been made
/// before and is only told again.
fn taken(history: &History) -> Vec<&Record> {
    let mut made = HashSet::new();
    let mut taken = Vec::new();
    for record in &history.records {
        if record.function != "dispatch" {
            continue;
        }
        let job = (&*record.root, record.option("JOB"));
        let is_kept = history.durability != Durability::Confirmed || record.is_confirmed;
        if record.reply().is_some() && is_kept && !made.contains(&job) {
            taken.push(record);
        }
        if record.said.may_have_acted() {
            made.insert(job);
        }
    }
    taken
}
