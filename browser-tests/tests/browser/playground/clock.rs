//! The clock: pause, step, speed.

use super::{OURS, choose, open, score, tenths};
use crate::support::{Browser, Stage};

fn calls(browser: &Browser) -> String {
    browser
        .script(
            "return document.querySelector('#calls-count').textContent",
            &[],
        )
        .to_string()
}

#[test]
fn the_clock_can_be_paused_stepped_and_sped_up() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    open(&browser, &stage, "#calm-day");
    browser.until("jobs are placed", || {
        (score(&browser, "Jobs placed", OURS) > 3).then_some(())
    });

    browser.click("#play");
    assert_eq!(browser.wait_for("#play"), "Play");
    // A frame from before may still be on its way.
    browser.wait_for("#time[data-playing=false]");
    let stands = (tenths(&browser), calls(&browser));

    browser.click("#step");
    browser.until("a step makes a call", || {
        (calls(&browser) != stands.1).then_some(())
    });
    assert!(
        tenths(&browser) < stands.0 + 10,
        "and no more than a moment passes"
    );

    let before = tenths(&browser);
    browser.click("#skip");
    browser.until("a second passes", || {
        (tenths(&browser) >= before + 10).then_some(())
    });
    assert_eq!(tenths(&browser), before + 10);

    choose(&browser, "#speed", "20");
    assert_eq!(tenths(&browser), before + 10, "a speed is not a start");
    browser.click("#play");
    browser.until("it goes twenty times as fast, or as fast as it can", || {
        (tenths(&browser) > before + 200).then_some(())
    });
    assert_eq!(browser.wait_for("#play"), "Pause");
}

#[test]
fn the_space_bar_pauses() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    open(&browser, &stage, "");
    browser.script("document.querySelector('#main').focus()", &[]);
    browser.press(" ");
    browser.wait_for_text("#play", "Play");
    browser.press(" ");
    browser.wait_for_text("#play", "Pause");
}
