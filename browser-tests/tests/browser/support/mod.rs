//! A browser, a gateway with a Redis of its own, and what tests ask of a page.
#![allow(dead_code, reason = "every test file uses its own part")]

mod audit;
mod browser;
mod commands;
mod looks;
mod page;
mod programs;
mod stage;

pub(crate) use browser::Browser;
pub(crate) use looks::{DESKTOP, PHONE, Theme};
pub(crate) use page::{ENTER, ESCAPE};
#[allow(unused_imports, reason = "as above")]
pub(crate) use stage::{Stage, eventually};

use std::time::Duration;

/// Far more than anything here takes, on a machine that is busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Until a condition is looked at again.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(25);
