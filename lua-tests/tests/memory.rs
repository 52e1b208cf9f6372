//! Memory: it comes back after jobs have gone, and a full server still drains.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod memory {
    pub(crate) mod queue;
}

use std::{
    collections::BTreeSet,
    thread::sleep,
    time::{Duration, Instant},
};

use lockless_functions::{
    LIBRARY,
    api::{Api, Mode},
};
use lockless_servers::Standalone;
use redis::{Cmd, Connection, ConnectionLike, Value};

const BATCH: usize = 500;

fn start() -> (Standalone, Connection) {
    let server = Standalone::builder().private().start().unwrap();
    let mut connection = redis::Client::open(server.url())
        .unwrap()
        .get_connection()
        .unwrap();
    redis::cmd("FUNCTION")
        .arg(&["LOAD", LIBRARY])
        .exec(&mut connection)
        .unwrap();
    (server, connection)
}

fn fcall(line: &str) -> Cmd {
    let mut words = line.split(' ');
    let mut command = redis::cmd("FCALL");
    command
        .arg(format!("lockless_{}", words.next().unwrap()))
        .arg(1)
        .arg("scheduler:{main}")
        .arg(words.collect::<Vec<_>>());
    command
}

fn must(connection: &mut Connection, line: &str) -> Value {
    let reply = connection.req_command(&fcall(line));
    assert!(
        !matches!(reply, Err(_) | Ok(Value::ServerError(_))),
        "{line}: {reply:?}"
    );
    reply.unwrap()
}

/// Sends calls in one go.
fn all(connection: &mut Connection, lines: impl Iterator<Item = String>) {
    let mut pipe = redis::pipe();
    for line in lines {
        pipe.add_command(fcall(&line)).ignore();
    }
    pipe.exec(connection).unwrap();
}

fn memory(connection: &mut Connection) -> u64 {
    let info: redis::InfoDict = redis::cmd("INFO").arg("memory").query(connection).unwrap();
    info.get("used_memory").unwrap()
}

fn keys(connection: &mut Connection) -> u64 {
    redis::cmd("DBSIZE").query(connection).unwrap()
}

/// Jobs from `first` on that finish, fail, are cancelled or are never acknowledged, in turn.
fn run(connection: &mut Connection, first: usize, jobs: usize) {
    for batch in (first..first + jobs).step_by(BATCH) {
        let numbers = batch..batch + BATCH;
        let dispatch = |job: usize| {
            let ack = if job % 10 == 3 {
                " ACK 1"
            } else {
                " ACK 60000"
            };
            format!("dispatch s{} - - payload JOB j{job}{ack}", job % 5000)
        };
        all(connection, numbers.clone().map(dispatch));
        let end = |job: usize| match job % 10 {
            1 => Some(format!("complete j{job} n1 failed")),
            2 => Some(format!("cancel j{job}")),
            3 => None,
            _ => Some(format!("complete j{job} n1 finished RESULT r")),
        };
        all(connection, numbers.filter_map(end));
        must(connection, "sweep LIMIT 10000");
    }
}

/// Waits until so many keys are left and no more memory than so much is used.
fn wait_until_gone(connection: &mut Connection, keys_before: u64, memory_before: u64) -> u64 {
    let started = Instant::now();
    loop {
        must(connection, "sweep LIMIT 10000");
        let (left, used) = (keys(connection), memory(connection));
        if left <= keys_before && used <= memory_before {
            return used;
        }
        assert!(
            started.elapsed() < Duration::from_secs(40),
            "{left} keys of {keys_before}, {used} bytes of {memory_before}"
        );
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn memory_returns_to_its_start_after_a_hundred_thousand_jobs() {
    const JOBS: usize = 100_000;
    /// A cell with one node has no more keys of its own.
    const CELL_KEYS: u64 = 20;
    /// What the server itself needs more or less of at times: buffers, tables that shrink in steps.
    const SLACK_BYTES: u64 = 512 * 1024;
    let (_server, mut connection) = start();
    let connection = &mut connection;
    must(
        connection,
        "config keep_finished_ms 3000 session_ttl_ms 3000 heartbeat_ttl_ms 1800000 events_max 100",
    );
    must(connection, "register n1 10000");
    // Every cache, counter and box has been there once, and the events are as many as are kept.
    run(connection, 0, 4000);
    wait_until_gone(connection, CELL_KEYS, u64::MAX);
    let (keys_before, memory_before) = (keys(connection), memory(connection));
    run(connection, 4000, JOBS);
    let peak = memory(connection);
    assert!(
        peak > memory_before + SLACK_BYTES,
        "the jobs took no memory"
    );
    let left = wait_until_gone(connection, keys_before, memory_before + SLACK_BYTES);
    println!("{memory_before} bytes before {JOBS} jobs, {peak} right after, {left} at the end");
    assert_eq!(must(connection, "check"), Value::Array(vec![]));
}

/// What comes before Redis is full.
const BEFORE: &[&str] = &[
    "config heartbeat_ttl_ms 1800000",
    "register n1 100",
    "register n2 4 POOL other",
    "dispatch s - - p JOB a POOL default",
    "reserve n1 b 600000",
    "reserve n1 c 600000",
    "reserve n1 d 600000",
    "reserve n1 e 600000",
    "ack b n1",
    "ack c n1",
    "submit q p",
    "submit q-failed p RETRIES 0",
    "pull n1",
    "complete q-failed n1 failed",
    "submit q-waiting p",
    "bind bound r",
    "lock l o 600000",
    "deploy d",
    "claim n1",
    "deploy d-free",
];

/// Each gives back or keeps capacity, and works also when Redis is full.
const DRAINING: &[&str] = &[
    "heartbeat n1 JOBS 1 CPU 5",
    "ack d n1",
    "release e n1",
    "take n1",
    "tick n1 MEM 20 USED 2000 TOTAL 10000 AVAIL 8000 SWAP 0 CPU 10",
    "stopped q n1 ok",
    "complete b n1 failed REASON r",
    "cancel c",
    "drain n2 on",
    "renew bound {lease} LEASE 90000",
    "unbind bound {lease}",
    "unlock l o",
    "undeploy d",
    "repair",
    "listen",
    "sweep",
    "deregister n2",
];

/// Each takes more, and is refused by Redis itself.
const TAKING: &[&str] = &[
    "register n3 1",
    "dispatch s - - p JOB new",
    "reserve n1 new 5000",
    "extend d n1 5000",
    "submit q-new p",
    "pull n1",
    "retry q-failed",
    "deploy d-new",
    "claim n1",
    "bind other r",
    "model_unavailable n1 m",
    "limit name 1 1000",
    "lock other o 1000",
    "config job_ttl_ms 5000",
    "snapshot",
];

#[test]
fn a_full_server_takes_nothing_more_and_still_drains() {
    let (_server, mut connection) = start();
    let connection = &mut connection;
    for line in BEFORE {
        must(connection, line);
    }
    let Value::Array(bound) = must(connection, "bind bound r") else {
        panic!("bind replies a list");
    };
    let lease: String = redis::from_redis_value(bound[5].clone()).unwrap();
    for (name, value) in [("maxmemory-policy", "noeviction"), ("maxmemory", "1")] {
        redis::cmd("CONFIG")
            .arg(&["SET", name, value])
            .exec(connection)
            .unwrap();
    }
    for line in TAKING {
        let refused = match connection.req_command(&fcall(line)) {
            Ok(Value::ServerError(error)) => error.code().to_owned(),
            Err(error) => error.code().unwrap_or_default().to_owned(),
            Ok(reply) => panic!("{line}: {reply:?}"),
        };
        assert_eq!(refused, "OOM", "{line}");
    }
    for line in DRAINING {
        must(connection, &line.replace("{lease}", &lease));
    }
    assert_eq!(must(connection, "check"), Value::Array(vec![]));
}

#[test]
fn every_write_function_is_tried_on_a_full_server() {
    let api = Api::parse(include_str!("../../functions/api.toml")).unwrap();
    let named = |lines: &[&str]| -> BTreeSet<String> {
        let name = |line: &&str| format!("lockless_{}", line.split(' ').next().unwrap());
        lines.iter().map(name).collect()
    };
    let those = |allow_oom: bool| -> BTreeSet<String> {
        let writes = api.functions.iter().filter(|it| it.mode == Mode::Write);
        let picked = writes.filter(|it| it.allow_oom == allow_oom);
        picked.map(|it| it.name.clone()).collect()
    };
    assert_eq!(named(DRAINING), those(true));
    assert_eq!(named(TAKING), those(false));
}
