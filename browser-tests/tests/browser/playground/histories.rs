//! What is seen at once, and that it is true.

use super::{OURS, THEIRS, audit, choose, open, score, tenths, wait_for_score};
use crate::support::{Browser, Stage, Theme};

#[test]
fn something_moves_at_once_and_the_seed_oversells_while_lockless_does_not() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    open(&browser, &stage, "");
    let begin = tenths(&browser);
    browser.until("the clock goes", || {
        (tenths(&browser) > begin).then_some(())
    });
    wait_for_score(&browser, "ran without a slot", THEIRS, 5);
    browser.until("it is said over the fleet", || {
        let oversold = browser.seen("[data-side='1'] [data-verdict=oversold].bad strong")?;
        (oversold != "0").then_some(())
    });
    assert_eq!(score(&browser, "ran without a slot", OURS), 0);
    assert_eq!(
        browser.wait_for("[data-side='0'] [data-verdict=oversold] strong"),
        "0"
    );
    browser.wait_for_text("#story", "job; it has 4 slots");
}

#[test]
fn a_thousand_jobs_are_placed_and_the_audit_is_clean() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    open(&browser, &stage, "#retries");
    choose(&browser, "#speed", "20");
    wait_for_score(&browser, "Jobs placed", OURS, 1000);
    assert!(audit(&browser).starts_with("Sound at"));
    assert_eq!(score(&browser, "ran without a slot", OURS), 0);
    assert!(score(&browser, "ran without a slot", THEIRS) > 0);
    assert!(score(&browser, "Placed twice", THEIRS) > 0);
}

#[test]
fn every_preset_that_says_so_shows_it() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    // At rest a scenario is shown as it is after twelve seconds: the same each time.
    browser.set_theme(Theme::Light);
    for (id, title) in [
        ("rush-hour", "ran without a slot"),
        ("retries", "ran without a slot"),
        ("rolling-restart", "ran without a slot"),
        ("node-dies", "no caller was told"),
    ] {
        open(&browser, &stage, &format!("#{id}"));
        browser.until("twelve seconds have passed", || {
            (tenths(&browser) == 120).then_some(())
        });
        for _ in 0..8 {
            browser.click("#skip");
        }
        browser.until("twenty seconds have passed", || {
            (tenths(&browser) == 200).then_some(())
        });
        assert!(score(&browser, title, THEIRS) > 0, "{id}");
        assert_eq!(score(&browser, "ran without a slot", OURS), 0, "{id}");
    }
}

#[test]
fn a_link_tells_the_same_history_again() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    browser.set_theme(Theme::Light);
    open(&browser, &stage, "#rush-hour.77");
    let counts = |browser: &Browser| {
        browser.until("the clock stands", || {
            (tenths(browser) == 120).then_some(())
        });
        ["Jobs placed", "Jobs refused", "Jobs finished"]
            .map(|row| (score(browser, row, OURS), score(browser, row, THEIRS)))
    };
    let first = counts(&browser);
    choose(&browser, "#node", "general-05");
    browser.click("[data-fault=kill]");
    browser.wait_for_text("#story", "general-05 dies");
    for _ in 0..3 {
        browser.click("#skip");
    }
    browser.until("three seconds more", || {
        (tenths(&browser) >= 150).then_some(())
    });
    let with_kill = (
        score(&browser, "Jobs lost", OURS),
        score(&browser, "Jobs placed", OURS),
    );
    assert!(with_kill.0 > 0);
    let link = super::copied(&browser, "#share");
    let (_, hash) = link.split_once('#').unwrap();

    open(&browser, &stage, "#rush-hour.77");
    assert_eq!(counts(&browser), first, "the same seed");
    open(&browser, &stage, "#rush-hour.78");
    assert_ne!(counts(&browser), first, "another seed");
    open(&browser, &stage, &format!("#{hash}"));
    assert_eq!(counts(&browser), first, "what was done by hand comes later");
    for _ in 0..3 {
        browser.click("#skip");
    }
    browser.until("three seconds more", || {
        (tenths(&browser) >= 150).then_some(())
    });
    browser.wait_for_text("#story", "general-05 dies");
    assert_eq!(
        (
            score(&browser, "Jobs lost", OURS),
            score(&browser, "Jobs placed", OURS)
        ),
        with_kill
    );
}

#[test]
fn a_browser_without_webassembly_is_told_so() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    let script = serde_json::json!({ "source": "delete globalThis.WebAssembly" });
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", &script);
    browser.open(&stage, "/playground");
    browser.wait_for_text("#failure", "no WebAssembly");
}
