//! A job that was acknowledged as durable is there in the end, in one terminal state, and in one that somebody brought about.

use std::collections::BTreeMap;

use crate::history::{History, Record};
use crate::outcome::{Rule, Violation};
use crate::wire::Answer;

use super::Ends;
use super::causes::Causes;
use super::holds::{items, text_of};

const TERMINAL: [&str; 4] = ["finished", "failed", "cancelled", "expired"];

/// What was said about one job.
#[derive(Default)]
pub(super) struct Told<'h> {
    /// The calls that ask for it, by their start.
    pub(super) asked: Vec<&'h Record>,
    /// The first durable reply that says that it is there.
    made: Option<&'h Record>,
    pub(super) is_queued: bool,
    /// The calls that handed it to a node.
    pub(super) handed: Vec<&'h Record>,
    pub(super) completes: Vec<&'h Record>,
    cancels: Vec<&'h Record>,
    pub(super) looks: Vec<&'h Record>,
}

/// Everything that was said about jobs that were dispatched or submitted. Reservations leave no record when they are given back.
pub(super) fn told(history: &History) -> BTreeMap<(&str, &str), Told<'_>> {
    let mut all: BTreeMap<(&str, &str), Told> = BTreeMap::new();
    for record in &history.records {
        let job = match record.function {
            "dispatch" => record.option("JOB").unwrap_or(""),
            "submit" => record.word(0),
            _ => continue,
        };
        let told = all.entry((&record.root, job)).or_default();
        told.is_queued = record.function == "submit";
        told.asked.push(record);
    }
    for record in &history.records {
        let durable = history.is_durable(record).then_some(record);
        let job = match record.function {
            "dispatch" => record.option("JOB").unwrap_or(""),
            "take" | "pull" => {
                for (job, _) in items(record) {
                    if let Some(told) = all.get_mut(&(&*record.root, job)) {
                        told.made = told.made.or(durable);
                        told.handed.push(record);
                    }
                }
                continue;
            }
            _ => record.word(0),
        };
        let Some(told) = all.get_mut(&(&*record.root, job)) else {
            continue;
        };
        match record.function {
            "dispatch" | "submit" => told.made = told.made.or(durable),
            "complete" | "stopped" => told.completes.push(record),
            "cancel" | "release" => told.cancels.push(record),
            "job" => told.looks.push(record),
            _ => {}
        }
    }
    all
}

/// What is wrong with the ends of jobs.
pub(crate) fn lost(history: &History, ends: &Ends) -> Vec<Violation> {
    let causes = Causes::of(history);
    let mut found = Vec::new();
    for ((root, job), told) in told(history) {
        let Some(end) = ends.get(&(root.into(), job.to_owned())) else {
            continue;
        };
        let mut wrong = |what: String| {
            let sentence = format!("job {job} of {root} {what}");
            found.push(Violation::new(Rule::JobKept, sentence));
        };
        let Some(status) = end else {
            if let Some(made) = told.made {
                wrong(format!("is gone: {}", made.line()));
            }
            continue;
        };
        if !TERMINAL.contains(&status.as_str()) {
            wrong(format!("never ends: it is {status}"));
            continue;
        }
        if !is_explained(&causes, root, &told, status) {
            wrong(format!("is {status}, and nobody ended it so"));
        }
        for said in contradicted(history, &told, status) {
            wrong(format!("is {status} in the end, although {}", said.line()));
        }
    }
    found
}

/// Whether somebody may have brought that end about, or something that brings it about by itself.
fn is_explained(causes: &Causes, root: &str, told: &Told, status: &str) -> bool {
    let said = |records: &[&Record], word: Option<&str>| {
        records.iter().any(|record| {
            record.said.may_have_acted() && word.is_none_or(|word| record.word(2) == word)
        })
    };
    match status {
        "finished" => said(&told.completes, Some("finished")),
        "failed" => said(&told.completes, Some("failed")) || causes.may_have_used_up(root, told),
        "cancelled" => said(&told.cancels, None),
        _ => causes.may_have_expired(root, told) || causes.may_be_overtaken(told),
    }
}

/// How many jobs expired for no other reason than that time moved.
pub(crate) fn overtaken(history: &History, ends: &Ends) -> usize {
    let causes = Causes::of(history);
    let all = told(history);
    let expired = all.iter().filter(|((root, job), _)| {
        let end = ends.get(&((*root).into(), (*job).to_owned()));
        end.is_some_and(|end| end.as_deref() == Some("expired"))
    });
    expired
        .filter(|((root, _), told)| !causes.may_have_expired(root, told))
        .count()
}

/// Durable replies that another end contradicts.
fn contradicted<'h>(history: &History, told: &Told<'h>, status: &str) -> Vec<&'h Record> {
    let durable = |records: &[&'h Record]| -> Vec<&'h Record> {
        let durable = records.iter().filter(|record| history.is_durable(record));
        durable.copied().collect()
    };
    let mut out = Vec::new();
    // `release` answers 0 when there is nothing to give back.
    out.extend(durable(&told.cancels).into_iter().filter(|record| {
        status != "cancelled" && record.reply().map(Answer::text).as_deref() == Some("OK")
    }));
    let has_ended = |record: &&Record| {
        let seen = record.reply().map_or("", |reply| text_of(reply, "status"));
        TERMINAL.contains(&seen) && seen != status
    };
    out.extend(durable(&told.looks).into_iter().filter(has_ended));
    // The end of one that was cancelled or had expired is heard, and changes nothing; of one from the queue a failure is one of several tries.
    let may_differ = ["cancelled", "expired"].contains(&status);
    let is_other = |record: &&Record| {
        let said = record.word(2);
        record.function == "complete" && said != status && !(told.is_queued && said == "failed")
    };
    if !may_differ {
        let of_another = |record: &&Record| {
            let others = told
                .completes
                .iter()
                .filter(|other| other.said.may_have_acted());
            !others
                .into_iter()
                .any(|other| other.word(2) == status && other.word(2) != record.word(2))
        };
        let others = durable(&told.completes).into_iter().filter(is_other);
        out.extend(others.filter(of_another));
    }
    out
}
