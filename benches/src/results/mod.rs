//! What a run gives, as data: it is kept as JSON, and tables and plots are drawn from it.

mod figure;
mod plot;
mod provenance;
mod samples;
mod spread;
mod store;

use serde::{Deserialize, Serialize};

pub use figure::{Figure, More, Target, Verdict};
pub use plot::{Bar, Line, Plot, Scale, Shape};
pub use provenance::{Machine, Provenance, commit, load};
pub use samples::Samples;
pub use spread::{Spread, quantile};
pub use store::{Kept, Store};

/// Everything that one group measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupResult {
    /// Its tables, in the order they are shown.
    pub tables: Vec<Table>,
    /// Its plots, shown after the tables.
    pub plots: Vec<Plot>,
    /// What could not be measured here, by name.
    pub not_available: Vec<NotAvailable>,
    /// Paragraphs in Markdown that are shown as they are.
    pub remarks: Vec<String>,
}

/// Figures that have their sides and their unit in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it is about.
    pub title: String,
    /// The unit of both sides, such as `us`.
    pub unit: String,
    /// The name of the first side, such as `ours`.
    pub first: String,
    /// The name of the second side; empty when its figures have none.
    pub second: String,
    /// The rows.
    pub figures: Vec<Figure>,
}

/// Something that is wanted in a comparison and is not on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotAvailable {
    /// What it is.
    pub name: String,
    /// Why it is not there, and what would bring it.
    pub reason: String,
}

impl GroupResult {
    /// Notes something that could not be measured.
    pub fn lacks(&mut self, name: impl Into<String>, reason: impl ToString) {
        self.not_available.push(NotAvailable {
            name: name.into(),
            reason: reason.to_string(),
        });
    }

    /// All figures of all tables.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.tables.iter().flat_map(|table| &table.figures)
    }
}

impl Table {
    /// A table of comparisons.
    pub fn comparing(title: &str, unit: &str, first: &str, second: &str) -> Self {
        Table {
            title: title.to_owned(),
            unit: unit.to_owned(),
            first: first.to_owned(),
            second: second.to_owned(),
            figures: Vec::new(),
        }
    }

    /// A table of figures with one side.
    pub fn measuring(title: &str, unit: &str, first: &str) -> Self {
        Self::comparing(title, unit, first, "")
    }
}
