//! Every code, of the library and of the gateway, with the one status it has.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod embedded;
mod rude;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;

use lockless_functions::api::Role;
use lockless_gateway::contract;
use lockless_gateway::problem::{self, OWN};
use lockless_servers::{Cluster, Standalone};
use serde_json::json;
use support::{Answer, Gateway, a_cell, connect, eventually, load, redis};

/// The codes that were seen, to be held against all there are.
#[derive(Default)]
struct Seen(Mutex<BTreeSet<String>>);

impl Seen {
    #[track_caller]
    fn check(&self, code: &str, answer: &Answer) {
        answer.refused(problem::status_of(code).as_u16(), code);
        let retry = answer.header("retry-after");
        assert_eq!(answer.status == 503, !retry.is_empty(), "{answer:?}");
        self.note(code);
    }

    fn note(&self, code: &str) {
        self.0.lock().unwrap().insert(code.to_owned());
    }
}

#[test]
fn every_code_is_answered_with_its_status() {
    let seen = Seen::default();
    of_the_library(&seen);
    of_a_moving_cell(&seen);
    of_requests(&seen);
    of_callers(&seen);
    of_redis(&seen);
    embedded::all(&seen);
    let listed = contract::api()
        .errors
        .iter()
        .map(|error| error.code.clone());
    let all: BTreeSet<String> = listed
        .chain(OWN.iter().map(|own| own.code.to_owned()))
        .collect();
    let seen = seen.0.into_inner().unwrap();
    // A cell that the library would refuse is not served at all.
    assert_eq!(
        all.difference(&seen).collect::<Vec<_>>(),
        ["BAD_CELL"],
        "never provoked"
    );
}

fn of_the_library(seen: &Seen) {
    let server = redis();
    let gateway = Gateway::start(&server.url(), &[]);
    let node = json!({ "max_jobs": 1, "pairs": [["en", "zh"]], "instance": "i1" });
    gateway.put("/v1/nodes/n1", &node).ok();
    gateway
        .put(
            "/v1/nodes/n2",
            &json!({ "max_jobs": 1, "pairs": [["de", "fr"]] }),
        )
        .ok();
    let job =
        |id: &str| json!({ "session": "s", "src": "en", "tgt": "zh", "payload": 1, "job": id });
    gateway.post("/v1/jobs", &job("j1")).ok();

    let post = |path: &str, body| gateway.post(path, &body);
    seen.check("BAD_ARGUMENT", &post("/v1/jobs", json!({})));
    let odd = [("lockless-cell", "t:{a}b}")];
    seen.check(
        "UNKNOWN_CELL",
        &gateway.send("GET", "/v1/nodes", &odd, None),
    );
    seen.check("UNKNOWN_NODE", &gateway.get("/v1/nodes/nobody"));
    seen.check("NO_SUCH_JOB", &gateway.get("/v1/jobs/nothing"));
    seen.check(
        "NODE_MISMATCH",
        &post("/v1/jobs/j1/ack", json!({ "node": "n2" })),
    );
    seen.check("NO_AVAILABLE_NODE", &post("/v1/jobs", job("j2")));
    let other = json!({ "session": "s", "src": "en", "tgt": "zh", "payload": 2, "job": "j1" });
    seen.check("JOB_EXISTS", &post("/v1/jobs", other));
    let pair = json!({ "session": "s", "src": "xx", "tgt": "yy", "payload": 1 });
    seen.check("NO_POOL_FOR_LANG_PAIR", &post("/v1/jobs", pair));
    let pool = json!({ "session": "s", "payload": 1, "pool": "empty" });
    seen.check("EMPTY_POOL", &post("/v1/jobs", pool));
    post(
        "/v1/jobs/j1/complete",
        json!({ "node": "n1", "status": "finished" }),
    )
    .ok();
    seen.check(
        "WRONG_STATE",
        &post("/v1/jobs/j1/ack", json!({ "node": "n1" })),
    );
    gateway
        .put("/v1/nodes/n1", &json!({ "max_jobs": 1, "instance": "i2" }))
        .ok();
    seen.check(
        "STALE_NODE",
        &post("/v1/nodes/n1/heartbeat", json!({ "incarnation": 1 })),
    );

    let queued = |payload| json!({ "job": "q1", "payload": payload });
    post("/v1/queue", queued(1)).ok();
    seen.check("JOB_EXISTS", &post("/v1/queue", queued(2)));
    seen.check("NO_SUCH_JOB", &post("/v1/jobs/nothing/retry", json!({})));
    seen.check("WRONG_STATE", &post("/v1/jobs/j1/retry", json!({})));
    let stopped = json!({ "node": "n1", "outcome": "ok" });
    seen.check("WRONG_STATE", &post("/v1/jobs/q1/stopped", stopped));
    seen.check("UNKNOWN_NODE", &post("/v1/nodes/nobody/pull", json!({})));
    seen.check(
        "STALE_NODE",
        &post("/v1/nodes/n1/pull", json!({ "incarnation": 1 })),
    );
    seen.check("BAD_ARGUMENT", &post("/v1/nodes/n1/tick", json!({})));

    gateway.put("/v1/deployments/d1", &json!({})).ok();
    seen.check("NO_SUCH_DEPLOYMENT", &gateway.get("/v1/deployments/d2"));
    seen.check(
        "NO_SUCH_DEPLOYMENT",
        &gateway.send("DELETE", "/v1/deployments/d2", &[], None),
    );
    seen.check("UNKNOWN_NODE", &post("/v1/nodes/nobody/claim", json!({})));
    seen.check(
        "STALE_NODE",
        &post("/v1/nodes/n1/claim", json!({ "incarnation": 1 })),
    );
    let luck = json!({ "policy": "luck" });
    seen.check("BAD_ARGUMENT", &post("/v1/nodes/n1/claim", luck));
    let sometimes = json!({ "enabled": "sometimes" });
    let refused = gateway.put("/v1/deployments/d1", &sometimes);
    seen.check("BAD_ARGUMENT", &refused);

    let renew = json!({ "lease_id": "l1" });
    seen.check(
        "NO_SUCH_SESSION",
        &post("/v1/sessions/s9/renew", renew.clone()),
    );
    gateway.put("/v1/sessions/s9/binding", &json!({})).ok();
    seen.check("LEASE_MISMATCH", &post("/v1/sessions/s9/renew", renew));

    let cell = a_cell();
    let headers = [("lockless-cell", cell.as_str())];
    gateway
        .send("PUT", "/v1/nodes/n1", &headers, Some("{}"))
        .ok();
    // As a library of another schema leaves its cells: its number, and nothing under the names of ours.
    redis::pipe()
        .del(&cell)
        .hset(&cell, "schema", "99")
        .exec(&mut connect(&server.url()))
        .unwrap();
    seen.check(
        "SCHEMA_MISMATCH",
        &gateway.send("GET", "/v1/nodes", &headers, None),
    );
}

fn of_a_moving_cell(seen: &Seen) {
    let cluster = Cluster::start(2).unwrap();
    for url in cluster.urls() {
        load(&url, lockless_functions::LIBRARY);
    }
    let gateway = Gateway::start(&cluster.urls()[0], &[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let slot: u16 = redis::cmd("CLUSTER")
        .arg(&["KEYSLOT", "{main}"])
        .query(&mut connect(&cluster.urls()[0]))
        .unwrap();
    let holds = |node: &&lockless_servers::ClusterNode| node.slots().unwrap().contains(&slot);
    let source = cluster.primaries().find(holds).unwrap();
    let target = cluster.primaries().find(|node| !holds(node)).unwrap();
    let set = |node: &lockless_servers::ClusterNode, state: &str, other: &str| {
        let mut command = redis::cmd("CLUSTER");
        command.arg("SETSLOT").arg(slot).arg(state).arg(other);
        command.exec(&mut connect(&node.url())).unwrap();
    };
    set(target, "IMPORTING", source.id());
    set(source, "MIGRATING", target.id());
    seen.check("CELL_MOVING", &gateway.put("/v1/nodes/n2", &json!({})));
}

fn of_requests(seen: &Seen) {
    let server = redis();
    let gateway = Gateway::start(
        &server.url(),
        &["--max-body-bytes", "2000", "--body-timeout-ms", "200"],
    );
    seen.check("NOT_FOUND", &gateway.get("/v1/nothing"));
    let cell = [("lockless-cell", "elsewhere:{main}")];
    seen.check(
        "UNKNOWN_CELL",
        &gateway.send("GET", "/v1/nodes", &cell, None),
    );
    seen.check(
        "UNKNOWN_CELL",
        &gateway.get("/v1/nodes?cell=elsewhere:%7Bmain%7D"),
    );
    let wrong = gateway.send("DELETE", "/v1/jobs", &[], None);
    seen.check("METHOD_NOT_ALLOWED", &wrong);
    assert_eq!(wrong.header("allow"), "POST, GET");
    let long = json!({ "session": "s", "payload": "x".repeat(3000) });
    seen.check("TOO_LARGE", &gateway.post("/v1/jobs", &long));
    let untyped = "POST /v1/sweep HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
    let answer = gateway.raw(untyped.as_bytes());
    assert!(
        answer.starts_with("HTTP/1.1 415") && answer.contains("UNSUPPORTED_MEDIA_TYPE"),
        "{answer}"
    );
    seen.0
        .lock()
        .unwrap()
        .insert("UNSUPPORTED_MEDIA_TYPE".to_owned());
    let slow = "POST /v1/sweep HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{";
    let answer = gateway.raw(slow.as_bytes());
    assert!(
        answer.starts_with("HTTP/1.1 408") && answer.contains("REQUEST_TIMEOUT"),
        "{answer}"
    );
    seen.0.lock().unwrap().insert("REQUEST_TIMEOUT".to_owned());

    let narrow = Gateway::start(&server.url(), &["--max-connections", "1"]);
    // Only one at a time may be open, so the one that waited for readiness is closed first.
    let authority = narrow.authority().to_owned();
    let raw = |authority: &str| TcpStream::connect(authority).unwrap();
    let mut held = raw(&authority);
    held.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    eventually("a connection is refused", || {
        let mut next = raw(&authority);
        let _ = next
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let mut answer = String::new();
        let _ = next.read_to_string(&mut answer);
        answer.starts_with("HTTP/1.1 503") && answer.contains("TOO_MANY_CONNECTIONS")
    });
    seen.0
        .lock()
        .unwrap()
        .insert("TOO_MANY_CONNECTIONS".to_owned());
}

fn of_callers(seen: &Seen) {
    let server = redis();
    let (secret, line) = lockless_gateway::auth::generate(Role::Client, "c", None).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokens");
    std::fs::write(&file, line).unwrap();
    let gateway = Gateway::start(&server.url(), &["--tokens", file.to_str().unwrap()]);
    seen.check("UNAUTHENTICATED", &gateway.get("/v1/nodes"));
    let bearer = format!("Bearer {secret}");
    let headers = [("authorization", bearer.as_str())];
    seen.check(
        "FORBIDDEN",
        &gateway.send("GET", "/v1/check", &headers, None),
    );
    seen.check(
        "FORBIDDEN",
        &gateway.send("GET", "/metrics", &headers, None),
    );
    gateway.send("GET", "/v1/nodes", &headers, None).ok();
}

fn of_redis(seen: &Seen) {
    let job = json!({ "session": "s", "payload": 1 });

    let missing = Standalone::builder().private().start().unwrap();
    let gateway = Gateway::spawn(&missing.url(), &[]);
    eventually("the library is missed", || {
        gateway.get("/readyz").text.contains("deploy-functions")
    });
    seen.check("NOT_READY", &gateway.get("/readyz"));
    seen.check("LIBRARY_MISSING", &gateway.post("/v1/jobs", &job));

    let odd =
        "#!lua name=odd\nredis.register_function('lockless_sweep', function() return 'OK' end)";
    load(&missing.url(), odd);
    seen.check("INTERNAL", &gateway.post("/v1/sweep", &json!({})));

    let server = redis();
    let gateway = Gateway::start(
        &server.url(),
        &["--redis-timeout-ms", "300", "--durability-timeout-ms", "50"],
    );
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let durable = [("prefer", "durability=replica")];
    let answer = gateway.send("POST", "/v1/jobs", &durable, Some(&job.to_string()));
    seen.check("DURABILITY_UNKNOWN", &answer);

    let mut own = connect(&server.url());
    redis::cmd("CONFIG")
        .arg(&["SET", "maxmemory", "1"])
        .exec(&mut own)
        .unwrap();
    seen.check("REDIS_FULL", &gateway.post("/v1/jobs", &job));
    redis::cmd("CONFIG")
        .arg(&["SET", "maxmemory", "0"])
        .exec(&mut own)
        .unwrap();

    redis::cmd("ACL")
        .arg(&["SETUSER", "default", "-fcall"])
        .exec(&mut own)
        .unwrap();
    seen.check("REDIS_REFUSED", &gateway.post("/v1/jobs", &job));
    redis::cmd("ACL")
        .arg(&["SETUSER", "default", "+fcall"])
        .exec(&mut own)
        .unwrap();

    redis::cmd("CLIENT")
        .arg(&["PAUSE", "1000", "ALL"])
        .exec(&mut own)
        .unwrap();
    seen.check("REDIS_SLOW", &gateway.post("/v1/jobs", &job));

    drop(own);
    server.stop();
    eventually("Redis is missed", || gateway.get("/readyz").status == 503);
    seen.check("REDIS_AWAY", &gateway.post("/v1/jobs", &job));

    let gateway = Gateway::spawn(&format!("redis://127.0.0.1:{}", rude::server()), &[]);
    let mut answer = gateway.post("/v1/jobs", &job);
    eventually("the call breaks off", || {
        answer = gateway.post("/v1/jobs", &job);
        answer.code() == "REDIS_LOST"
    });
    seen.check("REDIS_LOST", &answer);
}
