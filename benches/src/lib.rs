//! What a call costs in the server, side by side with what it is compared with.
//!
//! Every figure is taken on a private server, in rounds: each round measures both sides one after the other, and what
//! counts is the median over the rounds, of each side and of the ratio. So a noisy machine spoils a round, not a figure.
//!
//! [`link`] talks to the server and reads its own account of time, [`cell`] prepares cells and runs batches of calls,
//! [`processes`] and [`http`] start and ask a gateway, [`rounds`] interleaves sides, [`targets`] and [`figures`] are what is measured, [`report`] prints it.

pub mod cell;
mod error;
pub mod figures;
pub mod http;
pub mod link;
pub mod native;
pub mod processes;
pub mod report;
pub mod rounds;
pub mod seed;
pub mod targets;

pub use error::{Error, failed};

/// How much a run measures.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds per comparison.
    pub rounds: usize,
    /// Calls per side and round: few, so that noise that comes and goes hits both sides alike, and few jobs are in
    /// flight.
    pub calls: usize,
    /// Nodes of the large cell.
    pub nodes: usize,
    /// Finished jobs in the cell that has many.
    pub finished: usize,
}

impl Effort {
    /// A run of a few minutes.
    pub const FULL: Effort = Effort {
        rounds: 201,
        calls: 100,
        nodes: 50_000,
        finished: 200_000,
    };

    /// A run of well under a minute. The large cell keeps its size, because a target names it.
    pub const QUICK: Effort = Effort {
        rounds: 41,
        calls: 100,
        nodes: 50_000,
        finished: 20_000,
    };
}
