//! What `/proc` says about processes.

use std::collections::BTreeSet;
use std::fs;

use serde::{Deserialize, Serialize};

/// A process that is not mistaken for a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its number.
    pub pid: i32,
    /// When it began, in ticks since the machine did.
    pub started: u64,
}

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Who it is.
    pub identity: Identity,
    /// Its parent's number.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
    /// It has ended, and is only still to be waited for.
    pub is_zombie: bool,
}

impl Identity {
    /// The process that has this number now.
    pub fn of(pid: i32) -> Option<Self> {
        read(pid).map(|process| process.identity)
    }

    /// Whether that very process is still there.
    pub fn is_alive(self) -> bool {
        read(self.pid).is_some_and(|process| process.identity == self && !process.is_zombie)
    }
}

/// The process of that number.
pub fn read(pid: i32) -> Option<Process> {
    parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// All processes.
pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(read).collect()
}

/// The children of a process, their children, and so on.
pub fn descendants(ancestor: i32) -> Vec<Process> {
    let all = all();
    let mut family = BTreeSet::from([ancestor]);
    // Each round finds one more generation; there are no more of them than processes.
    for _ in 0..all.len() {
        let before = family.len();
        let children = all
            .iter()
            .filter(|process| family.contains(&process.parent));
        let children: Vec<i32> = children.map(|process| process.identity.pid).collect();
        family.extend(children);
        if family.len() == before {
            break;
        }
    }
    family.remove(&ancestor);
    all.into_iter()
        .filter(|process| family.contains(&process.identity.pid))
        .collect()
}

/// Whether a process was started with this variable, given as `NAME=value`.
pub fn has_variable(pid: i32, variable: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
        environ
            .split(|byte| *byte == 0)
            .any(|one| one == variable.as_bytes())
    })
}

/// What tells one run of the machine from another.
pub fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// The line is `pid (name) state ppid pgrp ...`; the name may have spaces and brackets of its own.
fn parse(stat: &[u8]) -> Option<Process> {
    let stat = String::from_utf8_lossy(stat);
    let pid = stat.split(' ').next()?.parse().ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Process {
        identity: Identity {
            pid,
            started: fields.get(19)?.parse().ok()?,
        },
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        is_zombie: matches!(*fields.first()?, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_confuses_nobody() {
        let line = b"42 (a) S (b) Z 7 9 9 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 123456 1 1\n";
        let process = parse(line).expect("a process");
        assert_eq!(
            (process.identity.pid, process.parent, process.group),
            (42, 7, 9)
        );
        assert_eq!(process.identity.started, 123_456);
        assert!(process.is_zombie);
        assert_eq!(parse(b"42 (a"), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn a_child_is_found_by_its_parent_and_by_its_variable() {
        let mut child = Command::new("sleep")
            .arg("60")
            .env("LOCKLESS_TEST_MARK", "here")
            .spawn()
            .expect("sleep");
        let pid = i32::try_from(child.id()).expect("a number");
        let identity = Identity::of(pid).expect("an identity");
        let own = i32::try_from(std::process::id()).expect("a number");
        assert!(
            descendants(own)
                .iter()
                .any(|process| process.identity == identity)
        );
        assert!(has_variable(pid, "LOCKLESS_TEST_MARK=here"));
        assert!(!has_variable(pid, "LOCKLESS_TEST_MARK=her"));
        assert!(identity.is_alive());
        assert!(
            !Identity {
                started: 1,
                ..identity
            }
            .is_alive()
        );
        child.kill().expect("killed");
        child.wait().expect("waited");
        assert!(!identity.is_alive());
        assert!(!boot_id().is_empty());
    }
}
