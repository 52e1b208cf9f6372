//! The calls, and that what is copied runs on a real Redis.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use super::{OURS, choose, copied, open, wait_for_score};
use crate::support::{Browser, Stage};

/// Gives lines to redis-cli, as a hand does that pastes them, and returns what it says.
fn redis_cli(url: &str, lines: &str) -> String {
    let mut command = Command::new("redis-cli");
    command.args(["-u", url]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Scrolls to the middle of something; the bars above and below cover what is at the edges.
fn show(browser: &Browser, selector: &str) {
    let script = "document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })";
    browser.script(script, &[json!(selector)]);
}

#[test]
fn copied_lines_run_on_a_real_redis_and_are_answered_the_same() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    open(&browser, &stage, "#calm-day");
    wait_for_score(&browser, "Jobs finished", OURS, 5);
    browser.click("#play");
    show(&browser, "#calls");
    choose(&browser, "#filter [name=kind]", "nodes");
    browser.fill("#filter [name=text]", "register");
    browser.wait_for_text("#calls", "lockless_register");
    let registers = copied(&browser, "#copy-all");
    assert_eq!(registers.lines().count(), 24, "{registers}");
    let said = redis_cli(&stage.redis_url(), &registers);
    assert_eq!(said.matches("incarnation").count(), 24, "{said}");

    // A job from its dispatch to its end.
    choose(&browser, "#filter [name=kind]", "jobs");
    browser.fill("#filter [name=text]", "job-1 ");
    browser.fill("#filter [name=text]", "complete");
    let line = browser.wait_for_text("#calls li .line", "lockless_complete");
    let job = line.split(' ').nth(4).unwrap().to_owned();
    let node = line.split(' ').nth(5).unwrap().to_owned();
    browser.fill("#filter [name=text]", &format!("{job} "));
    browser.until("only its calls are there", || {
        let lines = browser.texts("#calls li:not([hidden]) .line");
        (lines.len() >= 3 && lines.iter().all(|line| line.contains(&job))).then_some(())
    });
    let life = copied(&browser, "#copy-all");
    let life: Vec<&str> = life
        .lines()
        .filter(|line| line.split(' ').any(|word| word == job))
        .collect();
    assert!(
        life[0].starts_with("FCALL lockless_dispatch 1 "),
        "{life:?}"
    );
    // On a cell where only its node takes work, it goes to the same one.
    let others = registers
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .filter(|other| *other != node);
    let drains: String = others
        .map(|other| format!("FCALL lockless_drain 1 'scheduler:{{playground}}' {other} on\n"))
        .collect();
    redis_cli(&stage.redis_url(), &drains);
    let said = redis_cli(&stage.redis_url(), &format!("{}\n", life.join("\n")));
    assert_eq!(
        said.split_whitespace().collect::<Vec<_>>(),
        [node.as_str(), job.as_str(), "OK", "OK"],
        "{life:?}"
    );
}

#[test]
fn one_line_is_copied_by_its_own_button() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    open(&browser, &stage, "#rush-hour");
    show(&browser, "#calls");
    browser.wait_for("#calls li .line");
    browser.click("#play");
    browser.wait_for_text("#play", "Play");
    choose(&browser, "#filter [name=side]", "1");
    let line = browser.wait_for_text("#calls li .line", "FCALL seed_");
    assert_eq!(copied(&browser, "#calls li .copy"), line);
    choose(&browser, "#filter [name=side]", "0");
    choose(&browser, "#filter [name=kind]", "reads");
    show(&browser, "#audit");
    browser.click("#audit");
    show(&browser, "#calls");
    browser.wait_for_text("#calls li .line", "FCALL_RO lockless_check");
}
