//! The codes that only an embedded scheduler gives, and one that it shares with Redis.

use std::sync::OnceLock;
use std::time::Instant;

use serde_json::{Value, json};

use crate::Seen;
use crate::support::{Gateway, PATIENCE, eventually};

const MB: usize = 1_000_000;

pub(crate) fn all(seen: &Seen) {
    let gateway = Gateway::embedded(&[]);
    without_replicas(seen, &gateway);
    with_too_many_calls(seen, &gateway);
    with_too_little_memory(seen);
}

fn without_replicas(seen: &Seen, gateway: &Gateway) {
    let durable = [("prefer", "durability=replica")];
    let job = json!({ "session": "s", "payload": 1 }).to_string();
    let answer = gateway.send("POST", "/v1/jobs", &durable, Some(&job));
    seen.check("NO_REPLICA", &answer);
    // A read needs nobody's confirmation.
    gateway.send("GET", "/v1/nodes", &durable, None).ok();
    let calls = [
        json!({ "function": "lockless_sweep" }),
        json!({ "function": "lockless_nodes" }),
    ];
    let batch = json!({ "calls": calls }).to_string();
    let both = gateway.send("POST", "/v1/batch", &durable, Some(&batch));
    let results = both.ok()["results"].clone();
    assert_eq!(results[0]["body"]["code"], "NO_REPLICA");
    assert_eq!(results[1]["status"], 200);
}

/// Sixty callers ask for more calls than may wait, and ask again as soon as they are answered, until one of them is refused. Each
/// of its calls is; a single call would have to come in the moment in which not even one more may wait.
fn with_too_many_calls(seen: &Seen, gateway: &Gateway) {
    for node in 0..4 {
        let labels = json!({ "labels": [format!("label-{node}")] });
        gateway.put(&format!("/v1/nodes/n{node}"), &labels).ok();
    }
    let batch = json!({ "calls": vec![json!({ "function": "lockless_check" }); 250] }).to_string();
    let refused = OnceLock::new();
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..60 {
            scope.spawn(|| {
                while refused.get().is_none() && begin.elapsed() < PATIENCE {
                    // On a busy machine some wait for longer than the gateway allows, and are cut off.
                    let answer = gateway.try_send("POST", "/v1/batch", &[], Some(&batch));
                    let Ok(answer) = answer.map(|answer| answer.json()) else {
                        continue;
                    };
                    if answer["results"][0]["status"] == 503 {
                        let _ = refused.set(answer["results"].clone());
                    }
                }
            });
        }
    });
    let refused = refused.into_inner().unwrap();
    for result in refused.as_array().unwrap() {
        assert_eq!(result["status"], 503, "{result}");
        assert_eq!(result["body"]["code"], "TOO_BUSY", "{result}");
    }
    seen.note("TOO_BUSY");
    eventually("calls are made again", || {
        gateway.get("/v1/nodes").status == 200
    });
}

fn with_too_little_memory(seen: &Seen) {
    let gateway = Gateway::embedded(&["--embedded-memory-mb", "8"]);
    gateway
        .put("/v1/nodes/n1", &json!({ "max_jobs": 100 }))
        .ok();
    let settings = json!({ "payload_max_bytes": 1 << 20 }).to_string();
    gateway
        .send("PATCH", "/v1/config", &[], Some(&settings))
        .ok();
    let large = |number: usize| Value::from(format!("{number}{}", "x".repeat(MB)));
    let mut jobs = 0;
    let full = loop {
        let job = json!({ "session": "s", "payload": large(jobs), "job": format!("j{jobs}") });
        let answer = gateway.post("/v1/jobs", &job);
        if answer.status != 200 {
            break answer;
        }
        jobs += 1;
        assert!(jobs < 20, "it is never full");
    };
    seen.check("REDIS_FULL", &full);
    // What gives back capacity may always begin, but not take as much as it likes.
    let mut stopped = None;
    for number in 0..jobs {
        let path = format!("/v1/jobs/j{number}/complete");
        let end = |result: Value| json!({ "node": "n1", "status": "finished", "result": result });
        let answer = gateway.post(&path, &end(large(100 + number)));
        if answer.status != 200 {
            // It was undone: the same without so much is taken as if nothing had been.
            gateway.post(&path, &end(json!(number))).ok();
            let job = gateway.get(&format!("/v1/jobs/j{number}")).ok();
            assert_eq!(job["result"], json!(number));
            stopped = Some(answer);
        }
    }
    seen.check("CALL_STOPPED", &stopped.unwrap());
    let violations = gateway.get("/v1/check").ok()["violations"].clone();
    assert_eq!(violations, json!([]));
}
