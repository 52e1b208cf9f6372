//! Whether anything could have been lost.

use crate::history::History;
use crate::outcome::{Rule, Violation};

/// A history in which every job came too shortly before the last injury, or after it, to be kept: whatever became of them would be right.
pub(crate) fn blind(history: &History) -> Option<Violation> {
    let last = history.injuries.last()?;
    let is_at_stake = history.records.iter().any(|record| {
        matches!(record.function, "dispatch" | "submit")
            && record.end_us < last.begin_us
            && history.is_durable(record)
    });
    let sentence = "no job was acknowledged as durable before the last injury: the test is blind";
    (!is_at_stake).then(|| Violation::new(Rule::Blind, sentence))
}
