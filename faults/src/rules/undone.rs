//! A job whose end was kept is held by no node after that.

use std::collections::BTreeMap;

use crate::history::{History, Record};
use crate::outcome::{Rule, Violation};
use crate::wire::Answer;

use super::holds::items;

/// Jobs that nodes were said to have after the end of their last try, as far as it is known, was acknowledged as durable.
pub(crate) fn held_after_their_end(history: &History) -> Vec<Violation> {
    let mut completes: BTreeMap<(&str, &str), Vec<&Record>> = BTreeMap::new();
    let mut pulls: BTreeMap<(&str, &str), Vec<&Record>> = BTreeMap::new();
    for record in &history.records {
        let about = (&*record.root, record.word(0));
        match record.function {
            "complete" if history.is_durable(record) => {
                completes.entry(about).or_default().push(record);
            }
            "pull" if record.said.may_have_acted() => {
                pulls.entry(about).or_default().push(record);
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for look in history.records.iter().filter(|one| one.function == "holds") {
        let pulls = pulls.get(&(&*look.root, look.word(0)));
        let pulls = pulls.map(Vec::as_slice).unwrap_or_default();
        for job in held(look) {
            let ended = completes.get(&(&*look.root, &*job)).into_iter().flatten();
            let undone = ended
                .filter(|end| end.end_us < look.start_us && !may_have_come_back(end, &job, pulls));
            found.extend(undone.map(|end| {
                let sentence = format!(
                    "job {job} of {} has ended and is held again:\n    {}\n    {}",
                    look.root,
                    end.line(),
                    look.line()
                );
                Violation::new(Rule::JobKept, sentence)
            }));
        }
    }
    found
}

/// The jobs that a node has, apart from those it is to stop: they have ended, and their slots are still taken.
fn held(look: &Record) -> Vec<String> {
    let holds = look.reply().and_then(|reply| reply.list().get(1));
    let holds = holds.map(Answer::list).unwrap_or_default().iter();
    holds
        .filter_map(|hold| match hold.list() {
            [state, job, ..] if !["seat", "stopping"].contains(&state.text().as_str()) => {
                Some(job.text())
            }
            _ => None,
        })
        .collect()
}

/// Whether the node may have pulled the job again: a try that failed is followed by another.
fn may_have_come_back(end: &Record, job: &str, pulls: &[&Record]) -> bool {
    let Some(attempt) = end.number("ATTEMPT").filter(|_| end.word(2) == "failed") else {
        return false;
    };
    pulls.iter().any(|pull| match pull.reply() {
        Some(_) => items(pull).iter().any(|(handed, item)| {
            let later = item.field("attempt").and_then(Answer::int);
            *handed == job && later.and_then(|later| u64::try_from(later).ok()) > Some(attempt)
        }),
        // What was asked again and answered then is known.
        None => !pulls.iter().any(|other| {
            other.reply().is_some() && other.option("REQUEST") == pull.option("REQUEST")
        }),
    })
}
