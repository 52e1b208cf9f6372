//! What must hold, whatever was broken: judged from a history and from what the cells say in the end.

mod causes;
pub mod cell;
mod fences;
mod freed;
mod holds;
mod jobs;
mod recovery;
mod sight;
mod slots;
#[cfg(test)]
mod tests;
mod undone;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::Error;
use crate::history::Record;
use crate::history::{History, Recorder};
use crate::load::Plan;
use crate::outcome::{Rule, Tally, Violation};
use crate::run::Run;
use crate::wire::Route;

/// What became of each job, by cell and id, in the end: its status, or none when there is no record of it.
pub type Ends = BTreeMap<(Arc<str>, String), Option<String>>;

/// Judges what was called.
pub fn judge(history: &History, ends: &Ends) -> Vec<Violation> {
    let holds = holds::of(history);
    let mut found = slots::oversold(history, &holds);
    found.extend(slots::on_two_nodes(history, &holds));
    found.extend(jobs::lost(history, ends));
    found.extend(undone::held_after_their_end(history));
    found.extend(freed::twice(history));
    found.extend(fences::stale_effects(history));
    found
}

/// What a load showed.
pub struct Verdict {
    /// Calls and what was found wrong.
    pub tally: Tally,
    /// The longest time from healing to the first work taken; none when nothing was healed.
    pub recovery: Option<Duration>,
    /// How many jobs expired for no other reason than that time moved.
    pub overtaken: usize,
}

/// Judges a load that was drained: its history, what became of every job, the audit of each cell, whether each cell has all its slots and no
/// more, whether it took work again soon enough after each injury, and whether an injury could have undone anything that must be kept.
pub fn verdict(
    run: &Run,
    plan: &Plan,
    route: &dyn Route,
    recorder: &Recorder,
) -> Result<Verdict, Error> {
    let history = recorder.history();
    let mut wire = route.open();
    let ends = cell::ends(run, wire.as_mut(), &history)?;
    let mut violations = judge(&history, &ends);
    violations.extend(sight::blind(&history));
    for root in &plan.roots {
        violations.extend(cell::unsound(wire.as_mut(), root)?);
        violations.extend(cell::not_all_slots(run, wire.as_mut(), root, plan)?);
        violations.extend(cell::unsound(wire.as_mut(), root)?);
    }
    let overtaken = jobs::overtaken(&history, &ends);
    let recovery = recovery::longest(&history);
    let allowed = 2 * plan.longest_lease();
    if let Some(took) = recovery.filter(|took| *took > allowed) {
        violations.push(Violation::new(
            Rule::Recovers,
            format!("it took {took:?} until work was taken again, more than {allowed:?}"),
        ));
    }
    Ok(Verdict {
        tally: Tally {
            operations: history.records.len() as u64,
            maybes: history.maybes(),
            violations,
        },
        recovery,
        overtaken,
    })
}

/// How long a deadline is away at the least, as the history counts it. The server reads its clock in whole milliseconds, so that a deadline
/// may pass almost one early.
fn at_least_us(milliseconds: u64) -> u64 {
    milliseconds.saturating_sub(1).saturating_mul(1000)
}

/// Records by what they are about.
fn grouped<'h, K: Ord>(
    history: &'h History,
    key: impl Fn(&'h Record) -> Option<K>,
) -> BTreeMap<K, Vec<&'h Record>> {
    let mut groups: BTreeMap<K, Vec<&Record>> = BTreeMap::new();
    for record in &history.records {
        if let Some(key) = key(record) {
            groups.entry(key).or_default().push(record);
        }
    }
    groups
}
