//! Words of an older incarnation, lease or owner have no effect once a newer one was given.

use std::collections::BTreeMap;

use crate::history::{History, Record};
use crate::outcome::{Rule, Violation};
use crate::wire::Answer;

use super::holds::text_of;
use super::{at_least_us, grouped};

/// Everything that went past a fence.
pub(crate) fn stale_effects(history: &History) -> Vec<Violation> {
    let mut found = stale_incarnations(history);
    found.extend(repeated_incarnations(history));
    found.extend(stale_leases(history));
    found.extend(stale_tokens(history));
    found
}

fn violation(what: &str, before: &Record, after: &Record) -> Violation {
    Violation::new(
        Rule::Fenced,
        format!("{what}:\n    {}\n    {}", before.line(), after.line()),
    )
}

/// The incarnation that a registration was given.
pub(super) fn incarnation(register: &Record) -> Option<u64> {
    let given = register.reply()?.field("incarnation")?.int()?;
    u64::try_from(given).ok()
}

fn stale_incarnations(history: &History) -> Vec<Violation> {
    let node_of = |record: &Record| match record.function {
        "ack" | "complete" | "release" | "stopped" | "extend" => 1,
        _ => 0,
    };
    let by_node = grouped(history, |record| {
        let is_word = record.function == "register" || record.option("INCARNATION").is_some();
        is_word.then(|| (&*record.root, record.word(node_of(record))))
    });
    let mut found = Vec::new();
    for records in by_node.values() {
        let registers: Vec<&&Record> = records
            .iter()
            .filter(|record| record.function == "register" && history.is_durable(record))
            .collect();
        let words = records
            .iter()
            .filter(|record| record.function != "register" && record.reply().is_some());
        for word in words {
            let Some(own) = word.number("INCARNATION") else {
                continue;
            };
            let newer = registers.iter().find(|register| {
                register.end_us < word.start_us
                    && incarnation(register).is_some_and(|given| given > own)
            });
            if let Some(newer) = newer {
                found.push(violation(
                    "a word of an older incarnation was heard",
                    newer,
                    word,
                ));
            }
        }
    }
    found
}

fn repeated_incarnations(history: &History) -> Vec<Violation> {
    let mut given: BTreeMap<(&str, u64), &Record> = BTreeMap::new();
    let mut found = Vec::new();
    let registers = history
        .records
        .iter()
        .filter(|record| record.function == "register" && history.is_durable(record));
    for record in registers {
        let Some(number) = incarnation(record) else {
            continue;
        };
        let first = given.entry((&record.root, number)).or_insert(record);
        let is_same = first.word(0) == record.word(0)
            && first.option("INSTANCE") == record.option("INSTANCE");
        if !is_same {
            found.push(violation("an incarnation was given twice", first, record));
        }
    }
    found
}

/// The number that a lease's id begins with; it only grows.
fn lease_number(id: &str) -> Option<u64> {
    id.split('-').next()?.parse().ok()
}

fn stale_leases(history: &History) -> Vec<Violation> {
    let by_session = grouped(history, |record| {
        let is_of_lease = matches!(record.function, "bind" | "renew" | "unbind");
        is_of_lease.then(|| (&*record.root, record.word(0)))
    });
    let mut found = Vec::new();
    for records in by_session.values() {
        let newer_leases: Vec<(&&Record, u64)> = records
            .iter()
            .filter(|record| record.function == "bind" && history.is_durable(record))
            .filter_map(|record| {
                let id = text_of(record.reply()?, "lease_id");
                Some((record, lease_number(id)?))
            })
            .collect();
        for used in records.iter().filter(|record| record.function != "bind") {
            let had_effect = match used.function {
                "renew" => used.reply().is_some(),
                _ => used.reply().and_then(Answer::int) == Some(1),
            };
            let own = lease_number(used.word(1));
            let newer = newer_leases
                .iter()
                .find(|(bind, number)| bind.end_us < used.start_us && Some(*number) > own);
            if let (true, Some((bind, _))) = (had_effect && own.is_some(), newer) {
                found.push(violation("a superseded lease had an effect", bind, used));
            }
        }
    }
    found
}

/// A lock that was surely somebody's.
struct Locked<'h> {
    record: &'h Record,
    owner: &'h str,
    token: i64,
    to_us: u64,
}

fn stale_tokens(history: &History) -> Vec<Violation> {
    let by_name = grouped(history, |record| {
        let is_of_lock = matches!(record.function, "lock" | "unlock");
        is_of_lock.then(|| (&*record.root, record.word(0)))
    });
    let mut found = Vec::new();
    for records in by_name.values() {
        let locked = locked(history, records);
        for (at, later) in locked.iter().enumerate() {
            for before in &locked[..at] {
                if before.record.end_us >= later.record.start_us {
                    continue;
                }
                let is_other = before.owner != later.owner;
                if later.token < before.token || is_other && later.token == before.token {
                    let what = "a fencing token did not grow";
                    found.push(violation(what, before.record, later.record));
                } else if is_other && later.record.end_us < before.to_us {
                    let what = "a lock was given to two owners";
                    found.push(violation(what, before.record, later.record));
                }
            }
        }
    }
    found
}

fn locked<'h>(history: &History, records: &[&'h Record]) -> Vec<Locked<'h>> {
    let mut out = Vec::new();
    let locks = records
        .iter()
        .filter(|record| record.function == "lock" && history.is_durable(record));
    for record in locks {
        let Some([Answer::Int(1), token]) = record.reply().map(Answer::list) else {
            continue;
        };
        let Some(token) = token.int() else { continue };
        let owner = record.word(1);
        let unlocked_us = records
            .iter()
            .filter(|other| {
                other.function == "unlock"
                    && other.word(1) == owner
                    && other.said.may_have_acted()
                    && (other.reply().is_none() || other.end_us >= record.start_us)
            })
            .map(|other| other.start_us)
            .min();
        let ttl_ms = record.word(2).parse().unwrap_or(0);
        let moved_us = history.time_moved_after(record.start_us);
        out.push(Locked {
            record,
            owner,
            token,
            to_us: (record.start_us + at_least_us(ttl_ms))
                .min(unlocked_us.unwrap_or(u64::MAX))
                .min(moved_us.unwrap_or(u64::MAX)),
        });
    }
    out
}
