//! `deploy-functions` against one server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use lockless_functions::{LIBRARY, VERSION};
use lockless_servers::Standalone;
use support::*;

fn private() -> Standalone {
    Standalone::builder().private().start().unwrap()
}

#[test]
fn an_empty_server_gets_the_library_and_a_second_run_changes_nothing() {
    let (server, deployer) = (private(), Deployer::new());
    let first = deployer.succeeds(&server.url(), &[]);
    assert!(first.contains("has nothing; to be installed."), "{first}");
    assert!(
        first.contains("loaded and verified.") && first.contains("1 of 1 primary changed"),
        "{first}"
    );
    assert_eq!(code_of(&server.url(), "lockless").as_deref(), Some(LIBRARY));
    let second = deployer.succeeds(&server.url(), &[]);
    assert!(
        second.contains("up to date.") && second.contains("0 of 1 primary changed"),
        "{second}"
    );
    assert_eq!(deployer.backups(), 1);
}

#[test]
fn the_url_may_come_from_the_environment() {
    let (server, deployer) = (private(), Deployer::new());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .arg("deploy-functions")
        .env("LOCKLESS_REDIS_URL", server.url())
        .current_dir(deployer.dir.path());
    succeeds(&mut command);
    assert!(has_own_library(&server.url()));
}

#[test]
fn a_dry_run_says_what_would_change_and_changes_nothing() {
    let (server, deployer) = (private(), Deployer::new());
    load(&server.url(), &library_of("0.0.1"));
    let said = deployer.succeeds(&server.url(), &["--dry-run"]);
    assert!(
        said.contains("has 0.0.1 (digest digest-of-0.") && said.contains("to be replaced"),
        "{said}"
    );
    assert!(said.contains("1 of 1 primary would change"), "{said}");
    assert_eq!(
        code_of(&server.url(), "lockless"),
        Some(library_of("0.0.1"))
    );
    assert_eq!(deployer.backups(), 0);
}

#[test]
fn a_newer_version_is_replaced_only_by_force() {
    let (server, deployer) = (private(), Deployer::new());
    load(&server.url(), &library_of("99.1.0"));
    let sentence = deployer.fails(&server.url(), &[]);
    assert!(
        sentence.contains("newer version 99.1.0") && sentence.contains(VERSION),
        "{sentence}"
    );
    assert_eq!(
        code_of(&server.url(), "lockless"),
        Some(library_of("99.1.0"))
    );
    deployer.succeeds(&server.url(), &["--force"]);
    assert!(has_own_library(&server.url()));
}

#[test]
fn a_foreign_library_of_our_name_is_replaced_only_by_force() {
    let (server, deployer) = (private(), Deployer::new());
    load(
        &server.url(),
        "#!lua name=lockless\nredis.register_function('mine', function() return 1 end)",
    );
    let sentence = deployer.fails(&server.url(), &[]);
    assert!(
        sentence.contains("another library called lockless"),
        "{sentence}"
    );
    deployer.succeeds(&server.url(), &["--force"]);
    assert!(has_own_library(&server.url()));
}

#[test]
fn a_rollback_brings_back_the_version_before_and_touches_no_other_library() {
    let (server, deployer) = (private(), Deployer::new());
    let url = server.url();
    load(&url, &library_of("0.0.1"));
    load(&url, &other_library("old"));
    deployer.succeeds(&url, &[]);
    load(&url, &other_library("new"));
    let said = deployer.succeeds(&url, &["--rollback", "--dry-run"]);
    assert!(said.contains("would change"), "{said}");
    assert!(has_own_library(&url));
    let said = deployer.succeeds(&url, &["--rollback"]);
    assert!(said.contains("rolled back to 0.0.1"), "{said}");
    assert_eq!(code_of(&url, "lockless"), Some(library_of("0.0.1")));
    assert_eq!(code_of(&url, "other"), Some(other_library("new")));
    let again = deployer.succeeds(&url, &["--rollback"]);
    assert!(again.contains("already as it was before"), "{again}");
}

#[test]
fn a_rollback_to_nothing_removes_the_library() {
    let (server, deployer) = (private(), Deployer::new());
    let url = server.url();
    load(&url, &other_library("stays"));
    deployer.succeeds(&url, &[]);
    deployer.succeeds(&url, &["--rollback"]);
    assert_eq!(code_of(&url, "lockless"), None);
    assert_eq!(code_of(&url, "other"), Some(other_library("stays")));
    deployer.succeeds(&url, &["--rollback"]);
}

#[test]
fn a_backup_holds_a_dump_that_redis_restores() {
    let (server, deployer) = (private(), Deployer::new());
    let url = server.url();
    load(&url, &library_of("0.0.1"));
    deployer.succeeds(&url, &["--backup-dir", "kept/here"]);
    let files = std::fs::read_dir(deployer.dir.path().join("kept/here")).unwrap();
    let dump = files
        .flatten()
        .map(|e| e.path())
        .find(|p| p.extension().is_some_and(|x| x == "dump"))
        .unwrap();
    let bytes = std::fs::read(dump).unwrap();
    redis::cmd("FUNCTION")
        .arg("RESTORE")
        .arg(bytes)
        .arg("FLUSH")
        .exec(&mut connect(&url))
        .unwrap();
    assert_eq!(code_of(&url, "lockless"), Some(library_of("0.0.1")));
}

#[test]
fn a_rollback_without_a_backup_says_so() {
    let (server, deployer) = (private(), Deployer::new());
    let sentence = deployer.fails(&server.url(), &["--rollback"]);
    assert!(
        sentence.contains(".lockless/backups has no backup for 127.0.0.1:"),
        "{sentence}"
    );
}

#[test]
fn tls_needs_the_authority_or_an_explicit_wish_to_do_without() {
    let (server, deployer) = (
        Standalone::builder().tls().start().unwrap(),
        Deployer::new(),
    );
    let ca = server.ca_file().unwrap().to_str().unwrap().to_owned();
    let sentence = deployer.fails(&server.url(), &[]);
    assert!(
        sentence.contains("No TLS connection") && sentence.contains("--tls-ca"),
        "{sentence}"
    );
    let plain = server.url().replace("rediss://", "redis://");
    let sentence = deployer.fails(&plain, &[]);
    assert!(sentence.contains("expects TLS"), "{sentence}");
    let sentence = deployer.fails(&plain, &["--tls-ca", &ca]);
    assert!(sentence.contains("--tls-ca is for TLS"), "{sentence}");
    deployer.succeeds(&server.url(), &["--insecure"]);
    let said = deployer.succeeds(&server.url(), &["--tls-ca", &ca]);
    assert!(said.contains("up to date"), "{said}");
}

#[test]
fn a_plain_server_does_not_speak_tls() {
    let (server, deployer) = (private(), Deployer::new());
    let sentence = deployer.fails(
        &server.url().replace("redis://", "rediss://"),
        &["--insecure"],
    );
    assert!(sentence.contains("127.0.0.1"), "{sentence}");
}
