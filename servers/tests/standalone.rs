//! A private server starts, answers, and leaves nothing behind.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lockless_servers::{Error, Standalone, URL_VARIABLE};

fn private() -> Standalone {
    Standalone::builder().private().start().unwrap()
}

fn pid_of(server: &Standalone) -> u32 {
    server
        .pid()
        .expect("this test needs the program redis-server, not a container")
}

fn connect(server: &Standalone) -> redis::Connection {
    redis::Client::open(server.url())
        .unwrap()
        .get_connection()
        .unwrap()
}

fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn wait_until_gone(pid: u32) -> bool {
    let begin = Instant::now();
    while is_running(pid) && begin.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(20));
    }
    !is_running(pid)
}

#[test]
fn a_server_answers_and_is_gone_with_its_directory_after_drop() {
    let server = private();
    let answer: String = redis::cmd("PING").query(&mut connect(&server)).unwrap();
    assert_eq!(answer, "PONG");
    let (pid, dir) = (pid_of(&server), server.dir().unwrap().to_owned());
    assert!(is_running(pid) && dir.is_dir());
    server.stop();
    assert!(!is_running(pid));
    assert!(!dir.exists());
}

#[test]
fn two_servers_keep_their_data_apart() {
    let (first, second) = (private(), private());
    assert_ne!(first.port(), second.port());
    redis::cmd("SET")
        .arg("key")
        .arg("first")
        .exec(&mut connect(&first))
        .unwrap();
    let value: Option<String> = redis::cmd("GET")
        .arg("key")
        .query(&mut connect(&second))
        .unwrap();
    assert_eq!(value, None);
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let server = thread::spawn(private).join().unwrap();
    thread::sleep(Duration::from_millis(200));
    assert!(is_running(pid_of(&server)));
    redis::cmd("PING").exec(&mut connect(&server)).unwrap();
}

#[test]
fn a_server_that_was_stopped_by_a_signal_still_goes() {
    let server = private();
    let pid = pid_of(&server);
    assert!(
        Command::new("kill")
            .args(["-STOP", &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
    drop(server);
    assert!(!is_running(pid));
}

#[test]
fn arguments_reach_the_server_and_a_password_counts_as_an_answer() {
    let server = Standalone::builder()
        .args(["--requirepass", "secret", "--appendonly", "yes"])
        .start()
        .unwrap();
    let refused = redis::cmd("GET")
        .arg("key")
        .exec(&mut connect(&server))
        .unwrap_err();
    assert_eq!(refused.code(), Some("NOAUTH"));
    let url = format!("redis://:secret@127.0.0.1:{}", server.port());
    let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
    let setting: Vec<String> = redis::cmd("CONFIG")
        .arg("GET")
        .arg("appendonly")
        .query(&mut connection)
        .unwrap();
    assert_eq!(setting, ["appendonly", "yes"]);
    let setting: Vec<String> = redis::cmd("CONFIG")
        .arg("GET")
        .arg("save")
        .query(&mut connection)
        .unwrap();
    assert_eq!(setting, ["save", ""]);
}

#[test]
fn a_given_directory_stays_behind_and_a_given_port_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let probe = private();
    let port = probe.port();
    probe.stop();
    let server = Standalone::builder()
        .port(port)
        .dir(dir.path().join("data"))
        .start()
        .unwrap();
    assert_eq!(server.port(), port);
    drop(server);
    assert!(dir.path().join("data/server.log").is_file());
}

#[test]
fn a_taken_port_is_an_error_that_shows_the_log() {
    let first = private();
    let error = Standalone::builder()
        .port(first.port())
        .start()
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(error, Error::Ended { .. }), "{error}");
    assert!(
        error.to_string().contains("Address already in use"),
        "{error}"
    );
}

#[test]
fn a_wrong_argument_is_an_error_that_shows_the_log() {
    let error = Standalone::builder()
        .arg("--no-such-setting")
        .arg("1")
        .start()
        .map(|_| ())
        .unwrap_err();
    assert!(error.to_string().contains("Bad directive"), "{error}");
}

#[test]
fn a_tls_server_answers_to_who_trusts_its_authority() {
    let server = Standalone::builder().tls().start().unwrap();
    assert!(server.url().starts_with("rediss://"));
    assert!(Path::new(server.ca_file().unwrap()).is_file());
}

/// Not a test of its own: the process that the next test runs with the variable set.
#[test]
fn role_of_a_user_who_names_a_server() {
    if std::env::var_os("LOCKLESS_TEST_NAMED").is_none() {
        return;
    }
    let named = Standalone::start().unwrap();
    assert_eq!(named.url(), std::env::var(URL_VARIABLE).unwrap());
    assert_eq!((named.pid(), named.dir()), (None, None));
    let own = private();
    assert_ne!(own.port(), named.port());
}

#[test]
fn a_named_server_is_used_as_it_is_and_goes_on_running() {
    let server = private();
    redis::cmd("SET")
        .arg("key")
        .arg("kept")
        .exec(&mut connect(&server))
        .unwrap();
    let user = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "role_of_a_user_who_names_a_server"])
        .env("LOCKLESS_TEST_NAMED", "1")
        .env(URL_VARIABLE, server.url())
        .output()
        .unwrap();
    assert!(
        user.status.success(),
        "{}",
        String::from_utf8_lossy(&user.stdout)
    );
    let value: String = redis::cmd("GET")
        .arg("key")
        .query(&mut connect(&server))
        .unwrap();
    assert_eq!(value, "kept");
}

/// Not a test of its own: the process that the next test kills.
#[test]
fn role_of_a_parent_that_is_killed() {
    if std::env::var_os("LOCKLESS_TEST_BE_KILLED").is_none() {
        return;
    }
    let server = private();
    println!("started {}", pid_of(&server));
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn no_server_survives_a_parent_that_was_killed() {
    use std::io::BufRead;
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "role_of_a_parent_that_is_killed", "--nocapture"])
        .env("LOCKLESS_TEST_BE_KILLED", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = std::io::BufReader::new(parent.stdout.take().unwrap());
    let pid: u32 = output
        .lines()
        .find_map(|line| {
            line.unwrap()
                .split_once("started ")
                .map(|(_, pid)| pid.trim().parse().unwrap())
        })
        .unwrap();
    assert!(is_running(pid));
    let dir = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert!(wait_until_gone(pid));
    // A parent that was killed could not tidy up after itself.
    std::fs::remove_dir_all(dir).unwrap();
}
