//! No node has more than it has slots for, and no job is on two nodes.

use std::collections::BTreeMap;

use crate::history::History;
use crate::outcome::{Rule, Violation};
use crate::wire::Answer;

use super::holds::{Hold, items};
use super::words;

/// Grants on a node that was full.
pub(crate) fn oversold(history: &History, holds: &[Hold]) -> Vec<Violation> {
    let words = words::of(history);
    let mut by_node: BTreeMap<_, Vec<&Hold>> = BTreeMap::new();
    for hold in holds {
        by_node.entry(hold.node).or_default().push(hold);
    }
    let mut found = Vec::new();
    for (node, mut holds) in by_node {
        let Some(words) = words.get(&node) else {
            continue;
        };
        let Some(max_jobs) = words.max_jobs() else {
            continue;
        };
        holds.sort_by_key(|hold| hold.from_us);
        found.extend(too_many_at_once(&holds, max_jobs));
        for (at, grant) in holds.iter().enumerate() {
            let (start_us, end_us) = (grant.granted_from_us, grant.record.end_us);
            let others = holds[..at].iter().filter(|hold| {
                hold.from_us <= start_us && hold.to_us >= end_us && hold.what != grant.what
            });
            let others = others.count() as u64;
            let foreign = words.foreign(history, start_us, end_us);
            if others + foreign >= max_jobs {
                found.push(Violation::new(
                    Rule::NotOversold,
                    format!(
                        "{} of {} was given a slot of node {} which had {others} and {foreign} foreign of {max_jobs}: {}",
                        grant.what, node.0, node.1, grant.record.line()
                    ),
                ));
            }
        }
    }
    found
}

/// The first time a node surely had more than it has slots for. `holds` are sorted by their begin.
fn too_many_at_once(holds: &[&Hold], max_jobs: u64) -> Option<Violation> {
    let mut open: Vec<&Hold> = Vec::new();
    for hold in holds.iter().filter(|hold| hold.is_sure()) {
        open.retain(|other| other.to_us > hold.from_us);
        open.push(hold);
        if open.len() as u64 > max_jobs {
            let lines: Vec<String> = open.iter().map(|hold| hold.record.line()).collect();
            return Some(Violation::new(
                Rule::NotOversold,
                format!(
                    "node {} of {} had {} at once, and has {max_jobs} slots:\n    {}",
                    hold.node.1,
                    hold.node.0,
                    open.len(),
                    lines.join("\n    ")
                ),
            ));
        }
    }
    None
}

/// Jobs that were on two nodes at once, and tries that were handed out twice.
pub(crate) fn on_two_nodes(history: &History, holds: &[Hold]) -> Vec<Violation> {
    let mut by_job: BTreeMap<(&str, &str), Vec<&Hold>> = BTreeMap::new();
    let sure = holds.iter().filter(|hold| hold.is_sure());
    for hold in sure.filter(|hold| hold.is_job) {
        by_job
            .entry((hold.node.0, &hold.what))
            .or_default()
            .push(hold);
    }
    let mut found = Vec::new();
    for ((root, job), mut holds) in by_job {
        holds.sort_by_key(|hold| hold.from_us);
        for pair in holds.windows(2) {
            let to_us = pair[0].to_us.min(pair[0].may_go_us);
            if pair[0].node != pair[1].node && pair[1].from_us < to_us {
                found.push(Violation::new(
                    Rule::OnOneNode,
                    format!(
                        "job {job} of {root} was on two nodes:\n    {}\n    {}",
                        pair[0].record.line(),
                        pair[1].record.line()
                    ),
                ));
            }
        }
    }
    found.extend(same_try_twice(history));
    found
}

/// A try is handed to one node, by one request.
fn same_try_twice(history: &History) -> Vec<Violation> {
    let mut tries = BTreeMap::new();
    let mut found = Vec::new();
    let pulls = history
        .records
        .iter()
        .filter(|record| record.function == "pull" && history.is_durable(record));
    for record in pulls {
        let by = (record.word(0), record.option("REQUEST"));
        for (job, item) in items(record) {
            let attempt = item.field("attempt").and_then(Answer::int);
            let first = tries
                .entry((&*record.root, job, attempt))
                .or_insert((by, record));
            if first.0 != by {
                found.push(Violation::new(
                    Rule::OnOneNode,
                    format!(
                        "a try was handed out twice:\n    {}\n    {}",
                        first.1.line(),
                        record.line()
                    ),
                ));
            }
        }
    }
    found
}
