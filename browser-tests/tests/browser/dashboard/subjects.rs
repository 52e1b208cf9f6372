//! The pages of one node, one job, one session, and the lists.

use serde_json::json;

use super::a_busy_cell;
use crate::support::Browser;

#[test]
fn a_nodes_page_draws_its_slots_and_says_what_is_in_them() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.open(&stage, "/#/nodes/gpu-1");
    let node = stage.get("/v1/nodes/gpu-1");
    let effective = node["effective"].as_u64().unwrap();
    browser.wait_for_text(
        "section[aria-labelledby=panel-slots] header",
        &format!("{effective} of 8 in use"),
    );
    let drawn = |kind: &str| browser.texts(&format!(".slots .{kind}")).len();
    assert_eq!(drawn("slot"), 8, "a cell for each slot");
    assert_eq!(
        (
            drawn("running"),
            drawn("dispatched"),
            drawn("seat"),
            drawn("foreign")
        ),
        (1, 1, 1, 2)
    );
    assert_eq!(drawn("free"), 3);
    browser.wait_for_text("section[aria-labelledby=panel-in-its-slots]", "caller-7");
    let resources = browser.wait_for("section[aria-labelledby=panel-resources]");
    for part in ["35 %", "52 % 33,500 MB", "61 %"] {
        assert!(resources.contains(part), "{part} in {resources}");
    }
    let description = browser.wait_for("section[aria-labelledby=panel-description]");
    for part in ["speech", "en → zh", "model:whisper-3", "eu-west"] {
        assert!(description.contains(part), "{part} in {description}");
    }
    // A slot leads to its job.
    browser.click(".slots .running");
    browser.wait_for_text("main h1", "runs");
}

#[test]
fn a_jobs_page_tells_its_life_and_why_it_failed() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.open(&stage, "/#/jobs/fails");
    browser.wait_for_text(".callout", "It failed: model ran out of memory");
    let life = browser.wait_for(".life");
    for part in ["ran ", "Created", "Started", "Ended: failed"] {
        assert!(life.contains(part), "{part} in {life}");
    }
    browser.wait_for_text(".events", "fails failed on gpu-1");
    browser.wait_for_text("section[aria-labelledby=panel-description]", "user-1");
    browser.go("#/jobs/finishes");
    browser.wait_for_text("section[aria-labelledby=panel-result] pre", "你好");
    browser.go("#/jobs/runs");
    browser.wait_for_text(
        "section[aria-labelledby=panel-payload] pre",
        "hello from runs",
    );
    browser.wait_for_text(".life", "Must end within");
    // What becomes of it is seen without a reload.
    stage.post(
        "/v1/jobs/runs/complete",
        &json!({ "node": "gpu-1", "status": "failed", "reason": "exit code 3" }),
    );
    browser.wait_for_text(".callout", "It failed: exit code 3");
}

#[test]
fn a_jobs_page_has_every_step_where_they_are_kept() {
    let stage = a_busy_cell();
    stage.send("PATCH", "/v1/config", Some(&json!({ "events": "all" })));
    stage.post(
        "/v1/jobs",
        &json!({ "session": "s", "payload": 1, "job": "told", "pool": "general" }),
    );
    let node = stage.get("/v1/jobs/told")["node_id"]
        .as_str()
        .unwrap()
        .to_owned();
    stage.post(
        "/v1/jobs/told/complete",
        &json!({ "node": node, "status": "finished" }),
    );
    let browser = Browser::start();
    browser.open(&stage, "/#/jobs/told");
    let told = browser.wait_for(".events");
    assert!(
        told.contains("told finished") && told.contains("told was placed"),
        "{told}"
    );
}

#[test]
fn text_in_ids_and_payloads_is_text() {
    let stage = a_busy_cell();
    let nasty = "<img/src=x/onerror=alert(1)>";
    stage.put(
        &format!(
            "/v1/nodes/{}",
            nasty
                .replace('/', "%2F")
                .replace('<', "%3C")
                .replace('>', "%3E")
        ),
        &json!({ "pools": [nasty], "labels": [nasty] }),
    );
    stage.post(
        "/v1/jobs",
        &json!({ "session": "s", "pool": nasty, "payload": nasty, "job": "a/b?c#d%20" }),
    );
    let browser = Browser::start();
    browser.open(&stage, "/");
    browser.wait_for_text("section[aria-labelledby=panel-pools]", nasty);
    browser.go("#/nodes");
    browser.wait_for_text(".list", nasty);
    assert_eq!(
        browser.script("return document.querySelectorAll('main img').length", &[]),
        0
    );
    browser.open(&stage, &format!("/#/jobs/{}", "a%2Fb%3Fc%23d%2520"));
    browser.wait_for_text("main h1", "a/b?c#d%20");
    browser.wait_for_text("section[aria-labelledby=panel-payload] pre", nasty);
    browser.click("section[aria-labelledby=panel-description] a");
    browser.wait_for_text("main h1", nasty);
}

#[test]
fn a_session_says_what_binds_it() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.open(&stage, "/#/sessions/caller-7");
    browser.wait_for_text(".view-head .badge", "bound");
    let lease = stage.get("/v1/sessions/caller-7")["lease_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let said = browser.wait_for(".facts");
    assert!(said.contains("gpu-1") && said.contains(&lease), "{said}");
}

#[test]
fn jobs_are_listed_by_state() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    for (state, ids) in [
        ("running", "runs"),
        ("dispatched", "given"),
        ("failed", "fails"),
        ("pending", "queued-2"),
    ] {
        browser.open(&stage, &format!("/#/jobs?state={state}"));
        browser.wait_for_text("main tbody", ids);
    }
    browser.go("#/jobs?state=expired");
    browser.wait_for_text("main .empty", "No job is expired");
}

#[test]
fn deployments_say_who_has_them() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.open(&stage, "/#/deployments");
    browser.wait_for_text("tr[data-key=web]", "nobody");
    stage.post("/v1/nodes/worker-1/claim", &json!({}));
    browser.wait_for_text("tr[data-key=web]", "worker-1");
}
