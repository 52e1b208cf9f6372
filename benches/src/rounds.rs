//! Sides that are measured in turn, and what is made of their measurements.

use crate::Error;

/// Microseconds of server time.
pub type Micros = f64;

/// The medians of two sides that were measured in turn.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// The first side.
    pub first: Micros,
    /// The second side.
    pub second: Micros,
    /// The median of first / second of each round.
    pub ratio: f64,
}

/// The value in the middle; 0 without values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// Measures both sides in every round, the second one first in every other; the first round warms up and is left out.
pub fn compare(
    rounds: usize,
    mut first: impl FnMut() -> Result<Micros, Error>,
    mut second: impl FnMut() -> Result<Micros, Error>,
) -> Result<Compared, Error> {
    let mut measured = Vec::with_capacity(rounds);
    for round in 0..=rounds {
        let pair = if round % 2 == 0 {
            let one = first()?;
            (one, second()?)
        } else {
            let two = second()?;
            (first()?, two)
        };
        if round > 0 {
            measured.push(pair);
        }
    }
    let of =
        |pick: fn(&(Micros, Micros)) -> f64| median(&measured.iter().map(pick).collect::<Vec<_>>());
    Ok(Compared {
        first: of(|pair| pair.0),
        second: of(|pair| pair.1),
        ratio: of(|pair| pair.0 / pair.1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_value_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn one_spoilt_round_does_not_change_a_ratio() {
        let mut calls = 0;
        let compared = compare(
            5,
            || {
                calls += 1;
                Ok(if calls == 3 { 900.0 } else { 30.0 })
            },
            || Ok(20.0),
        )
        .unwrap();
        assert_eq!(compared.ratio, 1.5);
    }
}
