//! Whatever one key of a cell, one field or one member of it loses, repair mends until check names nothing, and the cell works.
//! Whatever a field or a score says instead of what it said, repair mends too.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod cell;

use cell::{
    ROOT, code, command, in_process, list, must, number, rich::BEFORE, say, state, text, texts,
    violations,
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

/// What a number of a job's record may say that is none, or none that a cell comes to.
const NO_NUMBERS: [&str; 5] = ["x", "", "1.5", "9007199254740000", "99999999999999999999"];

/// What is said of a job, and what its node asks for, in this order and in the opposite one. `J` is the job, `N` its node.
const SAID_OF_A_JOB: &[&str] = &[
    "job J",
    "take N COUNT 100",
    "take N REQUEST again",
    "take N REQUEST again",
    "pull N",
    "pull N REQUEST before",
    "tick N MEM 20 USED 2000 TOTAL 10000 AVAIL 8000 SWAP 0 CPU 10",
    "tick N MEM 99 USED 9900 TOTAL 10000 AVAIL 100 SWAP 0 CPU 10",
    "ack J N",
    "extend J N 60000 PROGRESS p",
    "reserve N J 60000",
    "dispatch s1 en fr p JOB J",
    "submit J p POOL a",
    "stopped J N failed",
    "stopped J N ok",
    "retry J",
    "complete J N failed REASON r",
    "complete J N finished",
    "cancel J",
    "release J N",
    "check",
    "jobs",
    "snapshot",
];

/// Scores of holds from here on say that the node may run the job.
const RUNNING: i64 = 20_000_000_000_000;

/// How long a job of these tests may run, and how long its node may be silent.
const RUN_LIMIT_MS: u64 = 60_000;
const SILENCE_MS: u64 = 600_000;

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

/// Every number in the records of jobs, and every end, replaced by what is none; and whole fields of them.
fn damaged_jobs(host: &mut InProcess) -> Vec<(String, Damage)> {
    let mut out = Vec::new();
    for name in bulks(&command(host, &format!("KEYS {ROOT}:job:*"))) {
        let job = String::from_utf8(name[ROOT.len() + ":job:".len()..].to_vec()).unwrap();
        for field in ["d", "q", "l", "f", "s"] {
            let Reply::Bulk(value) = ask(host, &[b"HGET", &name, field.as_bytes()]) else {
                continue;
            };
            let mut push = |value: &[u8]| {
                let damage = damage(&[b"HSET", &name, field.as_bytes(), value]);
                out.push((job.clone(), damage));
            };
            let value = String::from_utf8(value).unwrap();
            let words: Vec<_> = value.split(' ').collect();
            for (at, word) in words.iter().enumerate() {
                let is_shape = field == "q" && at >= 9;
                if word.parse::<f64>().is_err() && field != "f" && !is_shape {
                    continue;
                }
                for wrong in NO_NUMBERS {
                    let mut words = words.clone();
                    words[at] = wrong;
                    push(words.join(" ").as_bytes());
                }
            }
            push(b"");
            push(b"1 2 3");
        }
    }
    out
}

/// The same rich cell, whose jobs may run for a minute, and whose nodes may be silent for longer.
fn rich_and_patient() -> InProcess {
    let mut host = in_process();
    must(&mut host, "register n1 1");
    must(&mut host, &format!("config job_ttl_ms {RUN_LIMIT_MS}"));
    must(&mut host, &format!("config heartbeat_ttl_ms {SILENCE_MS}"));
    must(&mut host, "deregister n1");
    for line in BEFORE {
        must(&mut host, line);
    }
    assert_eq!(violations(&mut host), Vec::<String>::new());
    host
}

/// Says something that a damaged record may be refused for, and may not make fail.
fn say_anyhow(host: &mut InProcess, line: &str, out: &mut Vec<String>) {
    let reply = say(host, line);
    if matches!(&reply, Reply::Error(line) if line.starts_with("ERR")) {
        out.push(format!("{line}: {reply:?}"));
    }
}

/// What goes wrong when all is said of the job, in either order.
fn faults_of_words(host: &mut InProcess, job: &str) -> Vec<String> {
    let mut out = Vec::new();
    let start = host.snapshot().unwrap();
    for node in ["n1", "n4"] {
        let lines = SAID_OF_A_JOB.iter().map(|line| {
            let with_name = |word| match word {
                "J" => job,
                "N" => node,
                other => other,
            };
            line.split(' ').map(with_name).collect::<Vec<_>>().join(" ")
        });
        let lines: Vec<_> = lines.collect();
        for line in &lines {
            say_anyhow(host, line, &mut out);
        }
        out.extend(repaired(host));
        host.restore(&start).unwrap();
        for line in lines.iter().rev() {
            say_anyhow(host, line, &mut out);
        }
        out.extend(repaired(host));
        host.restore(&start).unwrap();
    }
    out
}

/// The same when every time has passed before repair: a slot that a job runs in is still taken.
fn faults_of_time(host: &mut InProcess, taken: &[(&'static str, String)]) -> Vec<String> {
    let mut out = Vec::new();
    let running: Vec<_> = taken
        .iter()
        .filter(|(node, member)| {
            let score = command(host, &format!("ZSCORE {ROOT}:node:slots:{node} {member}"));
            score != Reply::Nil && number(&score) >= RUNNING
        })
        .collect();
    let now_ms = state::get(host, "clock").unwrap().unsigned_abs();
    host.set_time_ms(now_ms + RUN_LIMIT_MS + 1000).unwrap();
    for _ in 0..3 {
        say_anyhow(host, "sweep", &mut out);
    }
    for (node, max_jobs) in NODES {
        say_anyhow(host, &format!("heartbeat {node}"), &mut out);
        for number in 0..max_jobs.min(5) {
            let line = format!("reserve {node} more-{node}-{number} 60000");
            say_anyhow(host, &line, &mut out);
        }
    }
    for (node, member) in running {
        if command(host, &format!("ZSCORE {ROOT}:node:slots:{node} {member}")) == Reply::Nil {
            out.push(format!(
                "the slot of {member} on {node}, where it may run, was given back"
            ));
        }
    }
    out.extend(faults(host));
    out
}

/// The same when the nodes leave before repair.
fn faults_of_leaving(host: &mut InProcess) -> Vec<String> {
    let mut out = Vec::new();
    for (node, _) in NODES {
        say_anyhow(host, &format!("deregister {node}"), &mut out);
    }
    for _ in 0..3 {
        say_anyhow(host, "sweep", &mut out);
    }
    say_anyhow(host, "register n1 4 POOL a PAIR en fr", &mut out);
    say_anyhow(host, "pull n1", &mut out);
    out.extend(faults(host));
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

#[test]
fn before_repair_no_damaged_job_makes_a_call_fail_or_gives_back_the_slot_it_runs_in() {
    let mut host = rich_and_patient();
    let damages = damaged_jobs(&mut host);
    assert!(damages.len() > 300, "{} damages", damages.len());
    let taken = slots_taken(&mut host);
    let start = host.snapshot().unwrap();
    let mut all = Vec::new();
    for (job, damage) in &damages {
        let mut with = |faults: &dyn Fn(&mut InProcess) -> Vec<String>| {
            host.restore(&start).unwrap();
            host.command(damage).unwrap();
            let found = faults(&mut host);
            all.extend(found.iter().map(|it| format!("{}: {it}", shown(damage))));
        };
        with(&|host| faults_of_words(host, job));
        with(&|host| faults_of_time(host, &taken));
        with(&faults_of_leaving);
    }
    assert_no_faults(&all);
}
