//! Sums up what happened on every primary.

use lockless_topology::Address;

use super::problem::Problem;

/// What happened on one primary.
pub(crate) struct Outcome {
    pub(crate) address: Address,
    pub(crate) result: Result<Change, Problem>,
}

/// Whether a primary is another than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Changed,
    Unchanged,
}

/// Turns the outcomes into one: a closing line, or an error that names who has it and who has not.
pub(crate) fn conclude(outcomes: Vec<Outcome>, dry_run: bool) -> Result<(), Problem> {
    let total = outcomes.len();
    let (mut done, mut changed, mut failed) = (Vec::new(), 0, Vec::new());
    for outcome in outcomes {
        match outcome.result {
            Ok(change) => {
                changed += usize::from(change == Change::Changed);
                done.push(outcome.address.to_string());
            }
            Err(problem) => failed.push((outcome.address, problem)),
        }
    }
    if failed.is_empty() {
        let verb = if dry_run { "would change" } else { "changed" };
        println!(
            "Done: {changed} of {total} {} {verb}.",
            if total == 1 { "primary" } else { "primaries" }
        );
        return Ok(());
    }
    if total == 1
        && let Some((_, problem)) = failed.pop()
    {
        return Err(problem);
    }
    let names = failed
        .iter()
        .map(|(address, _)| address.to_string())
        .collect::<Vec<_>>()
        .join(", ");
    let reasons = failed
        .iter()
        .map(|(_, problem)| problem.to_string())
        .collect::<Vec<_>>()
        .join(" ");
    let done = if done.is_empty() {
        "no primary".to_owned()
    } else {
        done.join(", ")
    };
    let advice = if dry_run {
        "Nothing was changed."
    } else {
        "Running the same command again completes it."
    };
    Err(Problem::Several(format!(
        "It is done on {done}, but failed on {names}: {reasons} {advice}"
    )))
}
