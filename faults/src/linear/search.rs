//! The search for an order in which a history could have happened one call at a time.
//!
//! It is Wing and Gong's search with Lowe's memory: a call may come next if it was sent before any of those that are left had its reply, and
//! where the same calls are done and the cell is the same, the search was before. `stateright` has a tester too; it does not fit: its
//! model gives one next state for a call and a reply, while ours may leave a choice (a call without a reply may have chosen any node), it
//! allows each caller one call without a reply, its last, and it remembers nothing.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::call::Call;
use super::history::{Event, Reply};

/// What a part of a cell does, as the contract says.
pub trait Model: Clone + Eq + Hash {
    /// All that may be after a call that gets this reply; nothing when it can't get it. Without a reply: all that the call may do.
    fn after(&self, call: &Call, reply: Option<&Reply>) -> Vec<Self>;
}

/// What the search found.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An order that explains every reply, as places in the history.
    Linearizable(Vec<usize>),
    /// There is none; this is as far as one came.
    Not(Vec<usize>),
    /// It was given up.
    TooLarge,
}

/// So many places are enough for any history of two dozen calls, most of which take some hundred.
pub const PLACES: usize = 2_000_000;
/// Which calls are done is kept in the bits of a number.
const LONGEST: usize = 64;

struct Search<'a, M> {
    history: &'a [Event],
    /// Places in the history in the order in which they are tried: by when the reply was there.
    tried: Vec<usize>,
    states: HashMap<M, usize>,
    seen: HashSet<(u64, usize)>,
    order: Vec<usize>,
    longest: Vec<usize>,
    places: usize,
}

/// Looks for an order, at so many places at most.
pub fn check<M: Model>(start: &M, history: &[Event], places: usize) -> Verdict {
    if history.len() > LONGEST {
        return Verdict::TooLarge;
    }
    let mut tried: Vec<usize> = (0..history.len()).collect();
    tried.sort_by_key(|&at| history[at].end.as_ref().map_or(u64::MAX, |end| end.0));
    let mut search = Search {
        history,
        tried,
        states: HashMap::new(),
        seen: HashSet::new(),
        order: Vec::new(),
        longest: Vec::new(),
        places,
    };
    match search.go_on(0, start) {
        Some(true) => Verdict::Linearizable(search.order),
        Some(false) => Verdict::Not(search.longest),
        None => Verdict::TooLarge,
    }
}

impl<M: Model> Search<'_, M> {
    /// Whether what is left can be ordered; nothing when it was given up.
    fn go_on(&mut self, done: u64, state: &M) -> Option<bool> {
        if self.was_here(done, state) {
            return Some(false);
        }
        if self.seen.len() > self.places {
            return None;
        }
        if self.order.len() > self.longest.len() {
            self.longest.clone_from(&self.order);
        }
        let history = self.history;
        let is_left = |at: &usize| done & (1 << at) == 0;
        let left = || (0..history.len()).filter(is_left);
        let Some(first_reply) = left()
            .filter_map(|at| history[at].end.as_ref().map(|end| end.0))
            .min()
        else {
            return Some(true);
        };
        for at in self.tried.clone() {
            let event = &history[at];
            if !is_left(&at) || event.begin > first_reply {
                continue;
            }
            for next in state.after(&event.call, event.reply()) {
                // One without a reply that changes nothing need not be made.
                if event.end.is_none() && next == *state {
                    continue;
                }
                self.order.push(at);
                if self.go_on(done | 1 << at, &next)? {
                    return Some(true);
                }
                self.order.pop();
            }
        }
        Some(false)
    }

    fn was_here(&mut self, done: u64, state: &M) -> bool {
        let known = self.states.len();
        let number = match self.states.get(state) {
            Some(&number) => number,
            None => {
                self.states.insert(state.clone(), known);
                known
            }
        };
        !self.seen.insert((done, number))
    }
}
