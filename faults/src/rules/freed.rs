//! A slot is given back once: of the calls that say whether they gave it back, one says so.

use std::collections::BTreeMap;

use crate::history::{History, Record};
use crate::outcome::{Rule, Violation};
use crate::wire::Answer;

use super::grouped;

/// Slots that two calls were told they gave back.
pub(crate) fn twice(history: &History) -> Vec<Violation> {
    let is_free = |record: &Record| record.reply().and_then(Answer::int) == Some(1);
    let freed = grouped(history, |record| match record.function {
        "release" if is_free(record) => Some((&*record.root, "release", record.word(0), "")),
        "unbind" if is_free(record) => {
            Some((&*record.root, "unbind", record.word(0), record.word(1)))
        }
        _ => None,
    });
    let mut found = Vec::new();
    for (what, records) in freed {
        // The first one may have been undone, and then the second one is right.
        let kept: Vec<&&Record> = records
            .iter()
            .filter(|record| history.is_durable(record))
            .collect();
        if kept.len() > 1 && what.1 == "unbind" || kept.len() > reservations(history, what) {
            found.push(Violation::new(
                Rule::FreedOnce,
                format!(
                    "a slot was given back twice:\n    {}\n    {}",
                    kept[0].line(),
                    kept[1].line()
                ),
            ));
        }
    }
    found
}

/// How often the slot may have been taken: a reservation that was given back may be made again by a call that was late.
fn reservations(history: &History, what: (&str, &str, &str, &str)) -> usize {
    let (root, _, job, _) = what;
    let mut calls: BTreeMap<bool, usize> = BTreeMap::new();
    for record in &history.records {
        let is_it = record.function == "reserve" && &*record.root == root && record.word(1) == job;
        if is_it && record.said.may_have_acted() {
            *calls.entry(record.reply().is_some()).or_default() += 1;
        }
    }
    calls.values().sum::<usize>().max(1)
}
