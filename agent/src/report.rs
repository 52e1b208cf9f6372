//! What the cell is told about a run, said until it is heard.

use std::time::Duration;

use tokio::time::sleep;

use crate::agent::Agent;
use crate::books::{Source, Stop};
use crate::cell::{Call, Trouble};
use crate::complaints::Complaints;
use crate::job::Item;
use crate::outcome::Outcome;
use crate::pace::Backoff;

/// The longest reason that the library takes.
const REASON_BYTES: usize = 1024;
/// A result that has to be shorter than this is left out: it says next to nothing.
const SHORTEST_RESULT_BYTES: usize = 128;

/// The last word on a run.
#[derive(Debug)]
pub(crate) enum Report {
    /// It ended well.
    Finished(Outcome),
    /// It did not, for this reason, and how it ended if it was started.
    Failed(String, Option<Outcome>),
    /// It was stopped because the cell asked for it, or goes back to its queue.
    Stopped,
    /// It was not really run.
    DryRun,
}

impl Report {
    /// What is said about a run that was stopped; nothing about one that the cell has given up.
    pub(crate) fn of_stop(stop: Stop, source: Source, outcome: Option<Outcome>) -> Option<Self> {
        match (stop, source) {
            (Stop::Lost, _) => None,
            (Stop::Asked, _) | (Stop::Shutdown, Source::Queue) => Some(Self::Stopped),
            (Stop::Shutdown, Source::Pushed) => Some(Self::Failed(
                "the agent of its node was shut down".to_owned(),
                outcome,
            )),
        }
    }

    /// Tells the cell, as often as need be.
    pub(crate) async fn deliver(&self, agent: &Agent, item: &Item) {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
        let mut complaints = Complaints::about("the report of a job");
        // What a gateway finds too long for this report says little about others.
        let mut own_limit = usize::MAX;
        loop {
            let limit = agent.result_limit().min(own_limit);
            let trouble = match agent.node.say_in(item.epoch, self.call(item, limit)).await {
                Ok(_) => return complaints.clear(),
                Err(trouble) => trouble,
            };
            if let Some(shorter) = shorter_limit(&trouble, limit) {
                agent.set_result_limit(shorter);
                continue;
            }
            if let Some(shorter) = half_the_limit(&trouble, limit) {
                own_limit = shorter;
                continue;
            }
            if !is_worth_another_try(&trouble) {
                // The cell knows better by now: the job was settled, or is someone else's. Or no gateway takes it, and the cell
                // settles the job when its time is up.
                tracing::warn!(job = item.job, "its report was not taken: {trouble}");
                return;
            }
            complaints.note(&trouble);
            sleep(backoff.pause()).await;
        }
    }

    /// Said of this run: one that is repeated because its reply got lost changes nothing of the job's next one.
    fn call(&self, item: &Item, limit_bytes: usize) -> Call {
        let of_this_run = |function| {
            Call::new(function)
                .with("job", &item.job)
                .with("attempt", item.attempt)
        };
        let complete = |status: &str| of_this_run("lockless_complete").with("status", status);
        match self {
            Self::Finished(outcome) => {
                complete("finished").maybe("result", outcome.json(limit_bytes))
            }
            Self::Failed(reason, outcome) => {
                complete("failed").with("reason", shortened(reason)).maybe(
                    "result",
                    outcome
                        .as_ref()
                        .and_then(|outcome| outcome.json(limit_bytes)),
                )
            }
            Self::Stopped => of_this_run("lockless_stopped").with("outcome", "ok"),
            Self::DryRun => complete("finished").with("result", r#"{"dry_run":true}"#),
        }
    }
}

/// The limit that a refusal names, if it is a result that was too long. Without a smaller one in it: none at all.
fn shorter_limit(trouble: &Trouble, limit_bytes: usize) -> Option<usize> {
    let Trouble::Library { code, sentence } = trouble else {
        return None;
    };
    if code != "BAD_ARGUMENT" || !sentence.to_lowercase().starts_with("result") || limit_bytes == 0
    {
        return None;
    }
    let named = sentence.split(' ').find_map(|word| word.parse().ok());
    Some(named.filter(|named| *named < limit_bytes).unwrap_or(0))
}

/// Whoever waits for ever with a report keeps its slot, and later runs of the job, for ever.
fn is_worth_another_try(trouble: &Trouble) -> bool {
    trouble.may_pass() && !matches!(trouble, Trouble::Unfit { .. })
}

/// The next limit to try, if a gateway found the whole request too long; it does not say by how much.
fn half_the_limit(trouble: &Trouble, limit_bytes: usize) -> Option<usize> {
    let is_too_long = matches!(
        trouble,
        Trouble::Unfit {
            is_too_long: true,
            ..
        }
    );
    let half = limit_bytes / 2;
    (is_too_long && limit_bytes > 0).then_some(if half < SHORTEST_RESULT_BYTES {
        0
    } else {
        half
    })
}

fn shortened(reason: &str) -> &str {
    let mut end = reason.len().min(REASON_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(sentence: &str) -> Trouble {
        Trouble::Library {
            code: "BAD_ARGUMENT".to_owned(),
            sentence: sentence.to_owned(),
        }
    }

    #[test]
    fn the_limit_is_learned_from_the_refusal() {
        let named =
            refusal("RESULT takes at most 1000 bytes (payload_max_bytes), given 2000 bytes");
        assert_eq!(shorter_limit(&named, 65536), Some(1000));
        assert_eq!(shorter_limit(&named, 1000), Some(0));
        assert_eq!(shorter_limit(&named, 0), None);
        assert_eq!(
            shorter_limit(&refusal("REASON takes 0 to 1024 bytes"), 65536),
            None
        );
        assert_eq!(
            shorter_limit(&Trouble::Away("away".to_owned()), 65536),
            None
        );
    }

    #[test]
    fn a_request_that_is_too_long_is_tried_ever_shorter_and_at_last_without_a_result() {
        let unfit = |is_too_long| Trouble::Unfit {
            is_too_long,
            sentence: "413".to_owned(),
        };
        let mut limits = vec![65536];
        while let Some(next) = half_the_limit(&unfit(true), limits[limits.len() - 1]) {
            limits.push(next);
        }
        assert_eq!(
            limits,
            [
                65536, 32768, 16384, 8192, 4096, 2048, 1024, 512, 256, 128, 0
            ]
        );
        assert_eq!(half_the_limit(&unfit(false), 65536), None);
        assert!(!is_worth_another_try(&unfit(true)) && !is_worth_another_try(&unfit(false)));
        assert!(is_worth_another_try(&Trouble::Refused("403".to_owned())));
        assert_eq!(
            half_the_limit(&Trouble::Away("away".to_owned()), 65536),
            None
        );
    }

    #[test]
    fn a_reason_is_cut_between_characters() {
        assert_eq!(shortened("short"), "short");
        let long = format!("x{}", "é".repeat(1000));
        assert_eq!(shortened(&long).len(), 1023);
    }

    #[test]
    fn what_a_stop_means_depends_on_where_the_job_came_from() {
        let said = |stop, source| format!("{:?}", Report::of_stop(stop, source, None));
        assert_eq!(said(Stop::Lost, Source::Queue), "None");
        assert_eq!(said(Stop::Asked, Source::Pushed), "Some(Stopped)");
        assert_eq!(said(Stop::Shutdown, Source::Queue), "Some(Stopped)");
        assert!(said(Stop::Shutdown, Source::Pushed).contains("Failed"));
    }
}
