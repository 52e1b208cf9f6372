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

/// What the jobs and sessions that ask are called, so that their holds are known.
const NAME: &str = "probe";

/// A way to be given slots, until there are none.
type Way = fn(&mut Stage, &Fleet) -> Vec<Violation>;

/// The nodes there are, and the holds that an undisturbed call leaves them.
struct Fleet<'p> {
    nodes: Vec<String>,
    left: &'p BTreeSet<String>,
}

/// Each begins where the interrupted call left the cell: what one is given another would not be offered.
const WAYS: [Way; 4] = [dispatched, bound, reserved, pulled];

/// Probes the states that the interruptions of one call leave behind.
pub(super) struct Probe {
    left: BTreeSet<String>,
    /// Those that were probed: several interruptions leave the same, and many have changed nothing.
    digests: BTreeSet<String>,
}

impl Probe {
    /// For a call that was just made without an interruption.
    pub(super) fn after_undisturbed(stage: &mut Stage) -> Result<Self, Error> {
        let mut left = BTreeSet::new();
        for node in stage.nodes()? {
            left.extend(holds(stage, &node).iter().map(|hold| name(&node, hold)));
        }
        Ok(Self {
            left,
            digests: BTreeSet::new(),
        })
    }

    /// What is wrong with what others are given now. The cell is left as it was.
    pub(super) fn wrong(&mut self, stage: &mut Stage) -> Result<Vec<Violation>, Error> {
        let digest = stage.command(&["DEBUG", "DIGEST"])?.text();
        if !self.digests.insert(digest) {
            return Ok(Vec::new());
        }
        let fleet = Fleet {
            nodes: stage.nodes()?,
            left: &self.left,
        };
        let mut found = Vec::new();
        for way in WAYS {
            stage.command(&["EVAL", COPY, "0"])?;
            found.extend(way(stage, &fleet));
            stage.command(&["FLUSHDB"])?;
            stage.command(&["SWAPDB", "0", "1"])?;
        }
        Ok(found)
    }
}

fn dispatched(stage: &mut Stage, fleet: &Fleet) -> Vec<Violation> {
    let line = |number| format!("dispatch {NAME} - - p JOB {NAME}-{number}");
    let node_of = |reply: &Answer| reply.list().first().map(Answer::text);
    until_refused(stage, fleet, line, node_of)
        .into_iter()
        .collect()
}

fn bound(stage: &mut Stage, fleet: &Fleet) -> Vec<Violation> {
    let line = |number| format!("bind {NAME}-{number} r");
    let node_of = |reply: &Answer| reply.field("node_id").map(Answer::text);
    until_refused(stage, fleet, line, node_of)
        .into_iter()
        .collect()
}

fn reserved(stage: &mut Stage, fleet: &Fleet) -> Vec<Violation> {
    let of_one = |node: &String| {
        let line = |number| format!("reserve {node} {NAME}-{node}-{number} 60000");
        let node_of = |reply: &Answer| (reply.int() == Some(1)).then(|| node.clone());
        until_refused(stage, fleet, line, node_of)
    };
    fleet.nodes.iter().flat_map(of_one).collect()
}

fn pulled(stage: &mut Stage, fleet: &Fleet) -> Vec<Violation> {
    let of_one = |node: &String| {
        let line = |_| format!("pull {node}");
        let node_of = |reply: &Answer| {
            let items = reply.list().first().map(Answer::list).unwrap_or_default();
            (!items.is_empty()).then(|| node.clone())
        };
        until_refused(stage, fleet, line, node_of)
    };
    fleet.nodes.iter().flat_map(of_one).collect()
}

/// Makes calls until one gives nothing, or something is wrong. `node_of` says whose slot a reply gives.
fn until_refused(
    stage: &mut Stage,
    fleet: &Fleet,
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
        if let Some(what) = not_its_to_give(stage, fleet, &node) {
            let sentence = format!("then `{line}` was given a slot of {node}, {what}");
            return Some(Violation::new(Rule::NotOversold, sentence));
        }
    }
    None
}

/// What is wrong with a node that has just given a slot. It is looked at after that and not before: the call itself may have settled
/// what was overdue, and nobody else calls.
fn not_its_to_give(stage: &mut Stage, fleet: &Fleet, node: &str) -> Option<String> {
    let said = stage.say(&format!("node {node}"));
    let Some(fields) = said.reply() else {
        return Some(format!("of which `node` says {said:?}"));
    };
    let number = |name: &str| fields.field(name).and_then(Answer::int).unwrap_or(0);
    let (effective, max_jobs) = (number("effective"), number("max_jobs"));
    if effective <= max_jobs {
        return None;
    }
    let over = over(stage, fleet, node);
    let is_full = effective - over > max_jobs;
    is_full.then(|| format!("which has {effective} of {max_jobs} now, {over} of them over"))
}

/// How many holds of a node are nobody's any more: the interrupted call was giving them back, and what had them has ended. A slot is offered
/// again before its hold goes, so that a repetition finds what is left to do.
fn over(stage: &mut Stage, fleet: &Fleet, node: &str) -> i64 {
    let mut over = 0;
    for hold in holds(stage, node) {
        let texts = hold.texts();
        let is_new = texts.iter().any(|text| text.starts_with(NAME));
        if is_new || fleet.left.contains(&name(node, &hold)) {
            continue;
        }
        let is_seat = texts.first().is_some_and(|state| state == "seat");
        if is_seat || has_ended(stage, &texts[1]) {
            over += 1;
        }
    }
    over
}

fn has_ended(stage: &mut Stage, job: &str) -> bool {
    let said = stage.say(&format!("job {job}"));
    let status = said.reply().and_then(|fields| fields.field("status"));
    !status.is_some_and(|status| ["dispatched", "running"].contains(&status.text().as_str()))
}

fn holds(stage: &mut Stage, node: &str) -> Vec<Answer> {
    let said = stage.say(&format!("holds {node} 0 1000"));
    let page = said.reply().and_then(|reply| reply.list().get(1));
    page.map(|page| page.list().to_vec()).unwrap_or_default()
}

/// A hold by its node, job, session and lease; its state and deadline may change.
fn name(node: &str, hold: &Answer) -> String {
    let texts = hold.texts();
    format!("{node} {}", texts[1..texts.len() - 1].join(" "))
}
