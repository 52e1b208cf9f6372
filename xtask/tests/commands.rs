//! The other commands, as a user runs them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use support::connect;

fn xtask() -> Command {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
}

/// Starts `up` and returns it with the port it names.
fn start_up() -> (Child, u16, BufReader<std::process::ChildStdout>) {
    let mut up = xtask()
        .arg("up")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(up.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("Ctrl-C stops it") {
        assert!(output.read_line(&mut text).unwrap() > 0, "{text}");
    }
    let port = text
        .split("127.0.0.1:")
        .nth(1)
        .unwrap()
        .split('.')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    (up, port, output)
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
fn up_serves_the_library_until_it_is_told_to_stop() {
    for name in ["-INT", "-TERM"] {
        let (mut up, port, output) = start_up();
        assert!(support::has_own_library(&format!(
            "redis://127.0.0.1:{port}"
        )));
        let server = server_pid(port);
        signal(up.id(), name);
        assert_eq!(up.wait().unwrap().code(), Some(0));
        assert_eq!(
            output.lines().last().unwrap().unwrap(),
            "The server is stopped."
        );
        assert!(!std::path::Path::new(&format!("/proc/{server}")).exists());
    }
}

#[test]
fn up_says_when_its_server_died() {
    let (mut up, port, _output) = start_up();
    signal(server_pid(port), "-KILL");
    assert_eq!(up.wait().unwrap().code(), Some(1));
    let mut stderr = String::new();
    std::io::Read::read_to_string(&mut up.stderr.take().unwrap(), &mut stderr).unwrap();
    assert!(stderr.contains("the server ended by itself"), "{stderr}");
}
