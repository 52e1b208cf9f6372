//! While a cell's slot is half moved, on either side every call is refused and changes nothing, or is done in full.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod cell;
mod moving {
    pub(crate) mod slot;
}

use std::{
    collections::{BTreeMap, BTreeSet},
    thread::sleep,
    time::Duration,
};

use cell::{api, library, rich::BEFORE, seed, steps};
use lockless_servers::Cluster;
use moving::slot::{Keys, Move, Outcome};
use redis::Value;

const READS: &[&str] = &[
    "node n1",
    "node n4",
    "nodes 0 10",
    "fleet 0 10",
    "holds n1 0 10",
    "holds n4 0 10",
    "session s1",
    "session bound",
    "job running",
    "job dispatched",
    "job finished",
    "job failed",
    "job stopping",
    "job q-running",
    "job q-waiting",
    "job q-late",
    "job q-dead",
    "jobs pending 0 100",
    "jobs dispatched 0 100",
    "jobs running 0 100",
    "jobs failed 0 100",
    "jobs cancelled 0 100",
    "stats",
    "explain s1 en fr",
    "explain s9 - - POOL b",
    "explain bound - -",
    "deployment d-owned",
    "deployment d-free",
    "deployments 0 100",
    "overview",
    "events - 1000",
    "events $ 10",
    "check",
    "version",
];

/// Each succeeds on a cell that is all there.
const WRITES: &[&str] = &[
    "deploy d-new POOL new",
    "deploy d-owned SPEC t",
    "deploy d-owned",
    "deploy d-leaving POOL a",
    "deploy d-off ENABLED false",
    "undeploy d-gone",
    "undeploy d-removed",
    "claim n7 REQUEST q RUNNING d-stopped",
    "claim n1 REQUEST q",
    "claim n1",
    "config cpu_weight 0.25",
    "submit q-new p POOL b",
    "submit q-first p POOL new",
    "submit q-later p DELAY 600000",
    "submit q-waiting p POOL b",
    "pull n1 REQUEST before",
    "pull n3 REQUEST q COUNT 1",
    "tick n3 MEM 20 USED 2000 TOTAL 10000 AVAIL 8000 SWAP 0 CPU 10 REQUEST q",
    "tick n1 MEM 99 USED 9900 TOTAL 10000 AVAIL 100 SWAP 0 CPU 10 REQUEST q",
    "complete q-running n1 finished",
    "complete q-failing n1 failed",
    "complete q-dying n1 failed",
    "cancel q-unwanted",
    "cancel q-withdrawn",
    "cancel q-late",
    "stopped q-stopped n1 ok",
    "stopped q-stopping n1 ok",
    "retry q-dead",
    "register n1 40 POOL a PAIR en fr LABEL gpu INSTANCE x",
    "register n2 3 POOL e PAIR en it LABEL big",
    "register n5 2 POOL b POOL f PAIR en fr",
    "register n1 40 POOL a PAIR en fr LABEL gpu INSTANCE y",
    "heartbeat n1 JOBS 3",
    "heartbeat n3 LABEL big CAPS {}",
    "heartbeat n1 CPU 99",
    "heartbeat n1 CPU 10",
    "drain n3 on",
    "drain n3 off",
    "dispatch s1 en fr p JOB new1",
    "dispatch s2 en fr p JOB new2 ACK 60000",
    "dispatch s3 - - p JOB new3 TTL 60000 POOL b",
    "dispatch s4 - - p",
    "dispatch s1 en fr p JOB dispatched",
    "reserve n1 new4 60000",
    "reserve n1 renewed 60000",
    "ack dispatched n1",
    "ack unacknowledged n1",
    "take n1 REQUEST q",
    "release declined n1",
    "release given-back n1",
    "complete running n1 finished",
    "complete failing n1 failed REASON r",
    "complete stopping n1 finished",
    "extend extended n1 60000 PROGRESS half",
    "cancel unwanted REASON r",
    "cancel reserved",
    "config reserve_ttl_ms 4000",
    "sweep",
    "repair",
    "snapshot",
    "listen",
    "bind new5 r1 POOL b",
    "bind bound r1",
    "bind given-up r2 POOL a PREEMPT",
    "dispatch bound - - p JOB new6",
    "dispatch riding - - p JOB new7",
    "complete rider n1 finished",
    "renew bound {bound}",
    "model_unavailable n3 missing@1 WINDOW 600000",
    "model_unavailable n1 other@1 WINDOW 600000",
    "limit reached 1 600000",
    "limit open 5 600000 REQUEST q",
    "lock locked b 600000",
    "lock free b 600000",
    "unlock locked a",
    "unbind riding {riding}",
    "deregister n4",
];

const REFUSALS: [&str; 4] = ["CELL_MOVING", "ASK", "MOVED", "TRYAGAIN"];

/// Calls that another one of the list makes impossible are left out once that one has succeeded.
fn is_possible(line: &str, done: &BTreeSet<&str>) -> bool {
    let ends_jobs = done.contains("register n1 40 POOL a PAIR en fr LABEL gpu INSTANCE y");
    let on_a_job = [
        "ack ",
        "release ",
        "complete ",
        "extend ",
        "cancel ",
        "stopped ",
        "renew ",
        "reserve n1 renewed",
        "dispatch s1 en fr p JOB dispatched",
    ];
    let taken = done.contains("take n1 REQUEST q");
    !(ends_jobs && on_a_job.iter().any(|start| line.starts_with(start))
        || taken && line.starts_with("release "))
}

/// What the sessions that are bound before have as their leases, by their names in braces.
type Leases = BTreeMap<String, String>;

/// A call with the leases it speaks of.
fn spoken(line: &str, leases: &Leases) -> String {
    leases
        .iter()
        .fold(line.to_owned(), |line, (name, id)| line.replace(name, id))
}

fn lease_of(line: &str, reply: &Value) -> Option<(String, String)> {
    let session = line.strip_prefix("bind ")?.split(' ').next()?;
    match reply {
        Value::Array(fields) => match &fields[5] {
            Value::BulkString(id) => {
                Some((format!("{{{session}}}"), id.escape_ascii().to_string()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A reply without what the clock alone changes.
fn timeless(line: &str, reply: Value) -> Value {
    match reply {
        Value::Array(mut fields) if line == "stats" => {
            fields.drain(2..4);
            Value::Array(fields)
        }
        other => other,
    }
}

/// Makes every call on both sides. Returns how many were refused, and which were done.
fn call_all(
    moved: &mut Move,
    expected: &[Outcome],
    leases: &Leases,
    when: &str,
) -> (usize, BTreeSet<&'static str>) {
    let mut refused = 0;
    let mut done = BTreeSet::new();
    let root = moved.root.clone();
    let mut before = moved.keys();
    for (at, line) in READS.iter().chain(WRITES).enumerate() {
        for is_target in [false, true] {
            if done.contains(line) || !is_possible(line, &done) {
                continue;
            }
            let side = if is_target {
                &mut moved.target
            } else {
                &mut moved.source
            };
            let outcome = side.call(&root, &spoken(line, leases), is_target);
            let after = moved.keys();
            let told = format!(
                "{when}, {line} on the {}: {outcome:?}",
                if is_target { "target" } else { "source" }
            );
            match outcome {
                Err(code) => {
                    assert!(REFUSALS.contains(&code.as_str()), "{told}");
                    refused += 1;
                    assert_same(&before, &after, &told);
                }
                Ok(reply) if at < READS.len() => {
                    assert_eq!(Ok(timeless(line, reply)), expected[at].clone(), "{told}");
                    assert_same(&before, &after, &told);
                }
                Ok(_) => {
                    let has_record = after[usize::from(is_target)].contains_key(root.as_bytes());
                    assert!(
                        has_record,
                        "{told}, although the cell's record is elsewhere"
                    );
                    done.insert(*line);
                }
            }
            before = after;
        }
    }
    (refused, done)
}

fn assert_same(before: &[Keys; 2], after: &[Keys; 2], told: &str) {
    for (before, after) in before.iter().zip(after) {
        let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        let changed = names
            .into_iter()
            .filter(|name| before.get(*name) != after.get(*name));
        let changed: Vec<_> = changed
            .map(|name| name.escape_ascii().to_string())
            .collect();
        assert!(changed.is_empty(), "{told}, and changed {changed:?}");
    }
}

/// One cell: made, half moved, called on both sides, moved for good, and called again.
fn run(
    cluster: &Cluster,
    number: u32,
    name: &str,
    is_overdue: bool,
    goes: impl FnMut(&str) -> bool,
) {
    let mut moved = Move::prepare(cluster, number);
    let root = moved.root.clone();
    let mut leases = Leases::new();
    for line in BEFORE {
        let reply = moved.source.call(&root, line, false).unwrap();
        leases.extend(lease_of(line, &reply));
    }
    if is_overdue {
        moved
            .source
            .call(&root, "reserve n7 late 1", false)
            .unwrap();
        moved
            .source
            .call(&root, "submit q-due p POOL nowhere DELAY 1", false)
            .unwrap();
        moved
            .source
            .call(&root, "dispatch s8 - - p JOB overrun POOL d TTL 1", false)
            .unwrap();
        sleep(Duration::from_millis(5));
    }
    let expected: Vec<_> = READS
        .iter()
        .map(|line| {
            moved
                .source
                .call(&root, line, false)
                .map(|reply| timeless(line, reply))
        })
        .collect();
    let when = format!(
        "{name}{}",
        if is_overdue {
            " with something overdue"
        } else {
            ""
        }
    );
    moved.begin(goes);
    let (refused, mut done) = call_all(&mut moved, &expected, &leases, &when);
    assert!(refused > 0, "{when}: no call was refused");
    moved.finish();
    let violations = moved.target.call(&root, "check", false).unwrap();
    assert_eq!(violations, Value::Array(vec![]), "{when}, after the move");
    for line in READS.iter().chain(WRITES) {
        if is_possible(line, &done) && !done.contains(line) {
            let outcome = moved.target.call(&root, &spoken(line, &leases), false);
            assert!(
                outcome.is_ok(),
                "{when}, after the move: {line}: {outcome:?}"
            );
            done.insert(line);
        }
    }
    let violations = moved.target.call(&root, "check", false).unwrap();
    assert_eq!(violations, Value::Array(vec![]), "{when}, at the end");
}

/// Which keys go first, by what follows the root in their names.
type Partition = (&'static str, fn(&str) -> bool);

#[test]
fn a_half_moved_cell_refuses_or_does_it_all() {
    let seed = seed();
    let cluster = Cluster::start(3).unwrap();
    for index in 0..3 {
        let url = cluster.primaries().nth(index).unwrap().url();
        let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
        redis::cmd("FUNCTION")
            .arg("LOAD")
            .arg("REPLACE")
            .arg(library())
            .exec(&mut connection)
            .unwrap();
    }
    let partitions: [Partition; 20] = [
        ("nothing moved yet", |_| false),
        ("everything moved", |_| true),
        ("only the record moved", str::is_empty),
        ("everything but the record moved", |key| !key.is_empty()),
        ("the jobs moved", |key| key.starts_with(":job:")),
        ("all but the jobs moved", |key| !key.starts_with(":job:")),
        ("the slots moved", |key| key.starts_with(":node:slots:")),
        ("the nodes moved", |key| key.starts_with(":node:")),
        ("the ready indexes moved", |key| key.starts_with(":ready:")),
        ("the class index moved", |key| {
            key.starts_with(":attr") || key.starts_with(":class")
        }),
        ("the due list moved", |key| key == ":due"),
        ("the queues moved", |key| key.starts_with(":queue")),
        ("the heads and what waits for its time moved", |key| {
            key == ":heads" || key == ":delayed"
        }),
        ("what fits the classes moved", |key| {
            key.starts_with(":fits:")
        }),
        ("guards, limits, locks and the snapshot moved", |key| {
            [":guard", ":limit", ":lock", ":snapshot"]
                .iter()
                .any(|start| key.starts_with(start))
        }),
        ("the events moved", |key| key == ":events"),
        ("the deployments moved", |key| {
            key.starts_with(":deployment")
        }),
        ("who may claim, and what nodes have, moved", |key| {
            [":claim:", ":node:deployments:", ":node:revoked:"]
                .iter()
                .any(|start| key.starts_with(start))
        }),
        ("the boxes moved", |key| {
            key == ":failed" || key == ":cancelled"
        }),
        ("sessions, match results and settings moved", |key| {
            [":session", ":match", ":config"]
                .iter()
                .any(|start| key.starts_with(start))
        }),
    ];
    let mut number = 0;
    for is_overdue in [false, true] {
        for (name, goes) in partitions {
            number += 1;
            run(&cluster, number, name, is_overdue, goes);
        }
        for half in 0..steps(6) {
            number += 1;
            let mut random = fastrand::Rng::with_seed(seed.wrapping_add(half));
            let name = format!("a random half moved (LOCKLESS_SEED={seed}, half {half})");
            run(&cluster, number, &name, is_overdue, |_| random.bool());
        }
    }
}

#[test]
fn every_function_is_called_while_the_slot_moves() {
    let called: BTreeSet<String> = READS
        .iter()
        .chain(WRITES)
        .map(|line| format!("lockless_{}", line.split(' ').next().unwrap()))
        .collect();
    let all: BTreeSet<String> = api()
        .functions
        .into_iter()
        .map(|function| function.name)
        .collect();
    assert_eq!(called, all);
}
