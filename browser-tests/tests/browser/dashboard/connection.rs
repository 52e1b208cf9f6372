//! When Redis or the gateway is away.

use serde_json::json;

use super::a_busy_cell;
use crate::support::{Browser, eventually};

#[test]
fn an_outage_is_said_and_passes_by_itself() {
    let mut stage = a_busy_cell();
    let browser = Browser::start();
    browser.allow_in_console("503");
    browser.open(&stage, "/");
    browser.wait_for_text("[data-state=live]", "Live");
    stage.end_redis();
    browser.wait_for_text("[data-state=away]", "Reconnecting");
    let said = browser.wait_for_text("#banner", "No answer");
    assert!(said.contains("What is shown is from"), "{said}");
    // What was known is still there to be read.
    browser.wait_for_text("[data-count=draining]", "1");
    stage.restart_redis();
    stage.put("/v1/nodes/after", &json!({ "max_jobs": 1 }));
    browser.wait_for_text("[data-state=live]", "Live");
    browser.wait_for_text("section[aria-labelledby=panel-nodes] header", "1 in all");
    assert_eq!(browser.seen("#banner").as_deref(), Some(""));
}

#[test]
fn a_gateway_that_is_away_is_said_to_be() {
    let mut stage = a_busy_cell();
    let browser = Browser::start();
    browser.allow_in_console("ERR_");
    browser.open(&stage, "/");
    browser.wait_for_text("[data-state=live]", "Live");
    stage.end_gateway();
    browser.wait_for_text("#banner", "the gateway does not answer");
}

#[test]
fn a_page_that_was_left_holds_no_connection() {
    let stage = a_busy_cell();
    let streams = |count: u32| {
        let line = format!("lockless_long_polls {count}");
        let (_, page) = stage.try_send("GET", "/metrics", None);
        page.lines().any(|own| own == line)
    };
    let browser = Browser::start();
    browser.open(&stage, "/");
    browser.wait_for_text("[data-state=live]", "Live");
    eventually("it follows the events", || streams(1));
    // A browser keeps a page that was left, and what it holds, to show it again.
    browser.leave();
    eventually("the stream is closed", || streams(0));
    browser.go_back();
    browser.wait_for_text("[data-state=live]", "Live");
    eventually("it follows them again", || streams(1));
    stage.put("/v1/nodes/later", &json!({ "max_jobs": 1 }));
    browser.wait_for_text(".events li", "later is online");
}
