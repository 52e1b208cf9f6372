//! A Redis that is not there, goes away and comes back, and a gateway that is told to stop, under load.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::collections::{BTreeMap, HashMap};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lockless_functions::LIBRARY;
use lockless_servers::{Cluster, Standalone};
use serde_json::json;
use support::{Gateway, eventually, load, redis, within};

const RECOVERY: Duration = Duration::from_secs(2);

fn kill_9(pid: u32) {
    assert!(
        Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

/// Dispatches and completes from several threads until it is told to stop; counts answers by status and code.
struct Load {
    stop: AtomicBool,
    done: AtomicU64,
    seen: Mutex<BTreeMap<(u16, String), u64>>,
    slowest: Mutex<Duration>,
}

impl Load {
    fn new() -> Self {
        Self {
            stop: AtomicBool::new(false),
            done: AtomicU64::new(0),
            seen: Mutex::default(),
            slowest: Mutex::default(),
        }
    }

    fn run(&self, gateway: &Gateway, name: u32) {
        for count in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let job = format!("{name}-{count}");
            let begin = Instant::now();
            let answer = gateway.post(
                "/v1/jobs",
                &json!({ "session": job, "payload": 1, "job": job }),
            );
            let mut slowest = self.slowest.lock().unwrap();
            *slowest = slowest.max(begin.elapsed());
            drop(slowest);
            let code = if answer.status == 200 {
                String::new()
            } else {
                answer.code()
            };
            *self
                .seen
                .lock()
                .unwrap()
                .entry((answer.status, code))
                .or_default() += 1;
            if answer.status == 200 {
                let end = json!({ "node": answer.json()["node_id"], "status": "finished" });
                gateway.post(&format!("/v1/jobs/{job}/complete"), &end);
                self.done.fetch_add(1, Ordering::Relaxed);
            } else {
                thread::sleep(Duration::from_millis(5));
            }
        }
    }

    fn wait_for_more(&self, count: u64) {
        let before = self.done.load(Ordering::Relaxed);
        eventually("jobs are done", || {
            self.done.load(Ordering::Relaxed) >= before + count
        });
    }

    /// Stops when dropped, so that a test that fails does not wait for its threads for ever.
    fn guard(&self) -> impl Drop + '_ {
        struct Guard<'a>(&'a Load);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                self.0.stop.store(true, Ordering::Relaxed);
            }
        }
        Guard(self)
    }
}

#[test]
fn a_redis_that_is_killed_under_load_is_back_within_two_seconds() {
    let server = redis();
    let port = server.port();
    let gateway = Gateway::start(&server.url(), &["--deploy"]);
    gateway
        .put("/v1/nodes/n1", &json!({ "max_jobs": 100 }))
        .ok();
    let load = Load::new();
    thread::scope(|scope| {
        let _guard = load.guard();
        for name in 0..8 {
            let (load, gateway) = (&load, &gateway);
            scope.spawn(move || load.run(gateway, name));
        }
        load.wait_for_more(200);
        kill_9(server.pid().unwrap());
        eventually("it is said", || gateway.get("/readyz").status == 503);
        assert_eq!(gateway.get("/healthz").status, 200);
        gateway.get("/v1/nodes").refused(503, "REDIS_AWAY");

        server.stop();
        let _server = Standalone::builder().private().port(port).start().unwrap();
        assert!(
            within(RECOVERY, || gateway.get("/readyz").status == 200),
            "{:?}",
            gateway.get("/readyz")
        );
        gateway
            .put("/v1/nodes/n1", &json!({ "max_jobs": 100 }))
            .ok();
        load.wait_for_more(200);
        let violations = gateway.get("/v1/check").ok();
        assert_eq!(violations["violations"], json!([]));
    });
    let seen = load.seen.into_inner().unwrap();
    let allowed = [
        "",
        "REDIS_AWAY",
        "REDIS_LOST",
        "REDIS_SLOW",
        "LIBRARY_MISSING",
        "NO_AVAILABLE_NODE",
    ];
    for (status, code) in seen.keys() {
        // Until the node has registered anew, no node serves anything.
        assert!(
            allowed.contains(&code.as_str()) || code == "NO_POOL_FOR_LANG_PAIR",
            "{status} {code}: {seen:?}"
        );
    }
    let slowest = load.slowest.into_inner().unwrap();
    assert!(
        slowest < Duration::from_secs(5),
        "a request took {slowest:?}"
    );
}

#[test]
fn a_redis_that_is_away_at_the_start_is_found_when_it_comes() {
    let server = redis();
    let (url, port) = (server.url(), server.port());
    server.stop();
    let gateway = Gateway::spawn(&url, &["--deploy"]);
    gateway.get("/readyz").refused(503, "NOT_READY");
    gateway.get("/v1/nodes").refused(503, "REDIS_AWAY");
    let _server = Standalone::builder().private().port(port).start().unwrap();
    assert!(
        within(RECOVERY, || gateway.get("/readyz").status == 200),
        "{:?}",
        gateway.get("/readyz")
    );
    gateway.put("/v1/nodes/n1", &json!({})).ok();
}

#[test]
fn a_cluster_is_found_by_any_of_its_nodes_and_given_the_library() {
    let cluster = Cluster::builder(3).start().unwrap();
    let gateway = Gateway::spawn(&cluster.urls()[1], &["--deploy"]);
    gateway.wait_until_ready();
    for cell in ["t:{a}", "t:{b}", "t:{c}", "t:{d}"] {
        gateway
            .send(
                "PUT",
                "/v1/nodes/n1",
                &[("lockless-cell", cell)],
                Some("{}"),
            )
            .ok();
    }
}

#[test]
fn a_primary_that_is_killed_is_followed_by_its_replica() {
    let cluster = Cluster::builder(3).replicas_per_primary(1).start().unwrap();
    for url in cluster.urls() {
        load(&url, LIBRARY);
    }
    let gateway = Gateway::start(&cluster.urls()[0], &[]);
    let cells = ["t:{a}", "t:{b}", "t:{c}", "t:{d}", "t:{e}", "t:{f}"];
    let all_answer = || {
        cells.iter().all(|cell| {
            gateway
                .send(
                    "PUT",
                    "/v1/nodes/n1",
                    &[("lockless-cell", cell)],
                    Some("{}"),
                )
                .status
                == 200
        })
    };
    assert!(all_answer());
    kill_9(cluster.primaries().next().unwrap().pid().unwrap());
    eventually("every cell answers again", all_answer);
    eventually("the gateway is ready again", || {
        gateway.get("/readyz").status == 200
    });
}

#[test]
fn shutdown_under_load_finishes_what_is_under_way() {
    let server = redis();
    let mut gateway = Gateway::start(&server.url(), &[]);
    gateway
        .put("/v1/nodes/n1", &json!({ "max_jobs": 100_000 }))
        .ok();
    let placed = AtomicU64::new(0);
    thread::scope(|scope| {
        for name in 0..8 {
            let (gateway, placed) = (&gateway, &placed);
            scope.spawn(move || {
                // The first request that finds nobody any more ends it.
                for count in 0.. {
                    let job =
                        json!({ "session": "s", "payload": 1, "job": format!("{name}-{count}") });
                    match gateway.try_send("POST", "/v1/jobs", &[], Some(&job.to_string())) {
                        Ok(answer) => {
                            answer.ok();
                            placed.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(_) => return,
                    }
                }
            });
        }
        eventually("there is load", || placed.load(Ordering::Relaxed) > 500);
        gateway.terminate();
    });
    assert!(gateway.wait_for_end(), "{}", gateway.log());
    // Every job that Redis has was answered: nothing was cut off between the call and its answer.
    let stats: HashMap<String, u64> = redis::cmd("FCALL_RO")
        .arg(&["lockless_stats", "1", "scheduler:{main}"])
        .query(&mut support::connect(&server.url()))
        .unwrap();
    assert_eq!(stats["dispatched"], placed.load(Ordering::Relaxed));
}
