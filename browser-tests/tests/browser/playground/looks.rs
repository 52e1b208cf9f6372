//! That it can be used by everyone: in both themes, on a phone, with a keyboard and with a screen reader.

use super::{OURS, THEIRS, open, tenths, wait_for_score};
use crate::support::{Browser, DESKTOP, PHONE, Stage, Theme};

#[test]
fn there_is_no_serious_finding_of_axe_in_either_theme() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    for theme in [Theme::Light, Theme::Dark] {
        browser.set_theme(theme);
        open(&browser, &stage, "#rush-hour");
        wait_for_score(&browser, "ran without a slot", THEIRS, 1);
        for details in ["#nodes-table", "#seed-source"] {
            browser.click(&format!("{details} summary"));
        }
        browser.wait_for_text("#source", "seed_dispatch_counted");
        browser.wait_for_text("#nodes", "general-01");
        browser.script("document.querySelector('#calls').scrollIntoView()", &[]);
        browser.wait_for("#calls li .line");
        browser.assert_accessible();
    }
}

#[test]
fn a_page_that_stands_still_says_everything_however_young_it_is() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    browser.set_theme(Theme::Light);
    browser.slow_down_the_clock();
    open(&browser, &stage, "#rush-hour");
    wait_for_score(&browser, "ran without a slot", THEIRS, 1);
    browser.click("#nodes-table summary");
    browser.wait_for_text("#nodes", "general-01");
    browser.until("the drawing is described", || {
        let script = "return document.querySelector('canvas').ariaLabel";
        let label = browser.script(script, &[]);
        label.as_str()?.contains("slots").then_some(())
    });
}

#[test]
fn who_wants_less_motion_starts_the_clock_by_hand() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    // This also asks for less motion.
    browser.set_theme(Theme::Light);
    open(&browser, &stage, "");
    assert_eq!(browser.wait_for("#play"), "Play");
    browser.until("a moment is shown", || {
        (tenths(&browser) == 120).then_some(())
    });
    wait_for_score(&browser, "Jobs placed", OURS, 1);
    browser.click("#play");
    browser.until("it goes", || (tenths(&browser) > 125).then_some(()));
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    browser.set_size(PHONE);
    for theme in [Theme::Light, Theme::Dark] {
        browser.set_theme(theme);
        open(&browser, &stage, "#stalled-nodes");
        wait_for_score(&browser, "Jobs placed", OURS, 1);
        browser.script("document.querySelector('#calls').scrollIntoView()", &[]);
        browser.wait_for("#calls li .line");
        browser.assert_no_sideways_scroll();
        browser.assert_accessible();
    }
}

#[test]
fn pictures_are_taken_for_the_documents() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    let mut taken = 0;
    for (theme, size, name) in [
        (Theme::Light, DESKTOP, "playground"),
        (Theme::Dark, DESKTOP, "playground-dark"),
        (Theme::Light, PHONE, "playground-phone"),
    ] {
        browser.set_size(size);
        browser.set_theme(theme);
        open(&browser, &stage, "#rush-hour");
        browser.until("twelve seconds have passed", || {
            (tenths(&browser) == 120).then_some(())
        });
        wait_for_score(&browser, "Oversold slots, now", THEIRS, 1);
        browser.picture(name);
        taken += 1;
    }
    assert_eq!(taken, 3);
}
