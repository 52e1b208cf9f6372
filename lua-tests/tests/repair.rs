//! Whatever one key of a cell, one field or one member of it loses, repair mends until check names nothing, and the cell works.
//! Whatever a field or a score says instead of what it said, repair mends too.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod cell;

use cell::{
    ROOT, code, command, in_process, list, must, rich::BEFORE, say, text, texts, violations,
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
                    for value in [&b"x"[..], b"", b"-1", b"1.5", b"1 2 3"] {
                        out.push(damage(&[b"HSET", &name, &field, value]));
                    }
                }
            }
            "zset" => {
                for member in bulks(&ask(host, &[b"ZRANGE", &name, b"0", b"-1"])) {
                    for score in [&b"-inf"[..], b"-1", b"7.5", b"1e16", b"+inf"] {
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
    assert_none(host, &damages, repaired);
}
