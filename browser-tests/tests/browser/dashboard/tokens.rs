//! Tokens: asked for, kept in the tab, and what each role may do.

use lockless_gateway::auth::{Role, generate};

use super::furnish;
use crate::support::{Browser, Stage};

/// A gateway that asks for tokens, and the secrets of an operator, a client and a node.
fn guarded() -> (Stage, [String; 3]) {
    let made = [
        generate(Role::Operator, "olga", None).unwrap(),
        generate(Role::Client, "clive", None).unwrap(),
        generate(Role::Node, "worker", Some("worker-1")).unwrap(),
    ];
    let lines: Vec<&str> = made.iter().map(|(_, line)| line.as_str()).collect();
    let stage = Stage::start(&["--tokens-text", &lines.join("\n")]).with_token(&made[0].0);
    furnish(&stage);
    (stage, made.map(|(secret, _)| secret))
}

fn enter(browser: &Browser, token: &str) {
    browser.fill("#token", token);
    browser.click("form button[type=submit]");
}

#[test]
fn a_token_is_asked_for_and_kept_in_this_tab_alone() {
    let (stage, [operator, ..]) = guarded();
    let browser = Browser::start();
    browser.allow_in_console("401");
    browser.open(&stage, "/");
    browser.wait_for_text("main h1", "A token, please");
    browser.assert_accessible();
    enter(&browser, "wrong");
    browser.wait_for_text(
        "main [role=alert]",
        "the token is not one that this gateway accepts",
    );
    enter(&browser, &operator);
    browser.wait_for_text("[data-count=draining]", "1");
    browser.wait_for_text("[data-state=live]", "Live");
    browser.wait_for_text("#foot", "olga, operator");
    let kept = browser.script("return [Object.values(sessionStorage).length, JSON.stringify({ ...localStorage }), document.cookie]", &[]);
    assert_eq!(kept[0], 1);
    assert!(
        !kept.to_string().contains(&operator[..12]) && kept[2] == "",
        "{kept}"
    );
    browser.reload();
    browser.wait_for_text("[data-count=draining]", "1");
    browser.click("#foot button");
    browser.wait_for_text("main h1", "A token, please");
    assert_eq!(
        browser.script("return Object.values(sessionStorage).length", &[]),
        0
    );
}

#[test]
fn a_client_reads_and_is_told_that_it_may_not_drain() {
    let (stage, [_, client, _]) = guarded();
    let browser = Browser::start();
    browser.allow_in_console("401");
    browser.open(&stage, "/#/nodes/gpu-1");
    enter(&browser, &client);
    browser.wait_for_text(".view-head", "Only an operator's token may drain a node.");
    assert_eq!(
        browser.script(
            "return document.querySelector('.action button').disabled",
            &[]
        ),
        true
    );
    browser.wait_for_text("section[aria-labelledby=panel-in-its-slots]", "runs");
}

#[test]
fn a_nodes_token_is_told_that_it_is_not_for_this() {
    let (stage, [_, _, node]) = guarded();
    let browser = Browser::start();
    browser.allow_in_console("401");
    browser.allow_in_console("403");
    browser.open(&stage, "/");
    enter(&browser, &node);
    browser.wait_for_text("#banner", "This token may not read the dashboard");
}
