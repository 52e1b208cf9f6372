//! The node side of Lockless: a program that registers a node, heartbeats, runs and stops jobs and deployments, and samples the
//! machine.
//!
//! Every one runs behind a guardian process of its own ([`guard`]), so that nothing of it can outlive it. The cell is
//! spoken to directly or by a gateway ([`cell`]), with the same calls.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "lockless-agent needs Linux: it finds and ends processes by /proc and as a subreaper"
);

pub mod agent;
pub mod allow;
pub mod books;
pub mod cell;
mod complaints;
pub mod deployments;
pub mod guard;
pub mod guarded;
pub mod handings;
mod job;
mod leftovers;
pub mod life;
pub mod logfile;
mod loops;
pub mod node;
mod order;
pub mod outcome;
pub mod output;
pub mod pace;
pub mod payload;
mod report;
pub mod sample;
pub mod settings;
pub mod state;
mod variables;
