//! Many calls in one request.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use lockless_functions::LIBRARY;
use lockless_servers::Cluster;
use serde_json::{Value, json};
use support::{Gateway, Host, a_cell, load};

support::on_each_host!(
    each_call_has_its_own_result_in_order,
    a_thousand_calls_are_taken_and_no_more,
    one_key_makes_a_whole_batch_safe_to_send_again,
    a_batch_whose_replies_are_too_large_is_cut_off_before_the_next_calls,
);

fn call(function: &str, arguments: Value) -> Value {
    json!({ "function": function, "arguments": arguments })
}

fn calls(calls: &[Value]) -> Value {
    json!({ "calls": calls })
}

fn each_call_has_its_own_result_in_order(host: &Host) {
    let gateway = host.gateway(&[]);
    let answer = gateway.post(
        "/v1/batch",
        &calls(&[
            call("lockless_register", json!({ "node": "n1", "max_jobs": 1 })),
            call(
                "lockless_dispatch",
                json!({ "session": "s", "payload": [1, 2], "job": "j1" }),
            ),
            call(
                "lockless_dispatch",
                json!({ "session": "s", "payload": [1, 2], "job": "j2" }),
            ),
            call("lockless_nothing", json!({})),
            call("lockless_job", json!({ "job": "j1", "colour": "red" })),
            call("lockless_job", json!({ "job": "j1" })),
            json!({ "function": "lockless_nodes", "cell": "t:{elsewhere}" }),
            json!({ "function": "lockless_nodes", "cell": "unknown:{cell}" }),
        ]),
    );
    let results = answer.ok()["results"].as_array().unwrap().clone();
    let statuses: Vec<u64> = results
        .iter()
        .map(|result| result["status"].as_u64().unwrap())
        .collect();
    assert_eq!(statuses, [200, 200, 503, 400, 400, 200, 200, 404]);
    assert_eq!(
        results[1]["body"],
        json!({ "node_id": "n1", "job_id": "j1" })
    );
    assert_eq!(results[2]["body"]["code"], "NO_AVAILABLE_NODE");
    assert!(
        results[4]["body"]["detail"]
            .as_str()
            .unwrap()
            .contains("colour")
    );
    assert_eq!(results[5]["body"]["payload_json"], json!([1, 2]));
    assert_eq!(results[6]["body"]["nodes"], json!([]));
}

fn a_thousand_calls_are_taken_and_no_more(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway
        .put("/v1/nodes/n1", &json!({ "max_jobs": 600 }))
        .ok();
    let jobs: Vec<Value> = (0..1000)
        .map(|job| {
            call(
                "lockless_dispatch",
                json!({ "session": "s", "payload": job, "job": format!("j{job}") }),
            )
        })
        .collect();
    let answer = gateway.post("/v1/batch", &calls(&jobs)).ok();
    let placed = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|result| result["status"] == 200)
        .count();
    assert_eq!(placed, 600, "never more than the node has slots");
    let again = gateway.post("/v1/batch", &calls(&jobs)).ok();
    assert_eq!(
        answer["results"][7], again["results"][7],
        "a batch may be sent again"
    );

    let many = vec![jobs[0].clone(); 1001];
    gateway
        .post("/v1/batch", &calls(&many))
        .refused(400, "BAD_ARGUMENT");
    gateway
        .post("/v1/batch", &calls(&[]))
        .refused(400, "BAD_ARGUMENT");
    gateway
        .post("/v1/batch", &json!({ "calls": 5 }))
        .refused(400, "BAD_ARGUMENT");
}

fn one_key_makes_a_whole_batch_safe_to_send_again(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({ "max_jobs": 10 })).ok();
    let jobs = vec![call("lockless_dispatch", json!({ "session": "s", "payload": 1 })); 3];
    let body = calls(&jobs).to_string();
    let key = [("idempotency-key", "batch-1")];
    let send = || gateway.send("POST", "/v1/batch", &key, Some(&body)).ok();
    let (first, again) = (send(), send());
    assert_eq!(first, again);
    assert_eq!(gateway.get("/v1/nodes/n1").ok()["current_jobs"], 3);
}

#[test]
fn on_a_cluster_every_call_goes_to_its_cell() {
    let cluster = Cluster::start(3).unwrap();
    for url in cluster.urls() {
        load(&url, LIBRARY);
    }
    let gateway = Gateway::start(&cluster.urls()[0], &[]);
    let cells: Vec<String> = (0..30).map(|_| a_cell()).collect();
    let registers: Vec<Value> = cells
        .iter()
        .map(|cell| {
            json!({ "function": "lockless_register", "cell": cell, "arguments": { "node": format!("of-{cell}") } })
        })
        .collect();
    gateway.post("/v1/batch", &calls(&registers)).ok();
    let reads: Vec<Value> = cells
        .iter()
        .map(|cell| json!({ "function": "lockless_nodes", "cell": cell }))
        .collect();
    let answer = gateway.post("/v1/batch", &calls(&reads)).ok();
    for (cell, result) in cells.iter().zip(answer["results"].as_array().unwrap()) {
        assert_eq!(result["body"]["nodes"], json!([format!("of-{cell}")]));
    }
}

fn a_batch_whose_replies_are_too_large_is_cut_off_before_the_next_calls(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let large = "x".repeat(65_000);
    gateway
        .post(
            "/v1/jobs",
            &json!({ "session": "s", "payload": large, "job": "j" }),
        )
        .ok();
    let reads = vec![call("lockless_job", json!({ "job": "j" })); 1000];
    let answer = gateway.post("/v1/batch", &calls(&reads)).ok();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), 1000);
    assert_eq!(
        (&results[0]["status"], &results[999]["status"]),
        (&json!(200), &json!(413))
    );
    assert_eq!(results[999]["body"]["code"], "TOO_LARGE");
}
