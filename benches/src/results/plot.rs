//! What a plot shows.

use serde::{Deserialize, Serialize};

/// How an axis runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal factors.
    Log,
}

/// Values of one thing, from left to right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// What it is.
    pub name: String,
    /// x and y; on a log axis only what is above 0 is drawn.
    pub points: Vec<(f64, f64)>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// What it is.
    pub name: String,
    /// How long it is.
    pub value: f64,
    /// Whether it is ours, and so stands out.
    pub is_ours: bool,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "shape")]
pub enum Shape {
    /// Lines over an axis of numbers.
    Lines {
        /// What runs along the bottom, with its unit.
        x: String,
        /// How it runs.
        x_scale: Scale,
        /// How the other axis runs.
        y_scale: Scale,
        /// The lines; the first one is ours and stands out.
        lines: Vec<Line>,
    },
    /// Bars, one below the other.
    Bars {
        /// The bars, from the top.
        bars: Vec<Bar>,
    },
}

/// A picture in the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// The file's name without its ending; no two plots have the same.
    pub file: String,
    /// What it is about.
    pub title: String,
    /// What is measured, with its unit.
    pub y: String,
    /// What one has to know to read it; shown below it.
    #[serde(default)]
    pub caption: String,
    /// What is drawn.
    #[serde(flatten)]
    pub shape: Shape,
}

impl Plot {
    /// Lines over an axis of numbers, both axes in equal factors.
    pub fn growth(file: &str, title: &str, x: &str, y: &str, lines: Vec<Line>) -> Self {
        Plot {
            file: file.to_owned(),
            title: title.to_owned(),
            y: y.to_owned(),
            caption: String::new(),
            shape: Shape::Lines {
                x: x.to_owned(),
                x_scale: Scale::Log,
                y_scale: Scale::Log,
                lines,
            },
        }
    }

    /// The same with the measured axis in equal differences from 0, for what hardly grows.
    #[must_use]
    pub fn from_nothing(mut self) -> Self {
        if let Shape::Lines { y_scale, .. } = &mut self.shape {
            *y_scale = Scale::Linear;
        }
        self
    }

    /// With words below it.
    #[must_use]
    pub fn captioned(mut self, caption: &str) -> Self {
        caption.clone_into(&mut self.caption);
        self
    }

    /// The same with sizes in equal differences, for sizes that may be 0.
    #[must_use]
    pub fn from_no_size(mut self) -> Self {
        if let Shape::Lines { x_scale, .. } = &mut self.shape {
            *x_scale = Scale::Linear;
        }
        self
    }

    /// Bars, one below the other.
    pub fn bars(file: &str, title: &str, y: &str, bars: Vec<Bar>) -> Self {
        Plot {
            file: file.to_owned(),
            title: title.to_owned(),
            y: y.to_owned(),
            caption: String::new(),
            shape: Shape::Bars { bars },
        }
    }
}
