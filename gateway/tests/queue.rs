//! Jobs that wait in queues, and the dynamic scheduler, over HTTP.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use serde_json::{Value, json};
use support::{Answer, Gateway, Host};

support::on_each_host!(
    a_job_is_started_makes_room_fails_and_is_brought_back,
    every_part_of_a_sample_is_asked_for_by_the_name_of_its_field,
    the_same_key_is_the_same_turn_and_the_same_hand_over,
    a_job_submitted_without_an_id_is_told_which_it_got,
);

/// A sample of a machine of 10,000 MB that uses so much of its memory.
fn sample(mem_pct: u32) -> Value {
    json!({
        "mem": mem_pct, "used_mb": mem_pct * 100, "total_mb": 10_000, "avail_mb": 10_000 - mem_pct * 100,
        "swap": 0, "cpu": 12.5,
    })
}

fn tick(gateway: &Gateway, body: &Value) -> Answer {
    gateway.post("/v1/nodes/n1/tick", body)
}

fn a_job_is_started_makes_room_fails_and_is_brought_back(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let job = json!({ "job": "j", "payload": { "text": "hello" }, "retries": 0, "mem_mb": 100 });
    assert_eq!(
        gateway.post("/v1/queue", &job).ok(),
        json!({ "submitted": true })
    );
    assert_eq!(
        gateway.post("/v1/queue", &job).ok(),
        json!({ "submitted": false })
    );
    let large = json!({ "job": "large", "payload": 1, "mem_mb": 9000, "priority": 9 });
    gateway.post("/v1/queue", &large).ok();

    let turn = tick(&gateway, &sample(20)).ok();
    assert_eq!(turn["mode"], "NORMAL");
    assert_eq!(turn["start"][0]["job_id"], "j");
    assert_eq!(turn["start"][0]["payload"], json!({ "text": "hello" }));
    assert_eq!(turn["start"][0]["attempt"], 1);
    let reason = json!([{ "job_id": "large", "reason": "projected memory emergency" }]);
    assert_eq!(turn["blocked"], reason);

    let turn = tick(&gateway, &sample(99)).ok();
    assert_eq!(
        (&turn["mode"], &turn["stop"]),
        (&json!("EMERGENCY"), &json!(["j"]))
    );
    let stopped = json!({ "node": "n1", "outcome": "ok" });
    gateway.post("/v1/jobs/j/stopped", &stopped).ok();
    assert_eq!(gateway.get("/v1/jobs/j").ok()["status"], "pending");

    let pulled = gateway
        .post("/v1/nodes/n1/pull", &json!({ "count": 1 }))
        .ok();
    // The node is over the threshold for everything but a tick.
    assert_eq!(pulled["jobs"], json!([]));
    gateway
        .post("/v1/nodes/n1/heartbeat", &json!({ "mem": 20 }))
        .ok();
    let pulled = gateway
        .post("/v1/nodes/n1/pull", &json!({ "count": 1 }))
        .ok();
    assert_eq!(pulled["jobs"][0]["attempt"], 2);
    let failed = json!({ "node": "n1", "status": "failed", "reason": "broke" });
    gateway.post("/v1/jobs/j/complete", &failed).ok();
    assert_eq!(gateway.get("/v1/jobs/j").ok()["status"], "failed");
    gateway.post("/v1/jobs/j/retry", &json!({})).ok();
    let job = gateway.get("/v1/jobs/j").ok();
    assert_eq!(
        (&job["status"], &job["reason"]),
        (&json!("pending"), &json!("try 2: broke"))
    );
}

fn every_part_of_a_sample_is_asked_for_by_the_name_of_its_field(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let whole = sample(20);
    for name in whole.as_object().unwrap().keys() {
        let mut without = whole.clone();
        without.as_object_mut().unwrap().remove(name);
        let answer = tick(&gateway, &without);
        answer.refused(400, "BAD_ARGUMENT");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            detail.starts_with(&format!("{name} is missing")),
            "{detail}"
        );
    }
    for (given, missing) in [
        ("gpu_used_mb", "gpu_total_mb"),
        ("gpu_total_mb", "gpu_used_mb"),
    ] {
        let mut half = whole.clone();
        half[given] = json!(5);
        let answer = tick(&gateway, &half);
        answer.refused(400, "BAD_ARGUMENT");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            detail.starts_with(&format!("{missing} is missing")),
            "{detail}"
        );
    }
    tick(&gateway, &whole).ok();
}

fn the_same_key_is_the_same_turn_and_the_same_hand_over(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let submit = |job: &str| {
        let job = json!({ "job": job, "payload": 1 });
        gateway.post("/v1/queue", &job).ok();
    };
    let key = [("idempotency-key", "\"turn-1\"")];
    submit("a");
    let body = sample(20).to_string();
    let first = gateway
        .send("POST", "/v1/nodes/n1/tick", &key, Some(&body))
        .ok();
    submit("b");
    let again = gateway
        .send("POST", "/v1/nodes/n1/tick", &key, Some(&body))
        .ok();
    assert_eq!(first, again);
    let first = gateway
        .send("POST", "/v1/nodes/n1/pull", &key, Some("{}"))
        .ok();
    assert_eq!(first["jobs"][0]["job_id"], "b");
    submit("c");
    let again = gateway
        .send("POST", "/v1/nodes/n1/pull", &key, Some("{}"))
        .ok();
    assert_eq!(first, again);
}

fn a_job_submitted_without_an_id_is_told_which_it_got(host: &Host) {
    let gateway = host.gateway(&[]);
    let answer = gateway.post("/v1/queue", &json!({ "payload": 1 }));
    assert_eq!(answer.ok(), json!({ "submitted": true }));
    let job = answer
        .header("idempotency-key")
        .trim_matches('"')
        .to_owned();
    assert!(!job.is_empty());
    assert_eq!(
        gateway.get(&format!("/v1/jobs/{job}")).ok()["status"],
        "pending"
    );
}
