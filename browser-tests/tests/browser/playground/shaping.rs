//! Shaping the fleet and the load.

use serde_json::json;

use super::{OURS, THEIRS, choose, open, score, wait_for_score};
use crate::support::{Browser, Stage};

#[test]
fn nodes_can_be_added_and_removed_while_it_runs() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    open(&browser, &stage, "#rush-hour");
    wait_for_score(&browser, "Jobs placed", OURS, 20);
    browser.wait_for_text("[data-side='0'] [data-use]", "96 slots");
    choose(&browser, "#kind", "2");
    browser.click("#add");
    browser.wait_for_text("[data-side='0'] [data-use]", "128 slots");
    choose(&browser, "#node", "large-02");
    browser.until("they take work", || {
        let text = browser.seen("#node-says")?;
        (text.contains("large-02") && !text.contains("Lockless: 0 run")).then_some(())
    });
    browser.click("#groups .group:nth-child(3) [data-remove]");
    browser.wait_for_text("[data-side='0'] [data-use]", "96 slots");
    choose(&browser, "#groups .group:nth-child(1) [name=slots]", "2");
    browser.wait_for_text("[data-side='0'] [data-use]", "64 slots");
    assert_eq!(score(&browser, "ran without a slot", OURS), 0);
}

#[test]
fn the_load_can_be_turned_up_and_the_seed_left_out() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    open(&browser, &stage, "#calm-day");
    assert_eq!(
        browser.wait_for("#offered"),
        "The load keeps 31 % of all slots busy."
    );
    choose(&browser, "#load [name=rate]", "45");
    browser.wait_for_text("#offered", "316 %");
    choose(&browser, "#speed", "5");
    wait_for_score(&browser, "Jobs refused", OURS, 50);
    browser.click("#settings [name=compare]");
    browser.until("it is gone", || {
        browser.seen("[data-side='1']").is_none().then_some(())
    });
    browser.until("Lockless runs alone", || {
        let text = browser.texts("#scores tr:first-child td");
        (text == ["0", "–"]).then_some(())
    });
    wait_for_score(&browser, "Jobs refused", OURS, 50);
    browser.click("#settings [name=compare]");
    wait_for_score(&browser, "Jobs placed", THEIRS, 10);
}

#[test]
fn two_hundred_nodes_and_five_hundred_jobs_a_second_are_drawn_smoothly() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    let scenario = r#"{"seed":1,"fleet":[{"name":"a","count":100,"slots":8,"pool":"a","pairs":["en>zh"]},{"name":"b","count":100,"slots":8,"pool":"b","pairs":["zh>en"]}],"load":{"rate":500,"seconds":3,"pairs":["en>zh","zh>en"],"sessions":1000}}"#;
    let hash = data_encoding::BASE64URL_NOPAD.encode(scenario.as_bytes());
    open(&browser, &stage, &format!("#s={hash}"));
    wait_for_score(&browser, "Jobs placed", OURS, 500);
    // What the page's thread computes for a frame, not how long that takes: others use this machine too.
    let ticks = json!({ "timeDomain": "threadTicks" });
    browser.devtools("Performance.enable", &ticks);
    let before = busy_ms(&browser);
    let frames = 60;
    browser.later(&format!(
        "let frames = {frames}; const frame = () => {{ frames -= 1; if (frames > 0) requestAnimationFrame(frame); else done(); }}; \
         requestAnimationFrame(frame)"
    ));
    let per_frame_ms = (busy_ms(&browser) - before) / f64::from(frames);
    assert!(per_frame_ms < 14.0, "a frame takes {per_frame_ms} ms");
    assert!(per_frame_ms > 0.1, "nothing was drawn");
    assert_eq!(score(&browser, "ran without a slot", OURS), 0);
}

/// What the page's thread has computed so far.
fn busy_ms(browser: &Browser) -> f64 {
    let measured = browser.devtools("Performance.getMetrics", &json!({}));
    let metrics = measured["metrics"].as_array().unwrap();
    let busy = metrics
        .iter()
        .find(|metric| metric["name"] == "TaskDuration");
    busy.unwrap()["value"].as_f64().unwrap() * 1000.0
}
