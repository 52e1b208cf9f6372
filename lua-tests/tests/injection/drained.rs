//! After a call without REQUEST that was interrupted and made again, who is handed what may differ. So the cell is worked off: every
//! job must come out finished, handed out as often as was counted, and every count must be that of the nodes together.

use lockless_lua_tests::{Host, InProcess};

use crate::cell::{
    audit::problems, call, code, keyspace, list, must, number_of, say, text_of, texts, violations,
};

/// A node that every scenario's jobs fit.
const WORKER: &str = "register worker 100 POOL default POOL a POOL b LABEL gpu LABEL big LABEL a LABEL b PAIR en fr REGION eu";
/// More rounds than any scenario's jobs need.
const ROUNDS: usize = 6;

/// What both a node and the cell count.
const COUNTS: [&str; 8] = [
    "started_total",
    "completed_total",
    "blocked_total",
    "preempted_total",
    "failed_total",
    "timeout_total",
    "lost_total",
    "emergency_ticks",
];

fn nodes(host: &mut InProcess) -> Vec<String> {
    texts(&list(&must(host, "nodes 0 1000"))[1])
}

fn page(host: &mut InProcess, state: &str) -> Vec<String> {
    texts(&list(&must(host, &format!("jobs {state} 0 1000")))[1])
}

/// Every count of the cell that is not the sum over its nodes.
fn miscounted(host: &mut InProcess) -> Vec<String> {
    let stats = must(host, "stats");
    let mut out = Vec::new();
    for name in COUNTS {
        let mut sum = 0;
        for node in nodes(host) {
            sum += number_of(&must(host, &format!("node {node}")), name);
        }
        let counted = number_of(&stats, name);
        if counted != sum {
            out.push(format!("{name} is {counted}, on the nodes {sum}"));
        }
    }
    out
}

/// Stops what is to stop, finishes what runs, and has the worker take what waits.
fn work_off(host: &mut InProcess) {
    for node in nodes(host) {
        let heartbeat = say(host, &format!("heartbeat {node}"));
        if code(&heartbeat).is_some() {
            continue;
        }
        for job in texts(crate::cell::field(&heartbeat, "stop")) {
            say(host, &format!("stopped {job} {node} ok"));
        }
    }
    for job in page(host, "running") {
        let node = text_of(&must(host, &format!("job {job}")), "node_id");
        say(host, &format!("complete {job} {node} finished"));
    }
    must(host, "pull worker COUNT 256");
}

fn work_all_off(host: &mut InProcess) {
    for _ in 0..ROUNDS {
        work_off(host);
        if page(host, "pending").is_empty() && page(host, "running").is_empty() {
            break;
        }
    }
    // What was left to stop.
    work_off(host);
}

/// Works the cell off, whatever became of it, and says which jobs never come to an end.
pub(crate) fn lost(host: &mut InProcess) -> Vec<String> {
    must(host, WORKER);
    work_all_off(host);
    // Those that wait for their time.
    if !page(host, "pending").is_empty() {
        host.pass_time(9_000).unwrap();
        must(host, "sweep");
        work_all_off(host);
    }
    let mut out = Vec::new();
    for job in ["i", "j", "k", "m", "v"] {
        let record = call(host, "job", &[job]);
        if code(&record).is_none() && text_of(&record, "ended_ts").is_empty() {
            out.push(format!("job {job} never ends: {record:?}"));
        }
    }
    out
}

/// Works the cell off and says what was lost, doubled or miscounted.
pub(crate) fn faults(host: &mut InProcess) -> Vec<String> {
    must(host, WORKER);
    work_all_off(host);
    let mut out = violations(host);
    out.extend(problems(&keyspace(host)));
    out.extend(miscounted(host));
    let stats = must(host, "stats");
    let (mut known, mut attempts) = (0, 0);
    for job in ["i", "j", "k", "m"] {
        let record = call(host, "job", &[job]);
        if code(&record).is_some() {
            continue;
        }
        known += 1;
        attempts += number_of(&record, "attempts");
        let status = text_of(&record, "status");
        if status != "finished" {
            out.push(format!("job {job} is {status}"));
        }
        let again = say(host, &format!("submit {job} other"));
        if code(&again) != Some("JOB_EXISTS") {
            out.push(format!("job {job} could be submitted again: {again:?}"));
        }
    }
    for (name, wanted) in [
        ("submitted_total", known),
        ("finished", known),
        ("completed_total", known),
        ("started_total", attempts),
        ("pending", 0),
        ("live", 0),
    ] {
        let counted = number_of(&stats, name);
        if counted != wanted {
            out.push(format!("{name} is {counted}, not {wanted}"));
        }
    }
    out
}
