//! Limits, at the sockets of the program itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;
use support::{Gateway, PATIENCE, redis};

const HEAD: &str =
    "POST /v1/sweep HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";

#[test]
fn a_request_that_could_be_read_in_two_ways_is_refused() {
    let server = redis();
    let gateway = Gateway::start(&server.url(), &[]);
    let smuggled = "GET /v1/check HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for lengths in [
        "content-length: 2\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 2\r\n",
        "content-length: 2\r\ncontent-length: 2\r\n",
        "content-length: 2\r\ncontent-length: 3\r\n",
    ] {
        let answer = gateway.raw(format!("{HEAD}{lengths}\r\n{{}}{smuggled}").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400"), "{lengths}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{lengths}: {answer}");
    }
}

#[test]
fn slow_and_large_heads_are_not_waited_for() {
    let server = redis();
    let gateway = Gateway::start(&server.url(), &["--header-timeout-ms", "200"]);
    let begin = Instant::now();
    let _ = gateway.raw(HEAD.as_bytes());
    assert!(
        begin.elapsed() < PATIENCE / 2,
        "a head that never ends was waited for"
    );
    let many: String = (0..70).map(|at| format!("x-{at}: y\r\n")).collect();
    let answer = gateway.raw(format!("{HEAD}{many}content-length: 2\r\n\r\n{{}}").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let large = "y".repeat(100_000);
    let answer = gateway.raw(format!("{HEAD}x-large: {large}\r\n\r\n").as_bytes());
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
}

#[test]
fn a_large_body_is_not_read_byte_by_byte() {
    // That would take half a minute.
    let gateway = Gateway::embedded(&["--body-timeout-ms", "3000"]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let settings = r#"{"payload_max_bytes": 1048576}"#;
    gateway
        .send("PATCH", "/v1/config", &[], Some(settings))
        .ok();
    let job = json!({ "session": "s", "payload": "x".repeat(1_000_000), "job": "j" });
    gateway.post("/v1/jobs", &job).ok();
    let payload = gateway.get("/v1/jobs/j").ok()["payload_json"].clone();
    assert_eq!(payload, job["payload"]);
}

#[test]
fn slow_clients_do_not_hold_up_the_others() {
    let server = redis();
    let gateway = Gateway::start(&server.url(), &[]);
    let mut slow: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(gateway.authority()).unwrap())
        .collect();
    for stream in &mut slow {
        stream.write_all(HEAD.as_bytes()).unwrap();
    }
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    gateway.get("/v1/nodes").ok();
                }
            });
        }
    });
}

#[test]
fn two_flags_make_it_speak_tls() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let server = redis();
    let files = [
        "--tls-cert",
        cert.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ];
    let gateway = Gateway::spawn(&server.url(), &files);
    assert!(gateway.address().starts_with("https://"));

    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(gateway.authority()).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut stream = StreamOwned::new(session, socket);
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
