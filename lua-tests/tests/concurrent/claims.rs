//! Fifty nodes claim five hundred deployments over connections of their own, and some of them die.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lockless_servers::Standalone;
use redis::{Connection, FromRedisValue, Value};

use crate::{call, connect, server};

const NODES: usize = 50;
const DEPLOYMENTS: usize = 500;
const KILLED: usize = 10;
/// A node that claimed something tries again so often within an interval.
const STEPS: usize = 10;
const TTL_MS: u64 = 2000;
const PATIENCE: Duration = Duration::from_secs(60);

fn field<T: FromRedisValue>(reply: &[Value], name: &str) -> T {
    let at = reply
        .chunks(2)
        .position(|pair| String::from_redis_value(pair[0].clone()).unwrap() == name);
    T::from_redis_value(reply[2 * at.unwrap() + 1].clone()).unwrap()
}

/// One step of all these nodes at the same time, each with a heartbeat and a claim; how many got something.
fn step(server: &Standalone, nodes: Range<usize>) -> usize {
    let claimed = AtomicUsize::new(0);
    thread::scope(|scope| {
        for node in nodes {
            let claimed = &claimed;
            scope.spawn(move || {
                let mut caller = connect(server);
                let _: Value = call(&mut caller, &format!("heartbeat n{node}"));
                let reply: Vec<Value> = call(&mut caller, &format!("claim n{node}"));
                let got = !field::<String>(&reply, "claimed").is_empty();
                claimed.fetch_add(usize::from(got), Ordering::Relaxed);
            });
        }
    });
    claimed.into_inner()
}

/// What each node says it should run.
fn assigned(caller: &mut Connection, nodes: Range<usize>) -> BTreeMap<usize, Vec<String>> {
    let of = |node: usize| {
        let reply: Vec<Value> = call(caller, &format!("claim n{node}"));
        let all: Vec<(String, u64)> = field(&reply, "assigned");
        (node, all.into_iter().map(|(id, _)| id).collect())
    };
    nodes.map(of).collect()
}

/// Each deployment is some node's, once, and no node has two more than another.
fn is_spread(assigned: &BTreeMap<usize, Vec<String>>) {
    let each: Vec<&String> = assigned.values().flatten().collect();
    assert_eq!(each.len(), DEPLOYMENTS);
    assert_eq!(each.into_iter().collect::<BTreeSet<_>>().len(), DEPLOYMENTS);
    let counts = || assigned.values().map(Vec::len);
    assert!(
        counts().max().unwrap() - counts().min().unwrap() <= 1,
        "{:?}",
        counts().collect::<Vec<_>>()
    );
}

#[test]
fn each_deployment_is_claimed_once_and_those_of_lost_nodes_go_to_others_within_two_intervals() {
    let server = server();
    let mut caller = connect(&server);
    // Until all have claimed, none may seem lost.
    let _: Value = call(&mut caller, "config heartbeat_ttl_ms 600000");
    for node in 0..NODES {
        let _: Value = call(&mut caller, &format!("register n{node} 4"));
    }
    for number in 0..DEPLOYMENTS {
        let _: Value = call(&mut caller, &format!("deploy d{number}"));
    }
    let mut claimed = 0;
    let begin = Instant::now();
    while claimed < DEPLOYMENTS {
        claimed += step(&server, 0..NODES);
        assert!(begin.elapsed() < PATIENCE, "{claimed} claimed");
    }
    assert_eq!(claimed, DEPLOYMENTS);
    is_spread(&assigned(&mut caller, 0..NODES));

    // From now on those that are silent are lost; ten are.
    let _: Value = call(&mut caller, &format!("config heartbeat_ttl_ms {TTL_MS}"));
    for node in 0..NODES {
        let _: Value = call(&mut caller, &format!("heartbeat n{node}"));
    }
    let begin = Instant::now();
    let lost = |caller: &mut Connection| {
        let all: Vec<Value> = call(caller, "node n0");
        field::<String>(&all, "state") == "offline"
    };
    while !lost(&mut caller) {
        for node in KILLED..NODES {
            let _: Value = call(&mut caller, &format!("heartbeat n{node}"));
        }
        assert!(begin.elapsed() < PATIENCE);
    }
    let again: usize = (0..2 * STEPS).map(|_| step(&server, KILLED..NODES)).sum();
    assert_eq!(again, KILLED * DEPLOYMENTS / NODES);
    is_spread(&assigned(&mut caller, KILLED..NODES));
    let violations: Vec<String> = call(&mut caller, "check");
    assert_eq!(violations, Vec::<String>::new());

    // One that comes back has nothing, and is told to stop what it lost.
    let back: Vec<Value> = call(&mut caller, "register n0 4");
    assert_eq!(field::<Vec<Value>>(&back, "assigned"), vec![]);
    let turn: Vec<Value> = call(&mut caller, "claim n0 RUNNING d0");
    assert_eq!(field::<Vec<String>>(&turn, "stop"), ["d0"]);
}
