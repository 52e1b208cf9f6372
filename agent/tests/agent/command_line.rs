//! The program as a user meets it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use crate::support::{Agent, Way, World, bare_command, eventually};

fn run(arguments: &[&str]) -> Output {
    bare_command().args(arguments).output().unwrap()
}

#[test]
fn help_names_every_flag_and_shows_examples() {
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    for words in [
        "--redis",
        "--gateway",
        "--allow",
        "--state-dir",
        "--sample-from",
        "--dry-run",
        "--deployments",
        "NODE_UNIT_SCHEDULER_INTERVAL_MS",
        "Examples:",
        "\"argv\"",
    ] {
        assert!(help.contains(words), "{words}");
    }
    assert!(!help.contains("guard"));
}

#[test]
fn a_mistake_is_named_and_nothing_is_started() {
    let rows: [(&[&str], &str); 6] = [
        (&["--allow", "sleep"], "not a path from the root"),
        (
            &["--config", "/no/such/file"],
            "--config /no/such/file can't be used",
        ),
        (
            &["--gateway", "gateway:8080"],
            "--gateway takes http:// or https://",
        ),
        (&["--redis", "http://x"], "redis://"),
        (&["--tick-ms", "soon"], "--tick-ms"),
        (&["--log", "a=b=c"], "--log takes"),
    ];
    for (at, (arguments, words)) in rows.iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join(at.to_string());
        let mut all = vec!["--node", "n", "--state-dir", state.to_str().unwrap()];
        all.extend(*arguments);
        let output = run(&all);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && said.contains(words),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn the_settings_are_printed_without_secrets() {
    let output = run(&[
        "--print-config",
        "--node",
        "n",
        "--redis-password",
        "hunter2",
        "--allow",
        "/bin/sh",
    ]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("node = \"n\"") && said.contains("path = \"/bin/sh\""),
        "{said}"
    );
    assert!(!said.contains("hunter2"), "{said}");
}

/// An agent of this world whose jobs may run nothing.
fn without_programs(world: &World) -> Command {
    let mut command = bare_command();
    command
        .args([
            "--redis",
            &world.server.url(),
            "--node",
            "bare",
            "--tick-ms",
            "50",
        ])
        .arg("--sample-from")
        .arg(world.path("sample.json"))
        .arg("--state-dir")
        .arg(world.path("bare"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

#[test]
fn an_empty_allow_list_is_said_and_allows_nothing() {
    let world = World::new(Way::Redis);
    let mut child = lockless_servers::launch(without_programs(&world)).unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said: Vec<String> = lines.take(2).map(Result::unwrap).collect();
    assert!(said[1].contains("No program is allowed"), "{said:?}");
    world.cell.submit("j1", "true", &["RETRIES", "0"]);
    let reason = world
        .cell
        .wait_for("j1", "failed")
        .remove("reason")
        .unwrap();
    assert!(reason.contains("allow-list"), "{reason}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_reader_who_has_left_does_not_matter() {
    let world = World::new(Way::Redis);
    let mut child = lockless_servers::launch(without_programs(&world)).unwrap();
    drop(child.stdout.take());
    eventually("it ticks", || {
        world
            .cell
            .node("bare")
            .get("mode")
            .is_some_and(|mode| mode == "NORMAL")
    });
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_riskiest_card_of_nvidia_smi_is_told_to_the_cell() {
    let world = World::new(Way::Redis);
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let say = |text: &str| {
        let program = bin.join("nvidia-smi");
        fs::write(bin.join("rows"), text).unwrap();
        fs::write(
            &program,
            format!("#!/bin/sh\ncat {}\n", bin.join("rows").display()),
        )
        .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    };
    say("7, 1000, 80000\n99, 7372, 8192\nnot a card\n[N/A], [N/A], [N/A]\n");
    let mut command = bare_command();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    command
        .args([
            "--redis",
            &world.server.url(),
            "--node",
            "gpu",
            "--tick-ms",
            "50",
        ])
        .env("PATH", path)
        .arg("--state-dir")
        .arg(world.path("gpu"));
    let _agent = Agent::start(command, world.path("log-gpu"));
    world.cell.call(&["config", "heartbeat_ttl_ms", "1500"]);
    eventually("the fullest card counts", || {
        world
            .cell
            .node("gpu")
            .get("gpu")
            .is_some_and(|gpu| gpu.starts_with("89.9") || gpu == "90")
    });
    say("garbage\n");
    eventually("without a card there is none", || {
        world
            .cell
            .node("gpu")
            .get("gpu")
            .is_some_and(|gpu| gpu == "-1")
    });
}
