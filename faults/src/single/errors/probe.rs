//! What others are given between an interruption and the repetition of the call: no slot that a node does not have, and no defect.

use std::collections::BTreeSet;

use crate::Error;
use crate::outcome::{Rule, Violation};
use crate::wire::{Answer, Said};

use super::stage::Stage;

/// More than the scenarios' nodes have slots.
const MOST: usize = 64;
/// Puts a copy of everything into another database.
const COPY: &str =
    "for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 1) end";

/// A way to be given slots, until there are none.
type Way = fn(&mut Stage, &[String]) -> Vec<Violation>;

/// Each begins where the interrupted call left the cell: what one is given another would not be offered.
const WAYS: [Way; 4] = [dispatched, bound, reserved, pulled];

/// The states of a scenario that were probed: several interruptions leave the same, most of them nothing at all.
#[derive(Default)]
pub(super) struct Probe {
    digests: BTreeSet<String>,
}

impl Probe {
    /// What is wrong with what others are given now. The cell is left as it was.
    pub(super) fn wrong(&mut self, stage: &mut Stage) -> Result<Vec<Violation>, Error> {
        let digest = stage.command(&["DEBUG", "DIGEST"])?.text();
        if !self.digests.insert(digest) {
            return Ok(Vec::new());
        }
        let nodes = stage.nodes()?;
        let mut found = Vec::new();
        for way in WAYS {
            stage.command(&["EVAL", COPY, "0"])?;
            found.extend(way(stage, &nodes));
            stage.command(&["FLUSHDB"])?;
            stage.command(&["SWAPDB", "0", "1"])?;
        }
        Ok(found)
    }
}

fn dispatched(stage: &mut Stage, _: &[String]) -> Vec<Violation> {
    let line = |number| format!("dispatch probe - - p JOB probe-{number}");
    let node_of = |reply: &Answer| reply.list().first().map(Answer::text);
    until_refused(stage, line, node_of).into_iter().collect()
}

fn bound(stage: &mut Stage, _: &[String]) -> Vec<Violation> {
    let line = |number| format!("bind probe-{number} r");
    let node_of = |reply: &Answer| reply.field("node_id").map(Answer::text);
    until_refused(stage, line, node_of).into_iter().collect()
}

fn reserved(stage: &mut Stage, nodes: &[String]) -> Vec<Violation> {
    let of_one = |node: &String| {
        let line = |number| format!("reserve {node} probe-{node}-{number} 60000");
        let node_of = |reply: &Answer| (reply.int() == Some(1)).then(|| node.clone());
        until_refused(stage, line, node_of)
    };
    nodes.iter().flat_map(of_one).collect()
}

fn pulled(stage: &mut Stage, nodes: &[String]) -> Vec<Violation> {
    let of_one = |node: &String| {
        let line = |_| format!("pull {node}");
        let node_of = |reply: &Answer| {
            let items = reply.list().first().map(Answer::list).unwrap_or_default();
            (!items.is_empty()).then(|| node.clone())
        };
        until_refused(stage, line, node_of)
    };
    nodes.iter().flat_map(of_one).collect()
}

/// Makes calls until one gives nothing, or something is wrong. `node_of` says whose slot a reply gives.
fn until_refused(
    stage: &mut Stage,
    line: impl Fn(usize) -> String,
    node_of: impl Fn(&Answer) -> Option<String>,
) -> Option<Violation> {
    for number in 0..MOST {
        let line = line(number);
        let said = stage.say(&line);
        let Said::Reply(reply) = &said else {
            // A refusal has a code of its own; a general error is a defect of the library.
            let is_refusal = said.code().is_some_and(|code| code != "ERR");
            let sentence = format!("then `{line}` replied {said:?}");
            return (!is_refusal).then(|| Violation::new(Rule::Sound, sentence));
        };
        let node = node_of(reply)?;
        if let Some(what) = not_its_to_give(stage, &node) {
            let sentence = format!("then `{line}` was given a slot of {node}, {what}");
            return Some(Violation::new(Rule::NotOversold, sentence));
        }
    }
    None
}

/// What is wrong with a node that has just given a slot. It is looked at after that and not before: the call itself may have settled
/// what was overdue, and nobody else calls.
fn not_its_to_give(stage: &mut Stage, node: &str) -> Option<String> {
    let said = stage.say(&format!("node {node}"));
    let Some(fields) = said.reply() else {
        return Some(format!("of which `node` says {said:?}"));
    };
    let number = |name: &str| fields.field(name).and_then(Answer::int).unwrap_or(0);
    let (effective, max_jobs) = (number("effective"), number("max_jobs"));
    (effective > max_jobs).then(|| format!("which has {effective} of {max_jobs} now"))
}
