//! Sides that are measured in turn, so that noise hits all of them alike.

use std::time::{Duration, Instant};

use crate::Error;
use crate::harness::interrupt;

/// Microseconds of server time, or instructions where the server counts those.
pub type Cost = f64;

/// Rounds that are measured whatever they take.
const ROUNDS_MIN: usize = 3;

/// How often a comparison is repeated.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Not more rounds than this.
    pub rounds: usize,
    /// No further round after this time, but for the first few.
    pub budget: Duration,
}

/// The values of each side, one per round.
#[derive(Clone, Debug)]
pub struct Measured(pub Vec<Vec<f64>>);

impl Measured {
    /// The values of one side.
    pub fn side(&self, side: usize) -> &[f64] {
        &self.0[side]
    }

    /// The value in the middle of one side.
    pub fn median(&self, side: usize) -> f64 {
        median(&self.0[side])
    }
}

/// The value in the middle; 0 without values.
pub fn median(values: &[f64]) -> f64 {
    crate::results::Spread::of(values).median
}

/// Measures every side in every round, beginning with another one each time; the first round warms up and is left out.
pub fn in_turn(
    pace: Pace,
    sides: usize,
    mut measure: impl FnMut(usize) -> Result<f64, Error>,
    mut watch: impl FnMut(usize),
) -> Result<Measured, Error> {
    let mut values = vec![Vec::with_capacity(pace.rounds); sides];
    let began = Instant::now();
    for round in 0..=pace.rounds {
        if round > ROUNDS_MIN && began.elapsed() > pace.budget {
            break;
        }
        watch(round);
        for step in 0..sides {
            interrupt::check()?;
            let side = (round + step) % sides;
            let value = measure(side)?;
            if round > 0 {
                values[side].push(value);
            }
        }
    }
    Ok(Measured(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_take_turns_and_the_first_round_is_left_out() {
        let pace = Pace {
            rounds: 2,
            budget: Duration::from_secs(60),
        };
        let mut order = Vec::new();
        let measured = in_turn(
            pace,
            2,
            |side| {
                order.push(side);
                Ok(order.len() as f64)
            },
            |_| {},
        )
        .unwrap();
        assert_eq!(order, [0, 1, 1, 0, 0, 1]);
        assert_eq!(measured.0, [[4.0, 5.0], [3.0, 6.0]]);
    }

    #[test]
    fn no_round_begins_after_the_budget_but_for_the_first_few() {
        let pace = Pace {
            rounds: 1000,
            budget: Duration::ZERO,
        };
        let measured = in_turn(pace, 1, |_| Ok(1.0), |_| {}).unwrap();
        assert_eq!(measured.side(0).len(), ROUNDS_MIN);
    }
}
