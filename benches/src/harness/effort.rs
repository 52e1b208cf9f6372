//! How much a run measures.

use std::time::Duration;

use crate::rounds::Pace;

/// How much a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Everything once, to see that it works. The figures mean nothing.
    Smoke,
    /// All groups in less than three minutes.
    Quick,
    /// What is committed.
    Full,
}

impl Effort {
    /// One of three, by effort.
    pub fn pick<T>(self, smoke: T, quick: T, full: T) -> T {
        match self {
            Effort::Smoke => smoke,
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }

    /// How a comparison is repeated.
    pub fn pace(self) -> Pace {
        Pace {
            rounds: self.pick(2, 61, 401),
            rounds_min: self.rounds_min(),
            budget: Duration::from_millis(self.pick(500, 2_500, 20_000)),
        }
    }

    /// Rounds that are measured whatever they take: with fewer than seven, quartiles say little.
    pub fn rounds_min(self) -> usize {
        self.pick(1, 3, 7)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.pick("smoke", "quick", "full")
    }
}
