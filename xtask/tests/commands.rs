//! The other commands, as a user runs them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::connect;

fn xtask() -> Command {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
}

/// A running `up`.
struct Up {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    redis_port: u16,
    gateway: String,
}

fn start_up(arguments: &[&str]) -> Up {
    let mut child = xtask()
        .args(["up", "--http-port", "0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("Ctrl-C stops it") {
        assert!(output.read_line(&mut text).unwrap() > 0, "{text}");
    }
    let word_of = |start: &str| {
        let found = text.split_whitespace().find(|word| word.starts_with(start));
        found.unwrap().to_owned()
    };
    let redis_port = word_of("redis://").rsplit(':').next().unwrap().parse();
    Up {
        child,
        output,
        redis_port: redis_port.unwrap(),
        gateway: word_of("http://"),
    }
}

fn submit(gateway: &str, body: &str) {
    let request = ureq::http::Request::builder()
        .method("POST")
        .uri(format!("{gateway}/v1/queue"))
        .header("content-type", "application/json")
        .body(body.to_owned());
    ureq::run(request.unwrap()).unwrap();
}

/// Whether a process has this word as an argument.
fn has_process_with(word: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| {
            line.split(|byte| *byte == 0)
                .any(|one| one == word.as_bytes())
        })
}

fn count_of(gateway: &str, name: &str) -> i64 {
    let mut answer = ureq::get(format!("{gateway}/v1/counters")).call().unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    let counters: serde_json::Value = serde_json::from_str(&text).unwrap();
    counters[name].as_i64().unwrap()
}

fn signal(pid: u32, name: &str) {
    assert!(
        Command::new("kill")
            .args([name, &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

fn server_pid(port: u16) -> u32 {
    let info: String = redis::cmd("INFO")
        .arg("server")
        .query(&mut connect(&format!("redis://127.0.0.1:{port}")))
        .unwrap();
    info.lines()
        .find_map(|line| line.strip_prefix("process_id:"))
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

#[test]
fn a_bare_call_prints_help() {
    let output = xtask().output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for command in ["bundle", "deploy-functions", "test", "up", "ci"] {
        assert!(text.contains(command), "{text}");
    }
}

#[test]
fn help_shows_no_value_of_the_url_variable() {
    let output = xtask()
        .args(["deploy-functions", "--help"])
        .env("LOCKLESS_REDIS_URL", "redis://:hunter2@x")
        .output();
    assert!(
        !String::from_utf8(output.unwrap().stdout)
            .unwrap()
            .contains("hunter2")
    );
}

#[test]
fn the_committed_bundle_is_what_its_sources_give() {
    let output = xtask().args(["bundle", "--check"]).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn up_serves_until_it_is_told_to_stop() {
    for name in ["-INT", "-TERM"] {
        let mut up = start_up(&["--agents", "0"]);
        let url = format!("redis://127.0.0.1:{}", up.redis_port);
        assert!(support::has_own_library(&url));
        assert_eq!(count_of(&up.gateway, "nodes"), 0);
        let server = server_pid(up.redis_port);
        signal(up.child.id(), name);
        assert_eq!(up.child.wait().unwrap().code(), Some(0));
        assert_eq!(
            up.output.lines().last().unwrap().unwrap(),
            "Everything is stopped."
        );
        assert!(!std::path::Path::new(&format!("/proc/{server}")).exists());
        assert!(
            ureq::get(&up.gateway).call().is_err(),
            "the gateway is still there"
        );
    }
}

#[test]
fn the_agents_of_up_run_what_jobs_name() {
    let mut up = start_up(&[]);
    assert_eq!(count_of(&up.gateway, "nodes"), 2);
    let sha256 = r#"{"job": "sum", "payload": {"argv": ["sha256sum", "/dev/null"]}}"#;
    submit(&up.gateway, sha256);
    let token = format!("1000.{}", std::process::id());
    let sleep = format!(r#"{{"job": "nap", "payload": {{"argv": ["sleep", "{token}"]}}}}"#);
    submit(&up.gateway, &sleep);
    let mut answer = ureq::get(format!("{}/v1/jobs/sum?wait_ms=30000", up.gateway))
        .call()
        .unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    assert!(
        text.contains(r#""status":"finished""#)
            && text.contains("e3b0c44298fc1c149afbf4c8996fb924"),
        "{text}"
    );
    let sleeps = || has_process_with(&token);
    let begin = Instant::now();
    while !sleeps() {
        assert!(begin.elapsed() < Duration::from_secs(30), "nobody sleeps");
        std::thread::sleep(Duration::from_millis(50));
    }
    signal(up.child.id(), "-INT");
    assert_eq!(up.child.wait().unwrap().code(), Some(0));
    assert!(!sleeps(), "a job outlived its agent");
}

#[test]
fn up_says_when_its_server_died() {
    let mut up = start_up(&["--agents", "0"]);
    signal(server_pid(up.redis_port), "-KILL");
    assert_eq!(up.child.wait().unwrap().code(), Some(1));
    let mut stderr = String::new();
    up.child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert!(stderr.contains("the server ended by itself"), "{stderr}");
}
