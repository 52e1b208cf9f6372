//! The bench: what Lockless costs, side by side with what it is compared with.
//!
//! [`harness`] runs named [`groups`] of measurements one after the other; [`results`] is what they give, as data, and [`report`] draws tables
//! and plots from it. [`rounds`] measures sides in turn: what counts is the median over the rounds, of each side and of the ratio, so a noisy
//! machine spoils a round, not a figure.
//!
//! [`link`] talks to a private server and reads its own account of time (or, with [`callgrind`], of instructions), [`cell`] prepares cells and
//! runs batches of calls, [`steps`] are the calls whose cost is measured, [`seed`] and [`native`] are what they are compared with.
//! [`processes`] and [`http`] start and ask a gateway, [`webdis`] is what it is compared with.

pub mod against;
pub mod callgrind;
pub mod calls_inside;
pub mod cell;
mod error;
pub mod groups;
pub mod harness;
pub mod http;
pub mod link;
pub mod load;
pub mod native;
pub mod peers;
pub mod processes;
pub mod report;
pub mod results;
pub mod rounds;
pub mod seed;
pub mod steps;
pub mod webdis;

pub use error::{Error, failed};
