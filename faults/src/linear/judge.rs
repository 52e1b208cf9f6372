//! Whether a history is linearizable, part by part, and the smallest one that shows that it is not.

use super::call::Part;
use super::history::Event;
use super::model::{Fleet, Limit, Locks};
use super::search::{PLACES, Verdict, check};

/// The fewer replies are looked at, the more orders there are; a history is made smaller only where that is soon seen to fail.
const PLACES_OF_SMALLER: usize = 20_000;

/// What is wrong with a history.
#[derive(Debug)]
pub enum Problem {
    /// No order explains its replies.
    NotLinearizable {
        /// The smallest history found that shows it.
        smallest: Vec<Event>,
        /// How many calls were made before that, or meanwhile, and explain nothing, whatever they did.
        left_out: usize,
    },
    /// It was too large to tell.
    TooLarge,
}

/// Looks at every part of the cell that the history is about.
pub fn judge(history: &[Event]) -> Result<(), Problem> {
    let mut parts: Vec<Part> = history.iter().map(|event| event.call.part()).collect();
    parts.sort_unstable();
    parts.dedup();
    for part in parts {
        let about = history.iter().filter(|event| event.call.part() == part);
        let about: Vec<Event> = about.cloned().collect();
        match verdict(part, &about, PLACES) {
            Verdict::Linearizable(_) => {}
            Verdict::Not(_) => {
                let fails = |smaller: &[Event]| {
                    matches!(verdict(part, smaller, PLACES_OF_SMALLER), Verdict::Not(_))
                };
                let failing = first_failing(about, fails);
                let calls = failing.len();
                let smallest = shrink(failing, fails);
                let left_out = calls - smallest.len();
                return Err(Problem::NotLinearizable { smallest, left_out });
            }
            Verdict::TooLarge => return Err(Problem::TooLarge),
        }
    }
    Ok(())
}

fn verdict(part: Part, history: &[Event], places: usize) -> Verdict {
    match part {
        Part::Fleet => check(&Fleet::default(), history, places),
        Part::Locks => check(&Locks::default(), history, places),
        Part::Limit(_) => check(&Limit::default(), history, places),
    }
}

/// The part of a history that is worth telling: it still fails, and without its last reply there is an order at least.
///
/// Calls that changed nothing go. A reply is not looked at, as if it had never
/// come, where the history fails all the same: whatever such a call did, it explains nothing. It is left out, too, unless others could not be
/// explained without it; but it goes on being one that may have done anything, so that no step after it makes more of the rest than is true.
fn shrink(mut history: Vec<Event>, fails: impl Fn(&[Event]) -> bool) -> Vec<Event> {
    let last = history.iter().filter_map(moment).max();
    for at in (0..history.len()).rev() {
        if moment(&history[at]) == last {
            continue;
        }
        let mut smaller = history.clone();
        if history[at].had_no_effect() {
            smaller.remove(at);
        } else {
            smaller[at].end = None;
        }
        if fails(&smaller) {
            history = smaller;
        }
    }
    let mut told = history;
    for at in (0..told.len()).rev() {
        if told[at].end.is_some() {
            continue;
        }
        let mut smaller = told.clone();
        smaller.remove(at);
        let mut unheard = smaller.clone();
        if let Some(event) = unheard.iter_mut().find(|event| moment(event) == last) {
            event.end = None;
        }
        if !fails(&unheard) {
            told = smaller;
        }
    }
    told
}

fn moment(event: &Event) -> Option<u64> {
    event.end.as_ref().map(|end| end.0)
}

/// The history up to the first reply that nothing explains.
fn first_failing(history: Vec<Event>, fails: impl Fn(&[Event]) -> bool) -> Vec<Event> {
    let mut moments: Vec<u64> = history.iter().filter_map(moment).collect();
    moments.sort_unstable();
    let mut seen = moments.into_iter().map(|moment| until(&history, moment));
    seen.find(|seen| fails(seen)).unwrap_or(history)
}

/// What was seen of a history up to a moment.
fn until(history: &[Event], moment: u64) -> Vec<Event> {
    let begun = history.iter().filter(|event| event.begin < moment);
    let seen = begun.map(|event| Event {
        end: event.end.clone().filter(|end| end.0 <= moment),
        ..event.clone()
    });
    seen.collect()
}
