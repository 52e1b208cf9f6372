//! That it can be used by everyone: in both themes, on a phone, with a keyboard and with a screen reader.

use super::{a_busy_cell, snapshot};
use crate::support::{Browser, ENTER, ESCAPE, PHONE, Stage, Theme};

/// Every view, and what is there once it is drawn.
pub(super) const VIEWS: [(&str, &str); 9] = [
    ("/", ".tiles"),
    ("/#/nodes", ".list-body .list-row"),
    ("/#/nodes/gpu-1", ".slots"),
    ("/#/jobs?state=failed", "main tbody"),
    ("/#/jobs/fails", ".callout"),
    ("/#/sessions/caller-7", ".facts"),
    ("/#/deployments", "main tbody"),
    ("/#/explain?pool=speech&require=gpu", ".funnel"),
    ("/#/events", ".events"),
];

fn with_statistics() -> Stage {
    let stage = a_busy_cell();
    snapshot(&stage, "there is a snapshot", |_| true);
    stage
}

#[test]
fn no_view_has_a_serious_finding_of_axe() {
    let stage = with_statistics();
    let browser = Browser::start();
    for (path, drawn) in VIEWS {
        browser.set_theme(Theme::Light);
        browser.open(&stage, path);
        browser.wait_for(drawn);
        browser.assert_accessible();
        browser.set_theme(Theme::Dark);
        browser.assert_colours_accessible();
    }
    browser.open(&stage, "/#/nodes/gpu-1");
    browser.click(".view-head .action button");
    browser.wait_for("dialog");
    browser.assert_accessible();
}

#[test]
fn the_reference_has_no_serious_finding_of_axe() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    browser.set_theme(Theme::Light);
    browser.open(&stage, "/docs");
    browser.wait_for("main h1");
    browser.assert_accessible();
    browser.set_theme(Theme::Dark);
    browser.assert_colours_accessible();
}

#[test]
fn no_view_is_wider_than_a_phone() {
    let stage = with_statistics();
    let browser = Browser::start();
    browser.set_size(PHONE);
    for (path, drawn) in VIEWS {
        browser.open(&stage, path);
        browser.wait_for(drawn);
        browser.assert_no_sideways_scroll();
    }
}

#[test]
fn the_theme_is_the_systems_unless_it_is_chosen() {
    let stage = with_statistics();
    let browser = Browser::start();
    let paper = || {
        browser.script(
            "return getComputedStyle(document.body).backgroundColor",
            &[],
        )
    };
    browser.set_theme(Theme::Dark);
    browser.open(&stage, "/");
    let dark = paper();
    browser.set_theme(Theme::Light);
    let light = paper();
    assert_ne!(dark, light);
    browser.wait_for_text("[data-theme-switch]", "Auto");
    browser.click("[data-theme-switch]");
    browser.wait_for_text("[data-theme-switch]", "Light");
    browser.click("[data-theme-switch]");
    browser.wait_for_text("[data-theme-switch]", "Dark");
    assert_eq!(paper(), dark);
    browser.reload();
    browser.wait_for_text("[data-theme-switch]", "Dark");
    assert_eq!(paper(), dark, "the choice is kept");
}

#[test]
fn the_keyboard_is_enough() {
    let stage = with_statistics();
    let browser = Browser::start();
    browser.open(&stage, "/");
    browser.wait_for(".tiles");
    let focused = || {
        browser.script(
            "return document.activeElement.id || document.activeElement.textContent",
            &[],
        )
    };
    // The first key leads to a link past everything that is on every page.
    browser.press_tab();
    assert_eq!(focused(), "To the content");
    browser.press(ENTER);
    assert_eq!(focused(), "main");
    assert_eq!(
        browser.script("return location.hash", &[]),
        "",
        "the view is still the overview"
    );
    // Going to another view moves the focus to its heading, also when it is redrawn.
    browser.script(
        "document.querySelector('.tabs a:nth-child(2)').focus()",
        &[],
    );
    browser.press(ENTER);
    browser.wait_for(".list-body .list-row");
    assert_eq!(focused(), "Nodes");
    assert_eq!(
        browser.script("return document.title", &[]),
        "Nodes · Lockless"
    );
    // A field keeps its focus and its text while the page is redrawn under it.
    browser.fill("#filter", "gpu");
    browser.wait_for_text("main [role=status]", "2 nodes of 7");
    assert_eq!(focused(), "filter");
    browser.press("-1");
    browser.wait_for_text("main [role=status]", "1 node of 7");
    browser.press_tab();
    assert_eq!(focused(), "pool");
    // A dialog takes the focus, and Escape is a no.
    browser.open(&stage, "/#/nodes/gpu-1");
    browser.wait_for(".slots");
    browser.script("document.querySelector('.action button').focus()", &[]);
    browser.press(ENTER);
    browser.wait_for("dialog");
    browser.press(ESCAPE);
    browser.until("the dialog is gone", || {
        browser.seen("dialog").is_none().then_some(())
    });
    assert_eq!(focused(), "Drain");
    assert_eq!(stage.get("/v1/nodes/gpu-1")["draining"], false);
}
