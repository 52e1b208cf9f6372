//! A call that fails at any of its commands, then something else, then the call again: whatever came between, no seat is left over, no
//! slot is given twice, and nothing is left that `check` names.

use lockless_lua_tests::{InProcess, Model, Reply};

use crate::{
    Scenario,
    cell::{
        audit::problems, in_process, keyspace, list, must, number_of, say, text_of, texts,
        violations,
    },
    injection::drained,
    prepare, scenarios, settle_rest, shown,
};

/// What happens between the interrupted call and its repetition. Leases end within `pass 6000`.
const BETWEEN: [&[&str]; 9] = [
    &["dispatch u - - x"],
    &["dispatch s - - x JOB v"],
    &["bind u r1"],
    &["bind s r8"],
    &["bind s r9 PREEMPT"],
    &["bind s r9 PREEMPT", "dispatch s - - x JOB v"],
    &["pass 6000", "sweep"],
    &["pass 6000", "bind s r8"],
    &["deregister n1"],
];

/// Nodes fall silent while leases live.
const SILENCE: [&str; 8] = [
    "pass 9000",
    "sweep",
    "pass 9000",
    "sweep",
    "pass 9000",
    "sweep",
    "pass 9000",
    "sweep",
];

fn defects(replies: &[Reply]) -> Vec<String> {
    let replies = replies.iter().map(|reply| format!("{reply:?}"));
    replies.filter(|reply| reply.contains("defect")).collect()
}

/// The nodes with more holds than slots.
fn overfull(host: &mut InProcess) -> Vec<String> {
    let mut out = Vec::new();
    let nodes = must(host, "nodes 0 1000");
    for node in texts(&list(&nodes)[1]) {
        let fields = must(host, &format!("node {node}"));
        let [held, slots] = ["current_jobs", "max_jobs"].map(|name| number_of(&fields, name));
        if held > slots {
            out.push(format!("{node} holds {held} of {slots}"));
        }
    }
    out
}

/// What is wrong now: defects in replies, nodes with more holds than slots, and all that the audits name.
fn wrong(host: &mut InProcess, replies: &[Reply]) -> Vec<String> {
    let mut out = defects(replies);
    out.extend(violations(host));
    out.extend(overfull(host));
    settle_rest(host);
    out.extend(problems(&keyspace(host)));
    out.extend(violations(host));
    out
}

/// Whether a node has more holds than slots, a reply is a defect, or a job is lost. What an interrupted call has not counted may stay
/// uncounted when another one is counted first, so counts are not looked at.
fn lost(host: &mut InProcess, replies: &[Reply]) -> Vec<String> {
    let mut out: Vec<String> = defects(replies);
    out.extend(overfull(host));
    out.extend(drained::lost(host));
    out
}

type Wrong = fn(&mut InProcess, &[Reply]) -> Vec<String>;

fn faults(scenario: &Scenario, lease: &str, between: &[&str], wrong: Wrong) -> Vec<String> {
    let mut host = in_process();
    must(&mut host, &format!("config session_ttl_ms {lease}"));
    prepare(&mut host, &scenario.before);
    let start = host.snapshot().unwrap();
    must(&mut host, scenario.call);
    let trace = host.call_trace().unwrap();
    let mut faults = Vec::new();
    for (at, traced) in (1..).zip(&trace) {
        host.restore(&start).unwrap();
        host.fail_at(at).unwrap();
        say(&mut host, scenario.call);
        let mut replies = Vec::new();
        for line in between {
            if line.starts_with("pass ") {
                prepare(&mut host, &[line]);
            } else {
                replies.push(say(&mut host, line));
            }
        }
        replies.push(say(&mut host, scenario.call));
        for what in wrong(&mut host, &replies) {
            faults.push(format!(
                "{} at {at} ({} {}), then {between:?}: {what}\n  {replies:?}",
                scenario.name,
                traced.command,
                traced.key.escape_ascii()
            ));
        }
    }
    faults
}

/// What makes a lease, ends it, or ends the job in its seat.
const CALLS: [&str; 7] = [
    "bind", "renew", "unbind", "complete", "release", "cancel", "sweep",
];

fn is_of_a_binding(scenario: &Scenario) -> bool {
    let mut words = scenario.call.split(' ');
    if !words.next().is_some_and(|call| CALLS.contains(&call)) {
        return false;
    }
    let mut lines = scenario.before.iter().chain([&scenario.call]);
    lines.any(|line| line.starts_with("bind "))
}

#[test]
fn nothing_is_left_over_when_something_comes_between_a_call_and_its_repetition() {
    let mut all = Vec::new();
    for scenario in scenarios()
        .iter()
        .filter(|scenario| is_of_a_binding(scenario))
    {
        for between in BETWEEN {
            all.extend(faults(scenario, "5000", between, wrong));
        }
        all.extend(faults(scenario, "1800000", &SILENCE, wrong));
    }
    assert!(all.is_empty(), "{}", shown(&all));
}

/// What happens between an interrupted call of the queue and its repetition. j is a job of most scenarios.
const BETWEEN_QUEUED: [&[&str]; 6] = [
    &["submit v x"],
    &["pull n1 REQUEST b"],
    &[
        "register n2 4 POOL default POOL a POOL b LABEL gpu",
        "pull n2",
    ],
    &["cancel j"],
    &["deregister n1"],
    &["pass 6000", "sweep"],
];

fn is_of_the_queue(scenario: &Scenario) -> bool {
    if scenario.call == "repair" {
        return false;
    }
    let mut lines = scenario.before.iter().chain([&scenario.call]);
    lines.any(|line| line.starts_with("submit "))
}

#[test]
fn no_job_from_the_queue_is_lost_when_something_comes_between_a_call_and_its_repetition() {
    let mut all = Vec::new();
    for scenario in scenarios()
        .iter()
        .filter(|scenario| is_of_the_queue(scenario))
    {
        for between in BETWEEN_QUEUED {
            all.extend(faults(scenario, "5000", between, lost));
        }
    }
    assert!(all.is_empty(), "{}", shown(&all));
}

/// What happens between an interrupted call on deployments and its repetition. d and e are deployments of most scenarios.
const BETWEEN_DEPLOYED: [&[&str]; 12] = [
    &["claim n1"],
    &["claim n1 REQUEST b RUNNING d"],
    &["register n3 4 POOL default POOL a POOL b", "claim n3"],
    &["deploy d SPEC other"],
    &["deploy d ENABLED false"],
    &["deploy d POOL b"],
    &["undeploy d"],
    &["undeploy d", "deploy d", "claim n1"],
    &["register n1 4 POOL z"],
    &["deregister n1"],
    &["heartbeat n1 CPU 7 MEM_MB 9"],
    &["config mem_weight 2"],
];

/// A node that nobody is less loaded than, in every scenario's pools.
const CLAIMER: &str = "register claimer 4 POOL default POOL a POOL b POOL c POOL z";

/// What is wrong once others have claimed: what interrupted calls left among the free ones is put right by whoever looks there.
fn unclaimed(host: &mut InProcess, replies: &[Reply]) -> Vec<String> {
    settle_rest(host);
    must(host, CLAIMER);
    // It uses nothing, so it stays the least loaded.
    let claim = "claim claimer POLICY resource_usage";
    while !text_of(&must(host, claim), "claimed").is_empty() {}
    wrong(host, replies)
}

fn is_of_deployments(scenario: &Scenario) -> bool {
    if scenario.call == "repair" {
        return false;
    }
    let mut lines = scenario.before.iter().chain([&scenario.call]);
    lines.any(|line| line.starts_with("deploy "))
}

#[test]
fn no_deployment_is_lost_or_doubled_when_something_comes_between_a_call_and_its_repetition() {
    let mut all = Vec::new();
    for scenario in scenarios()
        .iter()
        .filter(|scenario| is_of_deployments(scenario))
    {
        for between in BETWEEN_DEPLOYED {
            all.extend(faults(scenario, "5000", between, unclaimed));
        }
        all.extend(faults(scenario, "5000", &SILENCE, unclaimed));
    }
    assert!(all.is_empty(), "{}", shown(&all));
}
