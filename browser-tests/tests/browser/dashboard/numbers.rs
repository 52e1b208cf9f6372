//! That it shows what the API says.

use serde_json::{Value, json};

use super::{a_busy_cell, furnish, snapshot};
use crate::support::{Browser, ENTER, Stage};

/// How a whole number is written.
fn whole(value: &Value) -> String {
    let digits = value.as_u64().unwrap().to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[test]
fn the_overview_has_the_numbers_of_the_snapshot() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.open(&stage, "/");
    let seen = snapshot(&stage, "everything is counted", |seen| {
        seen["nodes"]["total"] == 7
            && seen["jobs"]["failed"] == 1
            && seen["queues"][0]["pending"] == 3
    });
    for state in ["ready", "full", "busy", "draining", "offline"] {
        let expected = whole(&seen["nodes"][state]);
        browser.wait_for_text(&format!("[data-count={state}]"), &expected);
    }
    let tile = |title: &str| format!("section[aria-label='{title}']");
    browser.wait_for_text(
        &tile("Slots in use"),
        &format!("{} of {}", whole(&seen["used"]), whole(&seen["slots"])),
    );
    browser.wait_for_text(&tile("Failures"), "1 failed, 0 expired");
    browser.wait_for_text(&tile("Waiting"), "3\njobs");
    let placed =
        seen["jobs"]["dispatched"].as_u64().unwrap() + seen["jobs"]["started"].as_u64().unwrap();
    browser.wait_for_text(&tile("Placements"), &format!("{placed} in all"));
    for pool in seen["pools"].as_array().unwrap() {
        let row = format!("tr[data-key={}]", pool["pool"]);
        browser.wait_for_text(
            &row,
            &format!("{} / {}", whole(&pool["used"]), whole(&pool["slots"])),
        );
    }
    browser.wait_for_text("section[aria-labelledby=panel-queues] tbody", "a100");
    browser.wait_for_text("[data-mode=NORMAL]", "1");
}

#[test]
fn what_happens_is_shown_as_it_happens() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.open(&stage, "/");
    browser.wait_for_text(".events", "fails failed on gpu-1: model ran out of memory");
    browser.wait_for_text("[data-state=live]", "Live");
    stage.post("/v1/nodes/worker-2/drain", &json!({ "drain": "on" }));
    browser.wait_for_text(".events li", "worker-2 drains");
    browser.wait_for_text("[data-count=draining]", "2");
    stage.put("/v1/nodes/newcomer", &json!({ "max_jobs": 2 }));
    browser.wait_for_text(".events li", "newcomer is online");
    browser.wait_for_text("section[aria-labelledby=panel-nodes] header", "8 in all");
}

#[test]
fn a_gateway_without_a_redis_shows_the_same() {
    let stage = Stage::embedded();
    furnish(&stage);
    let browser = Browser::start();
    browser.open(&stage, "/");
    let seen = snapshot(&stage, "everything is counted", |seen| {
        seen["jobs"]["failed"] == 1
    });
    for state in ["ready", "full", "busy", "draining", "offline"] {
        browser.wait_for_text(
            &format!("[data-count={state}]"),
            &whole(&seen["nodes"][state]),
        );
    }
    browser.wait_for_text("#foot", "embedded in the gateway");
    browser.wait_for_text("[data-state=live]", "Live");
    stage.post("/v1/nodes/worker-1/drain", &json!({ "drain": "on" }));
    browser.wait_for_text(".events li", "worker-1 drains");
}

#[test]
fn the_course_of_the_last_minutes_is_there_from_the_start() {
    let stage = a_busy_cell();
    let history = snapshot(&stage, "there are three rows", |seen| {
        seen["history"]["rows"]
            .as_array()
            .is_some_and(|rows| rows.len() >= 3)
    });
    assert_eq!(history["history"]["columns"][0], "ts");
    let browser = Browser::start();
    browser.open(&stage, "/");
    let path = || {
        browser.script(
            "return document.querySelector('.chart.ready .line')?.getAttribute('d') ?? ''",
            &[],
        )
    };
    let line = browser.until("a line is drawn", || {
        path()
            .as_str()
            .map(str::to_owned)
            .filter(|d| d.contains('L'))
    });
    assert!(line.starts_with('M'), "{line}");
    let said = browser.script(
        "return document.querySelector('.chart.ready').getAttribute('aria-label')",
        &[],
    );
    assert!(said.as_str().unwrap().contains("now "), "{said}");
}

#[test]
fn a_cell_without_nodes_says_how_to_begin() {
    let stage = Stage::start(&["--cell", "scheduler:{main}", "--cell", "tenant:{a}"]);
    stage.put("/v1/nodes/only", &json!({ "max_jobs": 2 }));
    let browser = Browser::start();
    browser.open(&stage, "/#/?cell=tenant%3A%7Ba%7D");
    browser.wait_for_text("main", "This cell has no nodes yet");
    browser.script(
        "const choice = document.getElementById('cell-name'); choice.value = 'scheduler:{main}'; choice.dispatchEvent(new Event('change'))",
        &[],
    );
    browser.wait_for_text("[data-count=ready]", "1");
    browser.click(".states a");
    browser.wait_for_text(".list", "only");
    // The cell that was chosen stays chosen from view to view.
    let hash = browser.script("return decodeURIComponent(location.hash)", &[]);
    assert!(
        hash.as_str().unwrap().contains("cell=scheduler:{main}"),
        "{hash}"
    );
}

#[test]
fn a_cell_of_a_pattern_is_typed() {
    let stage = Stage::start(&["--cell", "scheduler:{main}", "--cell", "tenant:{*}"]);
    let browser = Browser::start();
    browser.open(&stage, "/");
    browser.wait_for_text("main", "This cell has no nodes yet");
    browser.fill("#cell-name", "tenant:{b}");
    browser.press(ENTER);
    let cell = "return decodeURIComponent(location.hash)";
    browser.until("the address names it", || {
        browser
            .script(cell, &[])
            .as_str()
            .filter(|hash| hash.contains("tenant:{b}"))
            .map(|_| ())
    });
    browser.wait_for_text("[data-state]", "Live");
    // One that is not served is said to be so.
    browser.allow_in_console("404");
    browser.fill("#cell-name", "other:{c}");
    browser.press(ENTER);
    browser.wait_for_text("#banner", "does not serve that cell");
}
