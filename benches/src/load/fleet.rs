//! The nodes of a cell, and the callers' own account of what is held on them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use redis::{Cmd, ConnectionLike, FromRedisValue, Value};

use crate::Error;
use crate::cell::{defaults_on, fcall_on, node, presence_on};

/// Pages of a check.
const CHECKED_AT_ONCE: &str = "5000";

/// Nodes of one cell, all alike. The callers note each grant and each slot they are about to give back, so that a slot that is handed
/// out twice shows without asking the library.
pub struct Fleet {
    root: String,
    slots_per_node: u32,
    held: Vec<AtomicU32>,
    oversold: AtomicUsize,
}

impl Fleet {
    /// So many nodes with so many slots each.
    pub fn new(root: &str, nodes: usize, slots_per_node: u32) -> Self {
        Fleet {
            root: root.to_owned(),
            slots_per_node,
            held: (0..nodes).map(|_| AtomicU32::new(0)).collect(),
            oversold: AtomicUsize::new(0),
        }
    }

    /// The cell's root key.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Registers the nodes in an empty cell that then has default settings.
    pub fn register(&self, connection: &mut dyn ConnectionLike) -> Result<(), Error> {
        for held in &self.held {
            held.store(0, Ordering::Relaxed);
        }
        let slots = self.slots_per_node.to_string();
        let mut commands = vec![presence_on(&self.root)];
        for number in 0..self.held.len() {
            let name = node(number);
            let words = [&name, slots.as_str(), "POOL", "general", "PAIR", "en", "zh"];
            commands.push(fcall_on(&self.root, "lockless_register", &words));
        }
        commands.push(defaults_on(&self.root));
        for command in &commands {
            ask(connection, command)?;
        }
        Ok(())
    }

    /// A caller was given a slot.
    pub fn granted(&self, node: &str) -> Result<(), Error> {
        let held = 1 + self.of(node)?.fetch_add(1, Ordering::AcqRel);
        if held > self.slots_per_node {
            self.oversold.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// A caller is about to give a slot back.
    pub fn given_back(&self, node: &str) -> Result<(), Error> {
        self.of(node)?.fetch_sub(1, Ordering::AcqRel);
        Ok(())
    }

    /// How often a caller was given a slot that another one held.
    pub fn oversold(&self) -> usize {
        self.oversold.load(Ordering::Relaxed)
    }

    /// Fails when the library's own audit finds anything, or when it counts other holds than the callers do.
    pub fn check(&self, connection: &mut dyn ConnectionLike) -> Result<(), Error> {
        let mut cursor = "0".to_owned();
        loop {
            let words = ["CURSOR", &cursor, "COUNT", CHECKED_AT_ONCE];
            let reply = ask(connection, &fcall_on(&self.root, "lockless_check", &words))?;
            let (next, violations): (String, Vec<String>) = of_reply("lockless_check", reply)?;
            if !violations.is_empty() {
                return Err(Error::unexpected("lockless_check", &violations));
            }
            if next == "0" {
                break;
            }
            cursor = next;
        }
        for (number, held) in self.held.iter().enumerate() {
            let name = node(number);
            let reply = ask(connection, &fcall_on(&self.root, "lockless_node", &[&name]))?;
            let known: HashMap<String, Value> = of_reply("lockless_node", reply)?;
            let counted = known.get("current_jobs");
            if counted != Some(&Value::Int(i64::from(held.load(Ordering::Acquire)))) {
                return Err(Error::unexpected(
                    format!("current_jobs of {name}"),
                    &counted,
                ));
            }
        }
        Ok(())
    }

    fn of(&self, node: &str) -> Result<&AtomicU32, Error> {
        node.strip_prefix("node-")
            .and_then(|number| self.held.get(number.parse::<usize>().ok()?))
            .ok_or_else(|| Error::unexpected("a dispatch", &node))
    }
}

fn ask(connection: &mut dyn ConnectionLike, command: &Cmd) -> Result<Value, Error> {
    let answer = connection.req_command(command);
    answer
        .and_then(Value::extract_error)
        .map_err(|source| Error::Command {
            what: "preparing a cell".to_owned(),
            source,
        })
}

fn of_reply<T: FromRedisValue>(what: &str, reply: Value) -> Result<T, Error> {
    redis::from_redis_value(reply).map_err(|source| Error::Command {
        what: what.to_owned(),
        source: source.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::Fleet;

    #[test]
    fn a_slot_that_two_callers_hold_is_oversold() {
        let fleet = Fleet::new("scheduler:{main}", 2, 1);
        fleet.granted("node-000001").unwrap();
        fleet.given_back("node-000001").unwrap();
        fleet.granted("node-000001").unwrap();
        fleet.granted("node-000000").unwrap();
        assert_eq!(fleet.oversold(), 0);
        fleet.granted("node-000001").unwrap();
        assert_eq!(fleet.oversold(), 1);
        assert!(fleet.granted("node-000002").is_err());
    }
}
