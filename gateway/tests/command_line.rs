//! The program as someone starts it: help, mistakes, tokens, TLS.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::net::TcpListener;
use std::process::Output;

use support::{Gateway, redis};

fn run(arguments: &[&str]) -> (Output, String) {
    let output = Gateway::command().args(arguments).output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output, text)
}

#[test]
fn help_has_examples_and_names_the_variables() {
    let (output, text) = run(&["--help"]);
    assert!(output.status.success());
    for word in [
        "Examples:",
        "--redis",
        "LOCKLESS_REDIS_URL",
        "without --redis: one process, no replicas",
        "--state",
        "LOCKLESS_STATE",
        "--tokens",
        "LOCKLESS_TOKENS_FILE",
        "token --role",
    ] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
}

#[test]
fn help_shows_no_secret_of_the_environment() {
    let output = Gateway::command()
        .arg("--help")
        .env("LOCKLESS_REDIS_PASSWORD", "hunter2")
        .env("LOCKLESS_REDIS_URL", "redis://:hunter2@x")
        .env("LOCKLESS_TOKENS", "hunter2")
        .output()
        .unwrap();
    assert!(
        !String::from_utf8(output.stdout)
            .unwrap()
            .contains("hunter2")
    );
}

#[test]
fn the_first_line_says_whether_the_scheduler_is_embedded() {
    let said = |gateway: Gateway| gateway.said().to_owned();
    assert!(said(Gateway::embedded(&[])).ends_with(" with an embedded scheduler\n"));
    let server = redis();
    let with_redis = said(Gateway::spawn(&server.url(), &[]));
    assert!(with_redis.contains(" listens on http://") && !with_redis.contains("embedded"));
}

#[test]
fn a_mistake_is_told_in_a_sentence() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let rows: &[(&[&str], &str)] = &[
        (&["--redis", "http://x"], "redis://"),
        (&["--listen", "nowhere"], "--listen"),
        (&["--listen", "0.0.0.0:0"], "token"),
        (&["--listen", &taken], "in use"),
        (&["--cell", "main"], "hash tag"),
        (&["--cell", "t:{*}"], "default"),
        (&["--tokens", "/nowhere/tokens"], "/nowhere/tokens"),
        (&["--tls-cert", "/nowhere/cert"], "--tls-key"),
        (
            &["--tls-cert", "/nowhere/cert", "--tls-key", "/nowhere/key"],
            "/nowhere/",
        ),
        (
            &["--redis-tls-ca", "/nowhere/ca", "--redis", "rediss://x"],
            "/nowhere/ca",
        ),
        (&["--log", "a=b=c"], "--log"),
        (&["--redis-pool", "0"], "--redis-pool"),
        (&["--deploy"], "none is named: add --redis URL"),
        (&["--durability", "replica"], "add --redis URL"),
        (
            &["--state", "cell.state", "--redis", "redis://x"],
            "--state is for the embedded scheduler",
        ),
        (&["--state-every-ms", "500"], "--state <FILE>"),
        (&["--embedded-memory-mb", "1"], "8..=1536"),
        (&["--embedded-memory-mb", "1537"], "8..=1536"),
        (
            &["token", "--role", "king", "--name", "x"],
            "node, client or operator",
        ),
        (
            &["token", "--role", "client", "--name", "x", "--node", "n"],
            "node",
        ),
    ];
    for (arguments, word) in rows {
        let (output, text) = run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(text.contains(word), "{arguments:?}: {text}");
        assert!(!text.contains("panicked"), "{arguments:?}: {text}");
    }
}

#[test]
fn a_token_that_was_made_is_accepted_and_read_again_on_hangup() {
    let (output, text) = run(&["token", "--role", "client", "--name", "web"]);
    assert!(output.status.success(), "{text}");
    let secret = text
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("lockless_"))
        .unwrap()
        .to_owned();
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| line.contains("sha256:"))
        .unwrap()
        .to_owned();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokens");
    std::fs::write(&file, format!("# ours\n{line}\n")).unwrap();
    let server = redis();
    let gateway = Gateway::start(&server.url(), &["--tokens", file.to_str().unwrap()]);
    let bearer = format!("Bearer {secret}");
    let status = || {
        gateway
            .send("GET", "/v1/nodes", &[("authorization", &bearer)], None)
            .status
    };
    assert_eq!(status(), 200);

    let (_, other) = run(&["token", "--role", "client", "--name", "other"]);
    let other = other
        .lines()
        .map(str::trim)
        .find(|line| line.contains("sha256:"))
        .unwrap()
        .to_owned();
    let hang_up = || {
        let pid = gateway.pid().to_string();
        assert!(
            std::process::Command::new("kill")
                .args(["-HUP", &pid])
                .status()
                .unwrap()
                .success()
        );
    };
    std::fs::write(&file, "nonsense").unwrap();
    hang_up();
    support::eventually("the mistake is logged", || {
        gateway.log().contains("not read again")
    });
    assert_eq!(status(), 200, "a bad file changes nothing");
    std::fs::write(&file, other).unwrap();
    hang_up();
    support::eventually("the token is gone", || status() == 401);
}
