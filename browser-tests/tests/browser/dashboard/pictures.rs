//! The pictures of docs/dashboard.md. Without a place for them the views are only visited.

use std::time::Duration;

use super::picture_fleet;
use crate::support::{Browser, PHONE, Stage, Theme};

/// The charts of a picture show so much.
const LOADED_FOR: Duration = Duration::from_secs(150);

#[test]
fn pictures_of_the_dashboard() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    let time = if browser.wants_pictures() {
        LOADED_FOR
    } else {
        Duration::ZERO
    };
    picture_fleet::load(&stage, time);
    browser.set_theme(Theme::Light);
    browser.set_size((1280, 860));
    for (name, path, drawn) in [
        ("dashboard", "/", ".tiles .line"),
        (
            "dashboard-nodes",
            "/#/nodes?sort=load",
            ".list-body .list-row",
        ),
        ("dashboard-node", "/#/nodes/studio-9", ".slots"),
        ("dashboard-job", "/#/jobs/transcribe-481", ".callout"),
        (
            "dashboard-why",
            "/#/explain?pool=studio&src=en&tgt=zh&require=gpu&region=eu-west",
            ".funnel",
        ),
    ] {
        browser.open(&stage, path);
        browser.wait_for_text("[data-state=live]", "Live");
        browser.wait_for(drawn);
        browser.picture(name);
    }
    browser.set_theme(Theme::Dark);
    for (name, size) in [("dashboard-dark", (1280, 860)), ("dashboard-phone", PHONE)] {
        browser.set_size(size);
        browser.open(&stage, "/");
        browser.wait_for(".tiles .line");
        browser.picture(name);
    }
}
