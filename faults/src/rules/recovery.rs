//! How long it took after each injury until work was taken again.

use std::time::Duration;

use crate::history::History;

/// The longest time from healing to the end of the first call after it that took work; none without injuries.
pub(crate) fn longest(history: &History) -> Option<Duration> {
    let took = history.injuries.iter().map(|injury| {
        let taken = history.records.iter().find(|record| {
            record.start_us >= injury.healed_us
                && matches!(record.function, "dispatch" | "submit")
                && record.reply().is_some()
        });
        let next = history
            .injuries
            .iter()
            .find(|next| next.begin_us >= injury.healed_us);
        match (taken, next) {
            // Broken again before anyone could come.
            (Some(taken), Some(next)) if taken.end_us > next.begin_us => 0,
            (Some(taken), _) => taken.end_us.saturating_sub(injury.healed_us),
            (None, _) => u64::MAX,
        }
    });
    took.max().map(Duration::from_micros)
}
