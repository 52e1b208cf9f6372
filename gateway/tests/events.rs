//! Events as a stream, and the snapshots that gateways take.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use lockless_servers::{Cluster, Standalone};
use serde_json::{Value, json};
use support::{Gateway, Host, PATIENCE, eventually, load, redis};

support::on_each_host!(events_come_as_they_happen_and_go_on_after_a_break,);

/// An open stream of events.
struct Events(BufReader<TcpStream>);

/// One of them.
#[derive(Debug)]
struct Event {
    id: String,
    kind: String,
    data: Value,
}

impl Events {
    fn open(gateway: &Gateway, query: &str, last_id: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(gateway.authority()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let last_id = last_id
            .map(|id| format!("last-event-id: {id}\r\n"))
            .unwrap_or_default();
        let head = format!(
            "GET /v1/events{query} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{last_id}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut events = Self(BufReader::new(stream));
        assert!(events.line().starts_with("HTTP/1.1 200"));
        while !events.line().starts_with(": events") {}
        events
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
        line.trim_end().to_owned()
    }

    fn next(&mut self) -> Event {
        let mut field = |name: &str| loop {
            // Lengths of chunks, empty lines and signs of life come in between.
            if let Some(value) = self.line().strip_prefix(name) {
                return value.to_owned();
            }
        };
        let (id, kind) = (field("id: "), field("event: "));
        Event {
            id,
            kind,
            data: serde_json::from_str(&field("data: ")).unwrap(),
        }
    }
}

fn events_come_as_they_happen_and_go_on_after_a_break(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/early", &json!({})).ok();
    let mut events = Events::open(&gateway, "", None);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let online = events.next();
    assert_eq!(
        (online.kind.as_str(), &online.data["node_id"]),
        ("node_online", &json!("n1"))
    );
    assert_eq!(online.data["id"], json!(online.id));
    drop(events);

    gateway
        .post("/v1/nodes/n1/drain", &json!({ "drain": "on" }))
        .ok();
    let mut again = Events::open(&gateway, "", Some(&online.id));
    assert_eq!(again.next().kind, "node_draining");

    let mut all = Events::open(&gateway, "?after=-", None);
    let nodes: Vec<Value> = (0..2).map(|_| all.next().data["node_id"].clone()).collect();
    assert_eq!(nodes, [json!("early"), json!("n1")]);

    let bad = [
        ("accept", "text/event-stream"),
        ("last-event-id", "nonsense"),
    ];
    gateway
        .send("GET", "/v1/events", &bad, None)
        .refused(400, "BAD_ARGUMENT");
    let page = gateway.get("/v1/events").ok();
    assert_eq!(page["events"].as_array().unwrap().len(), 3);
}

#[test]
fn an_event_comes_within_50_ms_also_on_a_cluster() {
    let cluster = Cluster::start(3).unwrap();
    for url in cluster.urls() {
        load(&url, lockless_functions::LIBRARY);
    }
    let gateway = Gateway::start(&cluster.urls()[0], &[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let mut events = Events::open(&gateway, "", None);
    let times: Vec<Duration> = (0..15)
        .map(|round| {
            let begin = Instant::now();
            let state = if round % 2 == 0 { "on" } else { "off" };
            gateway
                .post("/v1/nodes/n1/drain", &json!({ "drain": state }))
                .ok();
            events.next();
            begin.elapsed()
        })
        .collect();
    // The shortest is what the gateway can do, however busy the machine is otherwise.
    assert!(
        times.iter().min().unwrap() < &Duration::from_millis(50),
        "{times:?}"
    );
}

#[test]
fn a_stream_outlives_redis_and_ends_with_the_gateway() {
    let dir = tempfile::tempdir().unwrap();
    let persistent = ["--appendonly", "yes", "--appendfsync", "no"];
    let start = |port: Option<u16>| {
        let builder = Standalone::builder().dir(dir.path()).args(persistent);
        port.map_or(builder.clone(), |port| builder.port(port))
            .start()
            .unwrap()
    };
    let server = start(None);
    let port = server.port();
    load(&server.url(), lockless_functions::LIBRARY);
    let mut gateway = Gateway::start(&server.url(), &[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let mut events = Events::open(&gateway, "", None);
    server.stop();
    eventually("Redis is missed", || gateway.get("/readyz").status == 503);
    let _server = start(Some(port));
    gateway.wait_until_ready();
    gateway.put("/v1/nodes/n2", &json!({})).ok();
    assert_eq!(events.next().data["node_id"], "n2");
    thread::scope(|scope| {
        let ended = scope.spawn(|| {
            let mut line = String::new();
            while events.0.read_line(&mut line).is_ok_and(|count| count > 0) {}
        });
        gateway.terminate();
        ended.join().unwrap();
    });
    assert!(gateway.wait_for_end());
}

#[test]
fn gateways_take_snapshots_one_at_a_time() {
    let server = redis();
    let gateways = [
        Gateway::start(&server.url(), &[]),
        Gateway::start(&server.url(), &[]),
    ];
    let [one, other] = &gateways;
    one.get("/v1/nodes").ok();
    one.put("/v1/nodes/n1", &json!({ "max_jobs": 3 })).ok();
    eventually("there is a snapshot", || {
        other.get("/v1/stats").ok()["snapshot"].is_object()
    });
    let snapshot = other.get("/v1/stats").ok()["snapshot"].clone();
    assert!(snapshot["nodes"].is_object(), "{snapshot}");
    let mut own = support::connect(&server.url());
    let lock: String = redis::cmd("GET")
        .arg("scheduler:{main}:lock:lockless-snapshot")
        .query(&mut own)
        .unwrap();
    let owner = lock.split(' ').next().unwrap().to_owned();
    eventually("another snapshot", || {
        other.get("/v1/stats").ok()["snapshot"] != snapshot
    });
    let lock: String = redis::cmd("GET")
        .arg("scheduler:{main}:lock:lockless-snapshot")
        .query(&mut own)
        .unwrap();
    assert!(lock.starts_with(&owner), "{lock} is not {owner}'s");
    // Asking for a cell does not make one.
    one.get("/v1/nodes?cell=t:%7Bnobody%7D").ok();
    let keys: Vec<String> = redis::cmd("KEYS")
        .arg("t:{nobody}*")
        .query(&mut own)
        .unwrap();
    assert_eq!(keys, Vec::<String>::new());
}
