//! The measurements behind a figure, so that anyone can compute it again.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::to_raw_value;

/// One value of each side per round, in the order of the rounds, with four significant digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Of the first side, or the only one.
    #[serde(serialize_with = "on_one_line")]
    pub first: Vec<f64>,
    /// Of the second side; empty when there is none.
    #[serde(serialize_with = "on_one_line")]
    pub second: Vec<f64>,
}

impl Samples {
    /// Of these measurements.
    pub fn of(first: &[f64], second: &[f64]) -> Self {
        let all = |values: &[f64]| values.iter().copied().map(rounded).collect();
        Samples {
            first: all(first),
            second: all(second),
        }
    }
}

/// Hundreds of numbers, one below the other, would make a file that nobody scrolls through.
fn on_one_line<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    let line = to_raw_value(values).map_err(serde::ser::Error::custom)?;
    line.serialize(serializer)
}

fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_four_digits_and_stand_on_one_line() {
        let samples = Samples::of(&[19.34567, 1_234_567.0], &[0.000_123_456]);
        let text = serde_json::to_string_pretty(&samples).unwrap();
        assert!(text.contains("\"first\": [19.35,1235000.0]"), "{text}");
        assert_eq!(serde_json::from_str::<Samples>(&text).unwrap(), samples);
        assert_eq!(samples.second, [0.000_123_5]);
    }
}
