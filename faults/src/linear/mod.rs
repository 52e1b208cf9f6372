//! Linearizability: whatever callers do at the same time, each cell's replies are those of one call after the other.
//!
//! A [`scene`] makes short histories of random calls in which callers meet, [`record`] plays them on a real cell, some with connections
//! that are cut, and [`judge`] looks for an order that explains every reply, by a [`model`] of the contract. Histories that have none are
//! made smaller and told.

pub mod call;
mod callers;
mod controls;
mod drawn;
mod heard;
pub mod history;
pub mod judge;
pub mod known;
pub mod model;
pub mod names;
pub mod record;
mod run;
pub mod scene;
pub mod search;
mod sent;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::fault::Fault;

/// The run of histories, as the one fault of this kind.
pub const FAULTS: &[Fault] = &[Fault {
    name: "linearizability",
    summary: "callers at the same time, some of whose connections are cut, in short histories on a server and a Cluster.",
    control: "a scheduler of separate commands, and libraries with one mistake each.",
    quick_limit: Duration::from_secs(120),
    full_limit: Duration::from_secs(600),
    run: run::run,
}];
