//! Sides that are measured in turn, so that noise hits all of them alike.

use std::time::{Duration, Instant};

use crate::Error;
use crate::harness::interrupt;

/// Microseconds of server time, or instructions where the server counts those.
pub type Cost = f64;

/// How often a comparison is repeated.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Not more rounds than this.
    pub rounds: usize,
    /// So many, whatever they take.
    pub rounds_min: usize,
    /// No further round after this time.
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

/// Measures every side in every round; the first round warms up and is left out. The order is turned round in every other round and
/// begins elsewhere every two, so that no side always comes first, and none always after the same one.
pub fn in_turn(
    pace: Pace,
    sides: usize,
    mut measure: impl FnMut(usize) -> Result<f64, Error>,
    mut watch: impl FnMut(usize),
) -> Result<Measured, Error> {
    let mut values = vec![Vec::with_capacity(pace.rounds); sides];
    let began = Instant::now();
    for round in 0..=pace.rounds {
        if round > pace.rounds_min && began.elapsed() > pace.budget {
            break;
        }
        watch(round);
        for step in 0..sides {
            interrupt::check()?;
            let place = (round / 2 + step) % sides;
            let is_turned = round % 2 == 1;
            let side = if is_turned { sides - 1 - place } else { place };
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

    fn order_of(rounds: usize, sides: usize) -> (Vec<usize>, Measured) {
        let pace = Pace {
            rounds,
            rounds_min: rounds,
            budget: Duration::ZERO,
        };
        let mut order = Vec::new();
        let measure = |side| {
            order.push(side);
            Ok(order.len() as f64)
        };
        let measured = in_turn(pace, sides, measure, |_| {}).unwrap();
        (order, measured)
    }

    #[test]
    fn the_first_round_is_left_out() {
        let (order, measured) = order_of(1, 2);
        assert_eq!(order, [0, 1, 1, 0]);
        assert_eq!(measured.0, [[4.0], [3.0]]);
    }

    #[test]
    fn the_order_is_turned_round_and_begins_elsewhere() {
        let (order, _) = order_of(3, 3);
        let rounds: Vec<&[usize]> = order.chunks(3).collect();
        assert_eq!(rounds, [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]]);
    }

    #[test]
    fn no_round_begins_after_the_budget_but_for_the_first_few() {
        let pace = Pace {
            rounds: 1000,
            rounds_min: 7,
            budget: Duration::ZERO,
        };
        let measured = in_turn(pace, 1, |_| Ok(1.0), |_| {}).unwrap();
        assert_eq!(measured.side(0).len(), 7);
    }
}
