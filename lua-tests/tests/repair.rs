//! Whatever one key of a cell, one field or one member of it loses, repair mends until check names nothing, and the cell works.
//! Whatever a field or a score says instead of what it said, repair mends too.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod cell;
mod repair {
    mod jobs;
}

use cell::{
    ROOT, code, command, in_process, list, must, number, rich::BEFORE, say, text, texts, violations,
};
use lockless_lua_tests::{Host, InProcess, Model, Reply};

/// More calls than any damage takes.
const REPAIRS: usize = 8;

/// Calls that touch nodes, classes, queues, leases and deployments.
const AFTERWARDS: &[&str] = &[
    "sweep",
    "heartbeat n2 CPU 5",
    "register n9 4 POOL a POOL b POOL d PAIR en fr",
    "dispatch s9 - - p JOB after1 POOL a",
    "bind s8 r1 POOL b",
    "submit after2 p POOL b",
    "pull n9",
    "claim n9",
    "deploy after3 POOL d",
    "lock after4 me 1000",
    "deregister n9",
    "deregister n2",
    "sweep",
];

/// What a field may say that nobody wrote.
const WRONG_VALUES: [&[u8]; 7] = [
    b"x",
    b"",
    b"-1",
    b"1.5",
    b"1 2 3",
    b"9999999999",
    b"99999999999",
];

/// The same of a score.
const WRONG_SCORES: [&[u8]; 10] = [
    b"-inf",
    b"-1",
    b"7.5",
    b"77",
    b"9999999999",
    b"100000000000",
    b"10000000000000",
    b"9007199254740990",
    b"1e16",
    b"+inf",
];

/// The nodes of the cell before damage, and their slots.
const NODES: [(&str, i64); 5] = [("n1", 40), ("n2", 4), ("n3", 4), ("n4", 4), ("n7", 4)];

/// A plain command that damages something.
type Damage = Vec<Vec<u8>>;

fn damage(words: &[&[u8]]) -> Damage {
    words.iter().map(|word| word.to_vec()).collect()
}

/// Every plain command that takes something away: whole keys, then fields and members. A record that ends by itself is no damage.
fn losses(host: &mut InProcess) -> Vec<Damage> {
    let mut out = Vec::new();
    let mut push = |words: &[&[u8]]| out.push(damage(words));
    let names = bulks(&command(host, &format!("KEYS {ROOT}*")));
    for name in names {
        push(&[b"DEL", &name]);
        let kind = text(&ask(host, &[b"TYPE", &name]));
        let (read, remove): (&[&[u8]], &[u8]) = match kind.as_str() {
            "hash" => (&[b"HKEYS", &name], b"HDEL"),
            "zset" => (&[b"ZRANGE", &name, b"0", b"-1"], b"ZREM"),
            "set" => (&[b"SMEMBERS", &name], b"SREM"),
            _ => continue,
        };
        let members = bulks(&ask(host, read));
        if members.len() > 1 {
            for member in members {
                push(&[remove, &name, &member]);
            }
        }
    }
    out
}

/// Every field with a value that nobody wrote, every member with a score of that kind.
fn wrong_values(host: &mut InProcess) -> Vec<Damage> {
    let mut out = Vec::new();
    for name in bulks(&command(host, &format!("KEYS {ROOT}*"))) {
        match text(&ask(host, &[b"TYPE", &name])).as_str() {
            "hash" => {
                for field in bulks(&ask(host, &[b"HKEYS", &name])) {
                    for value in WRONG_VALUES {
                        out.push(damage(&[b"HSET", &name, &field, value]));
                    }
                }
            }
            "zset" => {
                for member in bulks(&ask(host, &[b"ZRANGE", &name, b"0", b"-1"])) {
                    for score in WRONG_SCORES {
                        out.push(damage(&[b"ZADD", &name, score, &member]));
                    }
                }
                out.push(damage(&[b"ZADD", &name, b"7", b"x"]));
            }
            "set" => out.push(damage(&[b"SADD", &name, b"x"])),
            _ => {}
        }
    }
    out
}

fn ask(host: &mut InProcess, words: &[&[u8]]) -> Reply {
    host.command(&damage(words)).unwrap()
}

fn bulks(reply: &Reply) -> Vec<Vec<u8>> {
    let bulk = |item: &Reply| match item {
        Reply::Bulk(bytes) => bytes.clone(),
        other => panic!("not bytes: {other:?}"),
    };
    list(reply).iter().map(bulk).collect()
}

/// Repairs until nothing is left to mend; what is wrong then.
fn repaired(host: &mut InProcess) -> Vec<String> {
    let mut out = Vec::new();
    for at in 1..=REPAIRS {
        let reply = say(host, "repair");
        match &reply {
            Reply::Array(mended) if mended.is_empty() => break,
            Reply::Array(_) if at < REPAIRS => {}
            other => {
                out.push(format!("repair {at}: {other:?}"));
                break;
            }
        }
    }
    out.extend(checked(host));
    out
}

/// The same, and what is wrong after the cell was used.
fn faults(host: &mut InProcess) -> Vec<String> {
    let mut out = repaired(host);
    out.extend(used(host));
    out
}

/// What goes wrong when the cell is used, and what is wrong then.
fn used(host: &mut InProcess) -> Vec<String> {
    let mut out = Vec::new();
    for line in AFTERWARDS {
        let reply = say(host, line);
        // A node that was given up is not there any more, and what nobody serves is refused.
        let is_defect = matches!(&reply, Reply::Error(line) if line.starts_with("ERR"));
        if is_defect || code(&reply) == Some("BAD_CELL") {
            out.push(format!("then {line}: {reply:?}"));
        }
    }
    out.extend(checked(host));
    out
}

/// The slots that jobs have: node and member of each.
fn slots_taken(host: &mut InProcess) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    for (node, _) in NODES {
        let members = command(host, &format!("ZRANGE {ROOT}:node:slots:{node} 0 -1"));
        let jobs = texts(&members).into_iter().filter(|it| it.starts_with('j'));
        out.extend(jobs.map(|member| (node, member)));
    }
    out
}

/// Whether the cell counts a node as gone, with all that it had.
fn is_lost(host: &mut InProcess, node: &str) -> bool {
    let flags = command(host, &format!("HGET {ROOT}:node:runtime:{node} flags"));
    !matches!(&flags, Reply::Bulk(flags) if !flags.contains(&b'l'))
}

/// Repairs once and asks every node for more than it has, then repairs all: no slot that a node may be using is given back, none is
/// given twice, and check names nothing.
fn faults_of_slots(host: &mut InProcess, taken: &[(&'static str, String)]) -> Vec<String> {
    let mut out = Vec::new();
    say(host, "repair");
    for (node, max_jobs) in NODES {
        for number in 0..max_jobs.min(5) {
            say(host, &format!("reserve {node} more-{node}-{number} 60000"));
        }
    }
    out.extend(repaired(host));
    out.extend(
        taken
            .iter()
            .filter(|(node, member)| {
                let hold = command(host, &format!("ZSCORE {ROOT}:node:slots:{node} {member}"));
                hold == Reply::Nil && !is_lost(host, node)
            })
            .map(|(node, member)| format!("the slot of {member} on {node} was given back")),
    );
    for (node, max_jobs) in NODES {
        let held = number(&command(host, &format!("ZCARD {ROOT}:node:slots:{node}"))) - 1;
        if held > max_jobs {
            out.push(format!("{node} has {held} jobs and {max_jobs} slots"));
        }
    }
    out.extend(used(host));
    out
}

/// What check says, an error included.
fn checked(host: &mut InProcess) -> Vec<String> {
    match say(host, "check") {
        Reply::Error(line) => vec![line],
        violations => texts(&violations),
    }
}

fn shown(loss: &[Vec<u8>]) -> String {
    let words = loss.iter().map(|word| word.escape_ascii().to_string());
    words.collect::<Vec<_>>().join(" ")
}

/// A cell with something of everything in it.
fn rich() -> InProcess {
    let mut host = in_process();
    for line in BEFORE {
        must(&mut host, line);
    }
    assert_eq!(violations(&mut host), Vec::<String>::new());
    host
}

/// Does each damage to the same cell, and says what was found wrong after each.
fn assert_none(
    mut host: InProcess,
    damages: &[Damage],
    faults: impl Fn(&mut InProcess) -> Vec<String>,
) {
    assert!(damages.len() > 300, "{} damages", damages.len());
    let start = host.snapshot().unwrap();
    let mut all = Vec::new();
    for damage in damages {
        host.restore(&start).unwrap();
        host.command(damage).unwrap();
        for fault in faults(&mut host) {
            all.push(format!("{}: {fault}", shown(damage)));
        }
    }
    assert_no_faults(&all);
}

fn assert_no_faults(all: &[String]) {
    let first = &all[..all.len().min(60)];
    assert!(
        all.is_empty(),
        "{} faults:\n{}",
        all.len(),
        first.join("\n")
    );
}

#[test]
fn whatever_is_lost_is_mended() {
    let mut host = rich();
    let losses = losses(&mut host);
    assert_none(host, &losses, faults);
}

#[test]
fn whatever_a_field_or_a_score_says_instead_is_mended() {
    let mut host = rich();
    let damages = wrong_values(&mut host);
    let taken = slots_taken(&mut host);
    assert!(taken.len() > 10, "{taken:?}");
    assert_none(host, &damages, |host| faults_of_slots(host, &taken));
}
