//! The middle of repeated measurements, and how far they lie apart.

use serde::{Deserialize, Serialize};

/// The middle of repeated measurements, and how far they lie apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Half of them are below.
    pub median: f64,
    /// A quarter of them is below.
    pub quartile_low: f64,
    /// A quarter of them is above.
    pub quartile_high: f64,
}

impl Spread {
    /// Of these measurements; all 0 without any.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Spread {
            median: quantile(&sorted, 0.5),
            quartile_low: quantile(&sorted, 0.25),
            quartile_high: quantile(&sorted, 0.75),
        }
    }
}

/// The value below which this part of the sorted values lies; between two values, in proportion.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = part.clamp(0.0, 1.0) * last as f64;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between 0 and the last index"
    )]
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    let fraction = place - place.floor();
    sorted[below] + (sorted[above] - sorted[below]) * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_value_in_the_middle() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]).median, 2.0);
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(Spread::of(&[]).median, 0.0);
    }

    #[test]
    fn half_of_the_values_lie_between_the_quartiles() {
        let spread = Spread::of(&[5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!((spread.quartile_low, spread.quartile_high), (2.0, 4.0));
    }
}
