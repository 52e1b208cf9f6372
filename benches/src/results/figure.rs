//! One row of a table.

use serde::{Deserialize, Serialize};

use super::{Samples, Spread};

/// What a figure is held to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// It must not be more.
    AtMost(f64),
    /// It must not be less.
    AtLeast(f64),
}

/// Whether a target is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is.
    Holds,
    /// It is not.
    Missed,
}

/// One more column of a row, such as a high percentile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct More {
    /// The column's name, with the unit last.
    pub name: String,
    /// The value.
    pub value: f64,
}

/// A quantity, or two and their ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// A name that stays the same from run to run, by which notes find it: `growth/nodes`.
    pub id: String,
    /// What it is, in words.
    pub what: String,
    /// The first side, or the only one.
    pub first: Spread,
    /// The second side.
    pub second: Option<Spread>,
    /// First to second, of each round.
    pub ratio: Option<Spread>,
    /// In how many rounds it was measured.
    pub repeats: usize,
    /// What it is held to: its ratio, or the only side when there is none.
    pub target: Option<Target>,
    /// Whether that is met.
    pub verdict: Option<Verdict>,
    /// What one has to know to read it.
    pub note: Option<String>,
    /// More columns.
    pub more: Vec<More>,
    /// What was measured in each round.
    #[serde(default)]
    pub samples: Samples,
}

impl Target {
    /// Whether a figure meets it.
    pub fn judge(self, figure: f64) -> Verdict {
        let is_met = match self {
            Target::AtMost(limit) => figure <= limit,
            Target::AtLeast(limit) => figure >= limit,
        };
        if is_met {
            Verdict::Holds
        } else {
            Verdict::Missed
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::AtMost(limit) => write!(f, "at most {limit}"),
            Target::AtLeast(limit) => write!(f, "at least {limit}"),
        }
    }
}

impl Figure {
    /// A quantity that was measured in these rounds.
    pub fn measured(id: &str, what: impl Into<String>, values: &[f64]) -> Self {
        Figure {
            id: id.to_owned(),
            what: what.into(),
            first: Spread::of(values),
            second: None,
            ratio: None,
            repeats: values.len(),
            target: None,
            verdict: None,
            note: None,
            more: Vec::new(),
            samples: Samples::of(values, &[]),
        }
    }

    /// Two sides that were measured in turn, one value of each per round.
    pub fn compared(id: &str, what: impl Into<String>, first: &[f64], second: &[f64]) -> Self {
        let ratios: Vec<f64> = first.iter().zip(second).map(|(a, b)| a / b).collect();
        Figure {
            second: Some(Spread::of(second)),
            ratio: Some(Spread::of(&ratios)),
            samples: Samples::of(first, second),
            ..Self::measured(id, what, first)
        }
    }

    /// Two sides of which one or both were not measured in rounds: the ratio is that of the medians.
    pub fn beside(id: &str, what: impl Into<String>, first: &[f64], second: &[f64]) -> Self {
        let (one, other) = (Spread::of(first), Spread::of(second));
        Figure {
            second: Some(other),
            ratio: Some(Spread::of(&[one.median / other.median])),
            samples: Samples::of(first, second),
            ..Self::measured(id, what, first)
        }
    }

    /// Held to a target.
    #[must_use]
    pub fn held_to(mut self, target: Target) -> Self {
        self.target = Some(target);
        self.verdict = Some(target.judge(self.judged()));
        self
    }

    /// With words on how to read it.
    #[must_use]
    pub fn noted(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// With one more column; the unit is part of its name.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.more.push(More {
            name: name.to_owned(),
            value,
        });
        self
    }

    /// The value that a target speaks of.
    pub fn judged(&self) -> f64 {
        self.ratio.as_ref().unwrap_or(&self.first).median
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_on_its_limit_holds() {
        assert_eq!(Target::AtMost(1.5).judge(1.5), Verdict::Holds);
        assert_eq!(Target::AtLeast(60.0).judge(60.0), Verdict::Holds);
        assert_eq!(Target::AtMost(1.5).judge(1.51), Verdict::Missed);
        assert_eq!(Target::AtLeast(60.0).judge(59.9), Verdict::Missed);
    }

    #[test]
    fn one_spoilt_round_does_not_change_a_ratio() {
        let first = [30.0, 30.0, 900.0, 30.0, 30.0];
        let figure = Figure::compared("a/b", "a", &first, &[20.0; 5]).held_to(Target::AtMost(1.5));
        assert_eq!(figure.judged(), 1.5);
        assert_eq!(figure.verdict, Some(Verdict::Holds));
    }

    #[test]
    fn a_quantity_without_a_second_side_is_judged_itself() {
        let figure = Figure::measured("a/b", "a", &[9.0]).held_to(Target::AtLeast(10.0));
        assert_eq!(figure.verdict, Some(Verdict::Missed));
    }
}
