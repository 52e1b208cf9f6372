//! The dashboard at `/`.

mod acting;
mod connection;
mod explaining;
mod fleets;
mod looks;
mod numbers;
mod picture_fleet;
mod pictures;
mod subjects;
mod tokens;

use serde_json::{Value, json};

use crate::support::{Stage, eventually};

/// A cell with a bit of everything: nodes in each state, jobs in each state, a queue, bound sessions and a deployment.
fn a_busy_cell() -> Stage {
    let stage = Stage::start(&[]);
    furnish(&stage);
    stage
}

fn node(id: &str, more: &Value) -> (&'static str, Value) {
    let mut arguments = json!({ "node": id, "max_jobs": 4, "pools": ["general"], "pairs": [["en", "zh"]], "region": "eu-west" });
    for (name, value) in more.as_object().into_iter().flatten() {
        arguments[name] = value.clone();
    }
    ("lockless_register", arguments)
}

/// Nobody is lost while a test looks, however slow the machine is.
fn lasting(stage: &Stage) {
    stage.send(
        "PATCH",
        "/v1/config",
        Some(&json!({ "heartbeat_ttl_ms": 600_000 })),
    );
}

fn furnish(stage: &Stage) {
    lasting(stage);
    let speech =
        json!({ "max_jobs": 8, "pools": ["speech"], "labels": ["gpu", "model:whisper-3"] });
    let mut calls = vec![
        node("worker-1", &json!({})),
        node("worker-2", &json!({})),
        node("worker-3", &json!({})),
        node("full-1", &json!({ "max_jobs": 1, "pools": ["narrow"] })),
        node("gpu-1", &speech),
        node("gpu-2", &speech),
    ];
    calls.push((
        "lockless_drain",
        json!({ "node": "worker-3", "drain": "on" }),
    ));
    calls.push((
        "lockless_heartbeat",
        json!({ "node": "gpu-2", "cpu": 97, "mem": 40 }),
    ));
    calls.push(("lockless_heartbeat", json!({ "node": "gpu-1", "cpu": 35, "mem": 52.4, "mem_mb": 33500, "gpu": 61, "foreign": 2 })));
    let sample = json!({ "node": "worker-1", "mem": 40, "used_mb": 4000, "total_mb": 10000, "avail_mb": 6000, "swap": 0, "cpu": 20 });
    calls.push(("lockless_tick", sample));
    calls.push((
        "lockless_register",
        json!({ "node": "away-1", "max_jobs": 4 }),
    ));
    calls.push((
        "lockless_heartbeat",
        json!({ "node": "away-1", "online": false }),
    ));
    calls.push((
        "lockless_dispatch",
        json!({ "session": "s", "pool": "narrow", "payload": 1, "job": "narrow" }),
    ));
    for job in ["runs", "fails", "finishes", "given"] {
        let payload = json!({ "text": format!("hello from {job}") });
        calls.push(("lockless_dispatch", json!({ "session": "user-1", "src": "en", "tgt": "zh", "pool": "speech", "payload": payload, "job": job })));
    }
    for job in ["runs", "fails", "finishes"] {
        calls.push(("lockless_ack", json!({ "job": job, "node": "gpu-1" })));
    }
    calls.push(("lockless_complete", json!({ "job": "fails", "node": "gpu-1", "status": "failed", "reason": "model ran out of memory" })));
    calls.push(("lockless_complete", json!({ "job": "finishes", "node": "gpu-1", "status": "finished", "result": { "text": "你好" } })));
    calls.push((
        "lockless_bind",
        json!({ "session": "caller-7", "request_id": "r-1", "pool": "speech", "lease": 600_000 }),
    ));
    for n in 1..=3 {
        calls.push(("lockless_submit", json!({ "job": format!("queued-{n}"), "payload": n, "pool": "batch", "require": ["a100"] })));
    }
    calls.push((
        "lockless_deploy",
        json!({ "id": "web", "spec": { "argv": ["serve"] }, "pool": "general" }),
    ));
    stage.batch(&calls);
}

/// Waits until the gateway has taken a snapshot in which this is so.
fn snapshot(stage: &Stage, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut seen = Value::Null;
    eventually(what, || {
        seen = stage.get("/v1/stats")["snapshot"].clone();
        seen.is_object() && is_so(&seen)
    });
    seen
}
