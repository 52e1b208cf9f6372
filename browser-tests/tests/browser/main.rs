//! The gateway's pages in a real browser: Debian's Chromium, headless, driven through WebDriver.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

mod dashboard;
mod playground;
