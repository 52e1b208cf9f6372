//! The playground from a static file server, as `cargo xtask playground` writes it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use super::{OURS, THEIRS, audit, wait_for_score, wait_until_drawn};
use crate::support::Browser;
use lockless_servers::launch;

fn export(dir: &Path, more: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["xtask", "playground", "--out"])
        .arg(dir)
        .args(more);
    command.current_dir(root).output().unwrap()
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server that the export says to use.
fn serve(dir: &Path) -> (Server, u16) {
    let mut command = Command::new("python3");
    command.args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]);
    command.current_dir(dir).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = launch(command).unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    // "Serving HTTP on 127.0.0.1 port 36311 (http://127.0.0.1:36311/) ..."
    let port = said.split(' ').nth(5).and_then(|port| port.parse().ok());
    let port = port.unwrap_or_else(|| panic!("it said '{said}'"));
    (Server(child), port)
}

#[test]
fn the_export_works_from_a_static_server_under_any_path() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("some/where");
    let exported = export(&dir, &[]);
    let said = String::from_utf8_lossy(&exported.stdout).into_owned();
    assert!(
        exported.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&exported.stderr)
    );
    assert!(said.contains("python3 -m http.server"), "{said}");

    let (_server, port) = serve(root.path());
    let browser = Browser::start();
    browser.open_address(&format!("http://127.0.0.1:{port}/some/where/#retries"));
    wait_until_drawn(&browser);
    wait_for_score(&browser, "Jobs finished", OURS, 20);
    wait_for_score(&browser, "ran without a slot", THEIRS, 1);
    assert!(audit(&browser).starts_with("Sound at"));
    // There is no gateway here, so nothing leads to one.
    assert!(browser.texts(".tabs a").is_empty());
}

#[test]
fn the_export_writes_over_nothing_that_is_not_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let mine = dir.path().join("mine.txt");
    std::fs::write(&mine, "mine").unwrap();
    let refused = export(dir.path(), &[]);
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("--force"), "{said}");
    assert!(!dir.path().join("index.html").exists());
    assert!(export(dir.path(), &["--force"]).status.success());
    assert!(dir.path().join("index.html").is_file() && mine.is_file());
    assert!(export(dir.path(), &[]).status.success(), "its own it may");
    assert!(mine.is_file());
}
