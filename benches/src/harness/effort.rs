//! How much a run measures.

use std::time::Duration;

use crate::rounds::Pace;

/// A little less than the three minutes that a quick run may take.
const QUICK_TIME: Duration = Duration::from_secs(150);

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

    /// No group and no peer begins after this time; what is under way then has some seconds to end.
    pub fn time_in_all(self) -> Option<Duration> {
        self.pick(None, Some(QUICK_TIME), None)
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
        self.pick(1, 2, 7)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.pick("smoke", "quick", "full")
    }
}
