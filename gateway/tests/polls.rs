//! Long polls: who waits is told at once, and thousands of them cost one subscription.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::thread;
use std::time::{Duration, Instant};

use lockless_functions::LIBRARY;
use lockless_servers::Cluster;
use serde_json::json;
use support::{Gateway, Host, connect, eventually, load, redis};

support::on_each_host!(
    a_take_that_waits_is_answered_within_50_ms_of_a_dispatch,
    a_take_without_news_ends_empty_when_its_time_is_up,
    a_job_to_stop_is_told_at_once_and_then_once_a_second,
    whoever_waits_for_a_job_sees_it_end,
    a_take_whose_answer_was_lost_is_asked_for_again,
    a_hundred_waiting_nodes_are_one_subscription,
    shutdown_ends_long_polls_with_an_empty_answer,
);

fn waiting(gateway: &Gateway) -> u64 {
    let page = gateway.get("/metrics").text;
    let line = page
        .lines()
        .find(|line| line.starts_with("lockless_long_polls "));
    line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

fn take(gateway: &Gateway, wait_ms: u64) -> support::Answer {
    gateway.post("/v1/nodes/n1/take", &json!({ "wait_ms": wait_ms }))
}

fn dispatch(gateway: &Gateway, job: &str) {
    gateway
        .post(
            "/v1/jobs",
            &json!({ "session": "s", "payload": { "n": 1 }, "job": job }),
        )
        .ok();
}

/// The shortest of 15 dispatches, from the call to the answer of the take that waited for it: what the gateway can do, however busy
/// the machine is otherwise. A gateway that looked for work now and then would be slow every time.
fn shortest_handing_over(gateway: &Gateway) -> Duration {
    let times = (0..15).map(|round| {
        thread::scope(|scope| {
            let taker = scope.spawn(|| (take(gateway, 20_000).ok(), Instant::now()));
            eventually("the take waits", || waiting(gateway) == 1);
            let sent = Instant::now();
            dispatch(gateway, &format!("j{round}"));
            let (taken, at) = taker.join().unwrap();
            assert_eq!(taken["jobs"][0]["job_id"], format!("j{round}"));
            gateway
                .post(
                    &format!("/v1/jobs/j{round}/complete"),
                    &json!({ "node": "n1", "status": "finished" }),
                )
                .ok();
            at.duration_since(sent)
        })
    });
    times.min().unwrap()
}

fn a_take_that_waits_is_answered_within_50_ms_of_a_dispatch(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let time = shortest_handing_over(&gateway);
    assert!(time < Duration::from_millis(50), "{time:?}");
}

#[test]
fn so_it_is_on_a_cluster() {
    let cluster = Cluster::start(3).unwrap();
    for url in cluster.urls() {
        load(&url, LIBRARY);
    }
    let gateway = Gateway::start(&cluster.urls()[0], &[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let time = shortest_handing_over(&gateway);
    assert!(time < Duration::from_millis(50), "{time:?}");
}

fn a_take_without_news_ends_empty_when_its_time_is_up(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let begin = Instant::now();
    assert_eq!(take(&gateway, 300).ok(), json!({ "jobs": [], "stop": [] }));
    assert!(begin.elapsed() >= Duration::from_millis(300));
    take(&gateway, 70_000).refused(400, "BAD_ARGUMENT");
}

fn a_job_to_stop_is_told_at_once_and_then_once_a_second(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    dispatch(&gateway, "j");
    take(&gateway, 0).ok();
    thread::scope(|scope| {
        let taker = scope.spawn(|| take(&gateway, 20_000).ok());
        eventually("the take waits", || waiting(&gateway) == 1);
        gateway.post("/v1/jobs/j/cancel", &json!({})).ok();
        assert_eq!(taker.join().unwrap()["stop"], json!(["j"]));
    });
    // It is said until the node says that it stopped, but not in a busy loop.
    let begin = Instant::now();
    assert_eq!(take(&gateway, 20_000).ok()["stop"], json!(["j"]));
    let time = begin.elapsed();
    assert!(
        time > Duration::from_millis(500) && time < Duration::from_secs(10),
        "{time:?}"
    );
}

fn whoever_waits_for_a_job_sees_it_end(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    gateway
        .get("/v1/jobs/none?wait_ms=5000")
        .refused(404, "NO_SUCH_JOB");
    dispatch(&gateway, "j");
    let early = gateway.get("/v1/jobs/j?wait_ms=100").ok();
    assert_eq!(early["status"], "dispatched");
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| gateway.get("/v1/jobs/j?wait_ms=20000").ok()))
            .collect();
        eventually("all wait", || waiting(&gateway) == 3);
        let done = json!({ "node": "n1", "status": "finished", "result": { "x": 1.50 } });
        gateway.post("/v1/jobs/j/complete", &done).ok();
        for waiter in waiters {
            let job = waiter.join().unwrap();
            assert_eq!(
                (&job["status"], &job["result"]),
                (&json!("finished"), &json!({ "x": 1.50 }))
            );
        }
    });
}

#[test]
fn an_end_that_nobody_heard_of_is_seen_when_the_time_is_up() {
    let server = redis();
    let gateway = Gateway::start(&server.url(), &[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    dispatch(&gateway, "j");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| gateway.get("/v1/jobs/j?wait_ms=3000").ok());
        eventually("it waits", || waiting(&gateway) == 1);
        let subscribed = || {
            let counts: (String, u32) = redis::cmd("PUBSUB")
                .arg(&["SHARDNUMSUB", "scheduler:{main}:wake"])
                .query(&mut connect(&server.url()))
                .unwrap();
            counts.1 == 1
        };
        eventually("it is subscribed", subscribed);
        // The cell is made to forget that anyone listens, as a failover could.
        let state = || -> Vec<String> {
            let state: String = redis::cmd("HGET")
                .arg(&["scheduler:{main}", "state2"])
                .query(&mut connect(&server.url()))
                .unwrap();
            state.split(' ').map(str::to_owned).collect()
        };
        const LISTEN: usize = 5;
        eventually("it listens", || state()[LISTEN] != "0");
        let mut forgotten = state();
        "0".clone_into(&mut forgotten[LISTEN]);
        redis::cmd("HSET")
            .arg(&["scheduler:{main}", "state2", &forgotten.join(" ")])
            .exec(&mut connect(&server.url()))
            .unwrap();
        let end = json!({ "node": "n1", "status": "finished" });
        gateway.post("/v1/jobs/j/complete", &end).ok();
        assert_eq!(waiter.join().unwrap()["status"], "finished");
    });
}

fn a_take_whose_answer_was_lost_is_asked_for_again(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    dispatch(&gateway, "j");
    let key = [("idempotency-key", "take-1")];
    let body = Some(r#"{"wait_ms": 1000}"#);
    let first = gateway.send("POST", "/v1/nodes/n1/take", &key, body);
    let again = gateway.send("POST", "/v1/nodes/n1/take", &key, body);
    assert_eq!(first.header("idempotency-key"), "take-1");
    assert_eq!(first.text, again.text);
    assert_eq!(first.ok()["jobs"][0]["job_id"], "j");
    assert_eq!(take(&gateway, 0).ok()["jobs"], json!([]));
}

fn a_hundred_waiting_nodes_are_one_subscription(host: &Host) {
    let gateway = host.gateway(&[]);
    for node in 0..100 {
        gateway
            .put(&format!("/v1/nodes/n{node}"), &json!({ "max_jobs": 1 }))
            .ok();
    }
    thread::scope(|scope| {
        let gateway = &gateway;
        let takers: Vec<_> = (0..100)
            .map(|node| {
                scope.spawn(move || {
                    gateway
                        .post(
                            &format!("/v1/nodes/n{node}/take"),
                            &json!({ "wait_ms": 30_000 }),
                        )
                        .ok()
                })
            })
            .collect();
        eventually("all wait", || waiting(gateway) == 100);
        if let Host::Redis(server) = host {
            let counts: (String, u32) = redis::cmd("PUBSUB")
                .arg(&["SHARDNUMSUB", "scheduler:{main}:wake"])
                .query(&mut connect(&server.url()))
                .unwrap();
            assert_eq!(counts.1, 1);
        }
        for job in 0..100 {
            dispatch(gateway, &format!("j{job}"));
        }
        for taker in takers {
            assert_eq!(taker.join().unwrap()["jobs"].as_array().unwrap().len(), 1);
        }
    });
}

fn shutdown_ends_long_polls_with_an_empty_answer(host: &Host) {
    let mut gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    thread::scope(|scope| {
        let taker = scope.spawn(|| take(&gateway, 60_000).ok());
        eventually("the take waits", || waiting(&gateway) == 1);
        gateway.terminate();
        assert_eq!(taker.join().unwrap(), json!({ "jobs": [], "stop": [] }));
    });
    assert!(gateway.wait_for_end());
}
