//! What a reader can do: drain a node, put it back, cancel and retry a job, find things.

use serde_json::json;

use super::a_busy_cell;
use crate::support::{Browser, ENTER, eventually};

const DRAIN: &str = ".view-head .action button";

#[test]
fn a_drain_click_drains_and_says_so() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.open(&stage, "/#/nodes/worker-1");
    browser.wait_for_text(DRAIN, "Drain");
    browser.click(DRAIN);
    browser.wait_for_text("dialog", "Drain worker-1?");
    assert_eq!(
        stage.get("/v1/nodes/worker-1")["state"],
        "ready",
        "nothing is done before it is confirmed"
    );
    browser.click("dialog button[value=no]");
    browser.until("the dialog is gone", || {
        browser.seen("dialog").is_none().then_some(())
    });
    assert_eq!(stage.get("/v1/nodes/worker-1")["state"], "ready");
    browser.click(DRAIN);
    browser.click("dialog button[value=yes]");
    browser.wait_for_text(".outcome", "worker-1 drains: it takes no new work");
    assert_eq!(stage.get("/v1/nodes/worker-1")["state"], "draining");
    browser.wait_for_text(".view-head .badge", "draining");
    browser.wait_for_text(DRAIN, "Give it work again");
    browser.click(DRAIN);
    browser.click("dialog button[value=yes]");
    browser.wait_for_text(".outcome", "worker-1 takes work again");
    assert_eq!(stage.get("/v1/nodes/worker-1")["state"], "ready");
}

#[test]
fn a_drain_that_is_refused_is_said_to_be_so() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.open(&stage, "/#/nodes/worker-1");
    browser.click(DRAIN);
    browser.wait_for("dialog");
    // The node is there and its page can be read: nothing but the call itself can tell.
    browser.script(
        "const send = window.fetch; \
         window.fetch = (path, options) => options.method !== 'POST' ? send(path, options) \
           : Promise.resolve(new Response('{\"code\":\"CELL_MOVING\",\"detail\":\"the cell moves\"}', { status: 503 }));",
        &[],
    );
    browser.click("dialog button[value=yes]");
    browser.wait_for_text(".outcome.bad", "It was not done: the cell moves.");
    assert_eq!(stage.get("/v1/nodes/worker-1")["state"], "ready");
}

#[test]
fn a_job_is_cancelled_by_whoever_means_it() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.open(&stage, "/#/jobs/queued-1");
    browser.wait_for_text(".view-head .badge", "pending");
    browser.click(".view-head > button");
    browser.click("dialog button[value=yes]");
    browser.wait_for_text(".view-head .badge", "cancelled");
    assert_eq!(stage.get("/v1/jobs/queued-1")["status"], "cancelled");
}

#[test]
fn a_failed_job_from_the_queue_is_tried_again() {
    let stage = a_busy_cell();
    stage.post(
        "/v1/queue",
        &json!({ "job": "again", "payload": 1, "pool": "general", "retries": 0 }),
    );
    stage.post("/v1/nodes/worker-2/pull", &json!({}));
    stage.post(
        "/v1/jobs/again/complete",
        &json!({ "node": "worker-2", "status": "failed", "reason": "exit code 1" }),
    );
    let browser = Browser::start();
    browser.open(&stage, "/#/jobs/again");
    browser.wait_for_text(".callout", "exit code 1");
    browser.click(".view-head > button");
    browser.click("dialog button[value=yes]");
    browser.wait_for_text(".view-head .badge", "pending");
    eventually("it waits again", || {
        stage.get("/v1/jobs/again")["status"] == "pending"
    });
}

#[test]
fn anything_is_found_by_its_id() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    for (id, place) in [
        ("gpu-1", "#/nodes/gpu-1"),
        ("fails", "#/jobs/fails"),
        ("caller-7", "#/sessions/caller-7"),
    ] {
        browser.open(&stage, "/");
        browser.fill("#search", id);
        browser.press(ENTER);
        browser.wait_for_text("main h1", id);
        let hash = browser.script("return location.hash", &[]);
        assert_eq!(hash, place);
    }
    browser.open(&stage, "/");
    browser.fill("#search", "nobody");
    browser.press(ENTER);
    browser.wait_for_text(
        ".search [role=alert]",
        "No node, job or session has the id nobody",
    );
}
