//! `cargo xtask up`, as a user runs it: embedded, with a Redis and with a Cluster.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use support::connect;

/// A running `up`.
struct Up {
    child: Child,
    output: BufReader<ChildStdout>,
    text: String,
    gateway: String,
}

fn start_up(arguments: &[&str]) -> Up {
    let mut child = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["up", "--http-port", "0"])
        .args(arguments)
        // Settings for other gateways and agents, none of which is meant here.
        .env("LOCKLESS_REDIS_URL", "redis://nobody.invalid:1")
        .env("LOCKLESS_STATE", "/nowhere/cell.state")
        .env("LOCKLESS_TOKENS", "/nowhere/tokens")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("Ctrl-C stops it") {
        assert!(output.read_line(&mut text).unwrap() > 0, "{text}");
    }
    let mut words = text.split_whitespace();
    let gateway = words.find(|word| word.starts_with("http://")).unwrap();
    Up {
        child,
        output,
        gateway: gateway.trim_end_matches('/').to_owned(),
        text,
    }
}

impl Up {
    fn redis_url(&self) -> String {
        let mut words = self.text.split_whitespace();
        words
            .find(|word| word.starts_with("redis://"))
            .unwrap()
            .to_owned()
    }

    fn server_pid(&self) -> u32 {
        let info: String = redis::cmd("INFO")
            .arg("server")
            .query(&mut connect(&self.redis_url()))
            .unwrap();
        let pid = info
            .lines()
            .find_map(|line| line.strip_prefix("process_id:"));
        pid.unwrap().trim().parse().unwrap()
    }

    fn send(&self, method: &str, path: &str, cell: &str, body: &str) {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.gateway))
            .header("content-type", "application/json")
            .header("lockless-cell", cell)
            .body(body.to_owned());
        ureq::run(request.unwrap()).unwrap();
    }

    fn get(&self, path: &str) -> String {
        let mut answer = ureq::get(format!("{}{path}", self.gateway)).call().unwrap();
        answer.body_mut().read_to_string().unwrap()
    }

    fn nodes(&self) -> i64 {
        let counters: serde_json::Value = serde_json::from_str(&self.get("/v1/counters")).unwrap();
        counters["nodes"].as_i64().unwrap()
    }

    fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Ends it as a user does.
    fn stop(mut self, name: &str) {
        self.signal(name);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        let last = self.output.by_ref().lines().last().unwrap().unwrap();
        assert_eq!(last, "Everything is stopped.");
        let gone = ureq::get(&self.gateway).call().is_err();
        assert!(gone, "the gateway is still there");
    }

    /// What it says when it ends by itself.
    fn failure(mut self) -> String {
        assert_eq!(self.child.wait().unwrap().code(), Some(1));
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // Of a test that failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(pid: u32, name: &str) {
    let mut kill = Command::new("kill");
    assert!(
        kill.args([name, &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
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

#[test]
fn up_serves_without_a_redis_until_it_is_told_to_stop() {
    for name in ["-INT", "-TERM"] {
        let up = start_up(&["--agents", "0"]);
        assert!(!up.text.contains("redis://") && !up.text.contains("redis-cli"));
        assert_eq!(up.nodes(), 0);
        up.send("PUT", "/v1/nodes/n1", "scheduler:{main}", "{}");
        assert_eq!(up.nodes(), 1);
        for page in ["/", "/playground", "/docs"] {
            assert!(up.get(page).contains("<!doctype html"), "{page}");
        }
        up.stop(name);
    }
}

#[test]
fn up_serves_from_a_redis_if_it_is_asked_to() {
    let up = start_up(&["--redis", "--agents", "0"]);
    assert!(support::has_own_library(&up.redis_url()));
    assert_eq!(up.nodes(), 0);
    let server = up.server_pid();
    up.stop("-INT");
    assert!(!std::path::Path::new(&format!("/proc/{server}")).exists());
}

#[test]
fn up_serves_from_a_cluster_with_a_cell_on_each_primary() {
    let up = start_up(&["--cluster", "--agents", "0"]);
    for cell in ["scheduler:{main}", "scheduler:{blue}", "scheduler:{green}"] {
        up.send("PUT", "/v1/nodes/n1", cell, "{}");
    }
    let keys: i64 = redis::cmd("DBSIZE")
        .query(&mut connect(&up.redis_url()))
        .unwrap();
    assert!(keys > 0, "no cell is on that primary");
    signal(up.server_pid(), "-KILL");
    let text = up.failure();
    assert!(text.contains("a server ended by itself"), "{text}");
}

fn run_jobs(arguments: &[&str]) {
    let up = start_up(arguments);
    assert_eq!(up.nodes(), 2);
    let submit = |body: &str| up.send("POST", "/v1/queue", "scheduler:{main}", body);
    submit(r#"{"job": "sum", "payload": {"argv": ["sha256sum", "/dev/null"]}}"#);
    let token = format!("1000.{}{}", std::process::id(), arguments.len());
    submit(&format!(
        r#"{{"job": "nap", "payload": {{"argv": ["sleep", "{token}"]}}}}"#
    ));
    let text = up.get("/v1/jobs/sum?wait_ms=30000");
    assert!(
        text.contains(r#""status":"finished""#)
            && text.contains("e3b0c44298fc1c149afbf4c8996fb924"),
        "{text}"
    );
    let begin = Instant::now();
    while !has_process_with(&token) {
        assert!(begin.elapsed() < Duration::from_secs(30), "nobody sleeps");
        std::thread::sleep(Duration::from_millis(50));
    }
    up.stop("-INT");
    assert!(!has_process_with(&token), "a job outlived its agent");
}

#[test]
fn the_agents_of_up_run_what_jobs_name() {
    run_jobs(&[]);
}

#[test]
fn so_they_do_with_a_redis() {
    run_jobs(&["--redis"]);
}

#[test]
fn up_says_when_its_server_died() {
    let up = start_up(&["--redis", "--agents", "0"]);
    signal(up.server_pid(), "-KILL");
    let text = up.failure();
    assert!(text.contains("a server ended by itself"), "{text}");
}

#[test]
fn what_can_not_be_is_told_in_a_sentence() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().port().to_string();
    let rows: [(&[&str], &str); 4] = [
        (&["--port", "7000"], "--redis"),
        (&["--redis", "--cluster"], "--cluster"),
        (
            &["--redis", "--port", &taken],
            "name another one with --port",
        ),
        (
            &["--http-port", &taken],
            "name another one with --http-port",
        ),
    ];
    for (arguments, word) in rows {
        let mut up = Command::new(env!("CARGO_BIN_EXE_xtask"));
        let output = up.arg("up").args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && text.contains(word),
            "{arguments:?}: {text}"
        );
    }
}
