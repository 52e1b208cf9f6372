//! The other commands, as a user runs them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::process::Command;

fn xtask() -> Command {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
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
