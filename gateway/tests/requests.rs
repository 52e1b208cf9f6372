//! What a caller may rely on beyond the routes: bytes, keys, cells, durability, pages, and the log.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use lockless_servers::Standalone;
use serde_json::json;
use support::{Gateway, Host, eventually, redis};

support::on_each_host!(
    a_payload_and_a_result_come_back_byte_for_byte,
    the_same_key_is_the_same_job,
    cells_are_apart,
    an_idle_cell_is_swept,
    pages_are_there_without_a_token,
    measures_are_for_prometheus,
    a_request_can_be_found_in_the_log_by_its_id,
    a_page_of_another_site_can_not_call_it,
    the_log_names_the_caller,
);

fn a_payload_and_a_result_come_back_byte_for_byte(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let odd = r#"{ "b" : 1.50, "a":"\u00e9\n", "big": 12345678901234567890, "a": [ ] }"#;
    let body = format!(r#"{{"session":"s","job":"j","payload":{odd}}}"#);
    gateway.send("POST", "/v1/jobs", &[], Some(&body)).ok();
    let taken = gateway.post("/v1/nodes/n1/take", &json!({}));
    assert!(
        taken.text.contains(&format!(r#""payload":{odd},"#)),
        "{taken:?}"
    );
    let body = format!(r#"{{"node":"n1","status":"finished","result":{odd}}}"#);
    gateway
        .send("POST", "/v1/jobs/j/complete", &[], Some(&body))
        .ok();
    let job = gateway.get("/v1/jobs/j");
    assert!(
        job.text.contains(&format!(r#""payload_json":{odd},"#)),
        "{job:?}"
    );
    assert!(job.text.contains(&format!(r#""result":{odd},"#)), "{job:?}");
}

#[test]
fn what_is_no_json_is_told_as_such() {
    let server = redis();
    let gateway = Gateway::start(&server.url(), &[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let mut dispatch = redis::cmd("FCALL");
    dispatch.arg(&["lockless_dispatch", "1", "scheduler:{main}", "s", "-", "-"]);
    dispatch.arg(&b"\xff\x00"[..]).arg(&["JOB", "j"]);
    dispatch.exec(&mut support::connect(&server.url())).unwrap();
    let job = gateway.get("/v1/jobs/j").ok();
    assert_eq!(
        (&job["payload_json"], &job["payload_json_encoding"]),
        (&json!("/wA="), &json!("base64"))
    );
}

fn the_same_key_is_the_same_job(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let body = Some(r#"{"session":"s","payload":1}"#);
    let key = [("idempotency-key", "\"order-7\"")];
    let first = gateway.send("POST", "/v1/jobs", &key, body);
    let again = gateway.send("POST", "/v1/jobs", &key, body);
    assert_eq!(first.ok(), json!({ "node_id": "n1", "job_id": "order-7" }));
    assert_eq!(first.text, again.text);
    let fresh = gateway.send("POST", "/v1/jobs", &[], body);
    assert_eq!(
        fresh.header("idempotency-key"),
        fresh.ok()["job_id"].as_str().unwrap()
    );
    assert_eq!(gateway.get("/v1/nodes/n1").ok()["current_jobs"], 2);
    let both = Some(r#"{"session":"s","payload":1,"job":"other"}"#);
    gateway
        .send("POST", "/v1/jobs", &key, both)
        .refused(400, "BAD_ARGUMENT");
}

fn cells_are_apart(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway
        .send(
            "PUT",
            "/v1/nodes/n1",
            &[("lockless-cell", "t:{one}")],
            Some("{}"),
        )
        .ok();
    assert_eq!(
        gateway.get("/v1/nodes?cell=t:%7Bone%7D").ok()["nodes"],
        json!(["n1"])
    );
    assert_eq!(gateway.get("/v1/nodes").ok()["nodes"], json!([]));
}

#[test]
fn a_durable_write_is_answered_when_a_replica_has_it() {
    let server = redis();
    let replica = Standalone::builder()
        .replica_of(server.port())
        .start()
        .unwrap();
    let durable = [("prefer", "durability=replica")];
    let gateway = Gateway::start(&server.url(), &["--durability-timeout-ms", "300"]);
    let register = || gateway.send("PUT", "/v1/nodes/n1", &durable, Some("{}"));
    eventually("the replica follows", || register().status == 200);
    let answer = register();
    assert_eq!(answer.header("preference-applied"), "durability=replica");

    let body = Some(r#"{"session":"s","payload":1,"job":"j"}"#);
    replica.stop();
    gateway
        .send("POST", "/v1/jobs", &durable, body)
        .refused(504, "DURABILITY_UNKNOWN");
    // The same again changes nothing, and is no proof either.
    gateway
        .send("POST", "/v1/jobs", &durable, body)
        .refused(504, "DURABILITY_UNKNOWN");
    let batch = r#"{"calls":[{"function":"lockless_heartbeat","arguments":{"node":"n1"}}]}"#;
    let batched = gateway
        .send("POST", "/v1/batch", &durable, Some(batch))
        .ok();
    assert_eq!(batched["results"][0]["body"]["code"], "DURABILITY_UNKNOWN");
    // Whoever does not ask does not wait.
    gateway.send("POST", "/v1/jobs", &[], body).ok();

    let _replica = Standalone::builder()
        .replica_of(server.port())
        .start()
        .unwrap();
    eventually("the same request is confirmed later", || {
        gateway.send("POST", "/v1/jobs", &durable, body).status == 200
    });
    assert_eq!(gateway.get("/v1/nodes/n1").ok()["current_jobs"], 1);
}

fn an_idle_cell_is_swept(host: &Host) {
    let gateway = host.gateway(&[]);
    let cell = [("lockless-cell", "t:{idle}")];
    gateway.send("PUT", "/v1/nodes/n1", &cell, Some("{}")).ok();
    let body = Some(r#"{"session":"s","payload":1,"job":"j","ack":50}"#);
    gateway.send("POST", "/v1/jobs", &cell, body).ok();
    // Reads settle nothing; only the gateway's own sweep does.
    eventually("the reservation has run out", || {
        gateway.send("GET", "/v1/jobs/j", &cell, None).ok()["status"] == "expired"
    });
}

fn pages_are_there_without_a_token(host: &Host) {
    let gateway = host.gateway(&[]);
    for path in ["/healthz", "/readyz", "/openapi.json", "/docs", "/"] {
        let answer = gateway.get(path);
        assert_eq!(answer.status, 200, "{path}");
        let head = gateway.send("HEAD", path, &[], None);
        assert_eq!((head.status, head.text.as_str()), (200, ""), "{path}");
        gateway
            .send("POST", path, &[], Some("{}"))
            .refused(405, "METHOD_NOT_ALLOWED");
    }
    let docs = gateway.get("/docs");
    assert_eq!(docs.header("content-type"), "text/html; charset=utf-8");
    assert!(
        docs.header("content-security-policy")
            .starts_with("default-src 'none'")
    );
    assert_eq!(gateway.get("/openapi.json").ok()["openapi"], "3.1.0");
    assert_eq!(docs.header("x-content-type-options"), "nosniff");
}

fn measures_are_for_prometheus(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    gateway.get("/v1/jobs/none").refused(404, "NO_SUCH_JOB");
    let page = gateway.get("/metrics");
    assert!(
        page.header("content-type")
            .starts_with("application/openmetrics-text")
    );
    for line in [
        r#"lockless_requests_total{function="lockless_register",code="OK"} 1"#,
        r#"lockless_requests_total{function="lockless_job",code="NO_SUCH_JOB"} 1"#,
        r#"lockless_request_seconds_count{function="lockless_register"} 1"#,
        "lockless_ready 1",
        "lockless_long_polls 0",
    ] {
        assert!(
            page.text.lines().any(|own| own == line),
            "{line} is not in\n{}",
            page.text
        );
    }
    let calls = match host {
        Host::Redis(_) => "lockless_redis_call_seconds_bucket",
        Host::Embedded => "lockless_embedded_call_seconds_bucket",
    };
    assert!(page.text.contains(calls), "{}", page.text);
    let of_redis = page.text.contains("lockless_redis_");
    assert_eq!(of_redis, matches!(host, Host::Redis(_)), "{}", page.text);
    assert!(page.text.ends_with("# EOF\n"));
}

fn a_request_can_be_found_in_the_log_by_its_id(host: &Host) {
    let gateway = host.gateway(&["--log-format", "json"]);
    let answer = gateway.send("GET", "/v1/jobs/none", &[("x-request-id", "my-7")], None);
    assert_eq!(answer.header("x-request-id"), "my-7");
    let line = || {
        let log = gateway.log();
        let found = log
            .lines()
            .find(|line| line.contains("my-7"))
            .map(str::to_owned);
        found.and_then(|line| serde_json::from_str::<serde_json::Value>(&line).ok())
    };
    eventually("it is logged", || line().is_some());
    let fields = line().unwrap()["fields"].clone();
    assert_eq!(
        (&fields["id"], &fields["code"]),
        (&json!("my-7"), &json!("NO_SUCH_JOB"))
    );
    assert_eq!(gateway.get("/healthz").header("x-request-id").len(), 32);
}

fn a_page_of_another_site_can_not_call_it(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let take =
        |headers: &[(&str, &str)]| gateway.send("POST", "/v1/nodes/n1/take", headers, Some("{}"));
    take(&[("origin", "https://evil.example")]).refused(403, "FORBIDDEN");
    take(&[("sec-fetch-site", "cross-site")]).refused(403, "FORBIDDEN");
    take(&[("host", "evil.example")]).refused(403, "FORBIDDEN");
    take(&[]).ok();
}

#[test]
fn the_key_that_was_made_up_is_told_with_an_error_too() {
    let server = redis();
    let gateway = Gateway::start(&server.url(), &["--durability-timeout-ms", "50"]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let durable = [("prefer", "durability=replica")];
    let body = Some(r#"{"session":"s","payload":1}"#);
    let answer = gateway.send("POST", "/v1/jobs", &durable, body);
    answer.refused(504, "DURABILITY_UNKNOWN");
    let key = answer.header("idempotency-key").to_owned();
    let again = gateway
        .send("POST", "/v1/jobs", &[("idempotency-key", &key)], body)
        .ok();
    assert_eq!(again["job_id"], key.as_str());
    assert_eq!(gateway.get("/v1/nodes/n1").ok()["current_jobs"], 1);
    let batch =
        r#"{"calls":[{"function":"lockless_dispatch","arguments":{"session":"s","payload":1}}]}"#;
    let batched = gateway.send("POST", "/v1/batch", &[], Some(batch));
    let key = batched.header("idempotency-key");
    assert_eq!(
        batched.ok()["results"][0]["body"]["job_id"],
        format!("{key}:0")
    );
}

fn the_log_names_the_caller(host: &Host) {
    let (secret, line) =
        lockless_gateway::auth::generate(lockless_functions::api::Role::Client, "web-7", None)
            .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokens");
    std::fs::write(&file, line).unwrap();
    let gateway = host.gateway(&["--tokens", file.to_str().unwrap()]);
    let bearer = format!("Bearer {secret}");
    gateway
        .send("GET", "/v1/nodes", &[("authorization", &bearer)], None)
        .ok();
    eventually("it is logged", || {
        gateway.log().contains(r#"caller="web-7""#)
    });
    let lock = Some(r#"{"owner":"me","ttl_ms":1000}"#);
    let headers = [("authorization", bearer.as_str())];
    gateway.send("PUT", "/v1/locks/mine", &headers, lock).ok();
    gateway
        .send("PUT", "/v1/locks/lockless-snapshot", &headers, lock)
        .refused(403, "FORBIDDEN");
}
