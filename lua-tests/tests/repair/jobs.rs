//! What a job's record says is damaged, and repair has not come yet: no call fails, and no slot is given back that the job runs in.

use lockless_lua_tests::{Host, InProcess, Model, Reply};

use crate::cell::{ROOT, command, in_process, must, number, rich::BEFORE, say, state, violations};
use crate::{
    Damage, NODES, ask, assert_no_faults, bulks, damage, faults, repaired, shown, slots_taken,
};

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
