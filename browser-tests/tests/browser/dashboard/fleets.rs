//! Thousands of nodes.

use serde_json::{Value, json};

use super::{lasting, node};
use crate::support::{Browser, PHONE, Stage, eventually};

const NODES: usize = 5000;

fn a_large_fleet() -> Stage {
    let stage = Stage::start(&[]);
    lasting(&stage);
    let pool = |i: usize| ["general", "speech", "vision"][i % 3];
    let nodes: Vec<(&str, Value)> = (0..NODES)
        .map(|i| {
            node(
                &format!("node-{i:04}"),
                &json!({ "max_jobs": 8, "pools": [pool(i)] }),
            )
        })
        .collect();
    stage.batch(&nodes);
    let jobs: Vec<(&str, Value)> = (0..NODES)
        .map(|i| ("lockless_dispatch", json!({ "session": format!("s{i}"), "payload": 1, "job": format!("j{i}"), "pool": pool(i * 7) })))
        .collect();
    stage.batch(&jobs);
    stage.batch(&[(
        "lockless_drain",
        json!({ "node": "node-4999", "drain": "on" }),
    )]);
    stage
}

/// The most rows that exist at the same time while the list is scrolled from its beginning to its end.
fn most_rows_while_scrolling(browser: &Browser) -> u64 {
    let script = "const done = arguments[0]; let most = 0, frames = 0; const step = () => { \
         most = Math.max(most, document.querySelectorAll('.list-body .list-row').length); frames += 1; \
         scrollTo(0, document.documentElement.scrollHeight * frames / 90); \
         if (frames < 90) requestAnimationFrame(step); else done(most); }; requestAnimationFrame(step);";
    browser.script_async(script).as_u64().unwrap()
}

#[test]
fn five_thousand_nodes_need_few_elements() {
    let stage = a_large_fleet();
    let browser = Browser::start();
    browser.open(&stage, "/");
    browser.wait_for_text("[data-count=ready]", "4,999");
    let said = browser.script(
        "return document.querySelector('.map').getAttribute('aria-label')",
        &[],
    );
    assert_eq!(
        said,
        "5000 nodes: 4999 ready, 1 draining".replace("5000", "5,000")
    );
    let elements = browser.script("return document.querySelectorAll('*').length", &[]);
    assert!(
        elements.as_u64().unwrap() < 1500,
        "the overview has {elements} elements"
    );

    browser.go("#/nodes");
    browser.wait_for_text(".list", "node-0000");
    browser.wait_for_text("main [role=status]", "5,000 nodes");
    let rows = browser.texts(".list-body .list-row").len();
    assert!((10..100).contains(&rows), "{rows} rows exist");
    let count = browser.script(
        "return document.querySelector('.list').getAttribute('aria-rowcount')",
        &[],
    );
    assert_eq!(count, "5001");

    // What a frame costs is what is on the page, so that is bounded, wherever the list is.
    let rows = most_rows_while_scrolling(&browser);
    assert!((10..100).contains(&rows), "{rows} rows existed at once");
    browser.script("scrollTo(0, document.documentElement.scrollHeight)", &[]);
    browser.wait_for_text(".list", "node-4999");
    let row = "[...document.querySelectorAll('.list-row')].find((row) => row.innerText.includes('node-4999'))";
    assert_eq!(
        browser.script(&format!("return {row}.getAttribute('aria-rowindex')"), &[]),
        "5001"
    );

    browser.fill("#filter", "node-12 speech");
    browser.wait_for_text("main [role=status]", "33 nodes of 5,000");
    browser.fill("#filter", "");
    browser.click(".toggle:nth-child(4)");
    browser.wait_for_text("main [role=status]", "1 node of 5,000");
    browser.wait_for_text(".list", "node-4999");
    browser.assert_accessible();
    browser.set_size(PHONE);
    browser.assert_no_sideways_scroll();
}

#[test]
fn the_list_follows_what_happens() {
    let stage = a_large_fleet();
    let browser = Browser::start();
    browser.open(&stage, "/#/nodes?q=node-0042");
    browser.wait_for_text(".list-body", "ready");
    stage.post("/v1/nodes/node-0042/drain", &json!({ "drain": "on" }));
    browser.wait_for_text(".list-body", "draining");
    eventually("the load is the API's", || {
        let node = stage.get("/v1/nodes/node-0042");
        let load = format!("{} / {}", node["effective"], node["max_jobs"]);
        browser
            .texts(".list-body .list-row")
            .join(" ")
            .contains(&load)
    });
}
