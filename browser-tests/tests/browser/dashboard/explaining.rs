//! "Why is it not placed?"

use super::a_busy_cell;
use crate::support::Browser;

#[test]
fn it_says_who_would_be_chosen() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.open(&stage, "/#/explain");
    browser.fill("#f-pool", "general");
    browser.fill("#f-src", "en");
    browser.fill("#f-tgt", "zh");
    browser.click("form[aria-label='What is asked for'] button");
    let answer = stage.get("/v1/explain?session=explain&src=en&tgt=zh&pool=general");
    browser.wait_for_text(
        ".callout.good",
        &format!(
            "It would be placed on {}",
            answer["node_id"].as_str().unwrap()
        ),
    );
    browser.wait_for_text(".funnel", &format!("{} considered", answer["considered"]));
    browser.wait_for_text(
        "[data-reason=draining]",
        &format!("{} taking no new work", answer["draining"]),
    );
    browser.wait_for_text(
        "[data-reason=available]",
        &format!("{} can take it", answer["available"]),
    );
}

#[test]
fn it_says_why_nobody_is() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    // As a link from the queue asks.
    browser.open(&stage, "/");
    browser.click("section[aria-labelledby=panel-queues] tbody a");
    browser.wait_for_text(".callout.bad", "Nobody can take it now");
    browser.open(&stage, "/#/explain?pool=speech&require=gpu,a100");
    browser.wait_for_text(".callout.bad", "Of 2 nodes, every one is out");
    browser.wait_for_text("[data-reason=label]", "2 without a required label");
    browser.wait_for_text("[data-reason=label]", "0 left");
    // A node that is too busy, and one that is full.
    browser.open(&stage, "/#/explain?pool=narrow");
    browser.wait_for_text("[data-reason=capacity]", "1 without a free slot");
}

#[test]
fn a_bound_session_has_one_place_to_go() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.open(&stage, "/#/explain?session=caller-7&src=xx&tgt=yy");
    browser.wait_for_text(".callout.bad", "The session is bound to gpu-1");
}

#[test]
fn what_can_not_be_asked_is_said_in_words() {
    let stage = a_busy_cell();
    let browser = Browser::start();
    browser.allow_in_console("400");
    browser.open(&stage, "/#/explain?src=en");
    browser.wait_for_text("main [role=alert]", "src takes");
}
