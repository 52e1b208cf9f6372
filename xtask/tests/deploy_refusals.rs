//! Servers that can't take the library, each with its sentence.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use lockless_servers::Standalone;
use support::*;

#[test]
fn no_server_there() {
    let sentence = Deployer::new().fails("redis://127.0.0.1:1", &[]);
    assert!(
        sentence.contains("There is no server at 127.0.0.1:1"),
        "{sentence}"
    );
}

#[test]
fn a_url_that_cannot_be_read() {
    let sentence = Deployer::new().fails("http://:hunter2@host", &[]);
    assert!(
        sentence.contains("unknown scheme") && !sentence.contains("hunter2"),
        "{sentence}"
    );
}

#[test]
fn a_password_that_is_missing_wrong_or_right() {
    let server = Standalone::builder()
        .args(["--requirepass", "hunter2"])
        .start()
        .unwrap();
    let (deployer, port) = (Deployer::new(), server.port());
    let missing = deployer.fails(&server.url(), &[]);
    assert!(missing.contains("asks for a password"), "{missing}");
    let wrong = deployer.fails(&format!("redis://:hunter3@127.0.0.1:{port}"), &[]);
    assert!(
        wrong.contains("refused the user or the password") && !wrong.contains("hunter3"),
        "{wrong}"
    );
    let said = deployer.succeeds(&format!("redis://:hunter2@127.0.0.1:{port}"), &[]);
    assert!(!said.contains("hunter2"), "{said}");
    let mut with_environment = deployer.command(&server.url(), &[]);
    with_environment
        .env("LOCKLESS_REDIS_PASSWORD", "hunter2")
        .env("LOCKLESS_REDIS_USER", "default");
    assert!(succeeds(&mut with_environment).contains("up to date"));
}

#[test]
fn a_user_without_the_right_to_deploy() {
    let server = Standalone::builder().private().start().unwrap();
    let rules = ["SETUSER", "ann", "on", ">pw", "~*", "+@all", "-function"];
    redis::cmd("ACL")
        .arg(&rules)
        .exec(&mut connect(&server.url()))
        .unwrap();
    let sentence =
        Deployer::new().fails(&format!("redis://ann:pw@127.0.0.1:{}", server.port()), &[]);
    assert!(
        sentence.contains("not allowed") && sentence.to_lowercase().contains("function"),
        "{sentence}"
    );
}

#[test]
fn a_user_who_may_deploy_but_not_call_needs_no_more() {
    let server = Standalone::builder().private().start().unwrap();
    let rules = ["SETUSER", "ann", "on", ">pw", "-@all", "+info", "+function"];
    redis::cmd("ACL")
        .arg(&rules)
        .exec(&mut connect(&server.url()))
        .unwrap();
    let url = format!("redis://ann:pw@127.0.0.1:{}", server.port());
    let deployer = Deployer::new();
    deployer.succeeds(&url, &[]);
    assert!(deployer.succeeds(&url, &[]).contains("up to date"));
}

#[test]
fn a_replica_names_its_primary() {
    let primary = Standalone::builder().private().start().unwrap();
    let replica = Standalone::builder()
        .replica_of(primary.port())
        .start()
        .unwrap();
    let sentence = Deployer::new().fails(&replica.url(), &[]);
    let expected = format!(
        "read-only replica: deploy to its primary, 127.0.0.1:{}",
        primary.port()
    );
    assert!(sentence.contains(&expected), "{sentence}");
}

#[test]
fn a_server_older_than_functions() {
    let sentence =
        Deployer::new().fails(&fake_server("redis_version:6.2.0\r\nrole:master\r\n"), &[]);
    assert!(
        sentence.contains("runs Redis 6.2.0, and Functions need 7.0 or later"),
        "{sentence}"
    );
}

#[test]
fn a_server_without_functions() {
    let sentence =
        Deployer::new().fails(&fake_server("redis_version:7.4.0\r\nrole:master\r\n"), &[]);
    assert!(sentence.contains("has no Redis Functions"), "{sentence}");
}

#[test]
fn another_library_that_has_one_of_our_functions() {
    let server = Standalone::builder().private().start().unwrap();
    load(
        &server.url(),
        "#!lua name=thief\nredis.register_function('lockless_version', function() return 1 end)",
    );
    let sentence = Deployer::new().fails(&server.url(), &[]);
    assert!(
        sentence.contains("refused FUNCTION LOAD") && sentence.contains("lockless_version"),
        "{sentence}"
    );
}
