//! What the cell and its nodes must have counted of jobs from the queue.

use std::collections::{BTreeMap, BTreeSet};

use lockless_lua_tests::{Host, Reply};

use super::{bindings::incarnation_of, generator::Call};
use crate::cell::{code, must, number_of, say};

type Numbers = BTreeMap<&'static str, i64>;

/// What a node counts of its work, and the cell of all.
const OF_NODES: [&str; 8] = [
    "started_total",
    "completed_total",
    "blocked_total",
    "preempted_total",
    "failed_total",
    "timeout_total",
    "lost_total",
    "emergency_ticks",
];
const OF_CELL: [&str; 5] = [
    "submitted_total",
    "requeued",
    "retried",
    "withdrawn",
    "pending",
];

#[derive(Default)]
pub(crate) struct Counts {
    cell: Numbers,
    nodes: BTreeMap<String, Numbers>,
    /// Nodes that were lost when last seen.
    lost: BTreeSet<String>,
}

impl Counts {
    pub(crate) fn started(&self) -> i64 {
        self.cell.get("started_total").copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, name: &'static str, by: i64) {
        *self.cell.entry(name).or_default() += by;
    }

    /// Counts for the cell, and for a node that was there.
    pub(crate) fn add_on(&mut self, node: &str, name: &'static str, by: i64) {
        self.add(name, by);
        if let Some(numbers) = self.nodes.get_mut(node) {
            *numbers.entry(name).or_default() += by;
        }
    }

    /// What a node counted goes with it.
    pub(crate) fn see_nodes(&mut self, there: BTreeSet<String>) {
        self.nodes.retain(|node, _| there.contains(node));
        self.lost.retain(|node| there.contains(node));
        for node in there {
            self.nodes.entry(node).or_default();
        }
    }

    /// A node that was lost may be forgotten by the very call that registers it again: then it begins anew.
    pub(crate) fn see_registration(&mut self, host: &mut dyn Host, call: &Call, reply: &Reply) {
        let node = call.arg(0);
        if call.function == "register" && code(reply).is_none() && self.lost.contains(&node) {
            let shown = say(host, &format!("node {node}"));
            if OF_NODES.iter().all(|name| number_of(&shown, name) == 0) {
                self.nodes.insert(node, Numbers::new());
            }
        }
        for node in self.nodes.keys() {
            match incarnation_of(host, node) {
                Some(_) => self.lost.remove(node),
                None => self.lost.insert(node.clone()),
            };
        }
    }

    pub(crate) fn compare(&self, host: &mut dyn Host) {
        let stats = must(host, "stats");
        for name in OF_CELL.iter().chain(&OF_NODES) {
            let expected = self.cell.get(name).copied().unwrap_or(0);
            assert_eq!(number_of(&stats, name), expected, "{name} of the cell");
        }
        for (node, numbers) in &self.nodes {
            let shown = say(host, &format!("node {node}"));
            for name in OF_NODES {
                let expected = numbers.get(name).copied().unwrap_or(0);
                assert_eq!(number_of(&shown, name), expected, "{name} of {node}");
            }
        }
    }
}
