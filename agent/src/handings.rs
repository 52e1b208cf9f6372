//! What may be on its way here.
//!
//! A cell that wants a job stopped which is not in the books may speak of one that it handed out in a reply that has not
//! arrived yet. To say "it is stopped" before that reply is here, and to start the job when it is, would run it twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Calls of one kind, which hand out jobs.
#[derive(Debug, Default)]
pub struct Calls {
    begun: AtomicU64,
    done: AtomicU64,
}

impl Calls {
    /// A call is about to be made. One that is made again, because its reply got lost, does not count again.
    pub fn begin(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
    }

    /// Its reply was read, and what it handed out is in the books; or there will be none.
    pub fn end(&self) {
        let begun = self.begun.load(Ordering::SeqCst);
        self.done.store(begun, Ordering::SeqCst);
    }

    /// How many were begun.
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::SeqCst)
    }

    /// Whether the first so many are over.
    pub fn is_over(&self, count: u64) -> bool {
        self.done.load(Ordering::SeqCst) >= count
    }
}

/// All calls that hand out jobs, and the jobs to stop that nobody here knows.
#[derive(Debug, Default)]
pub struct Handings {
    /// Ticks.
    pub ticks: Calls,
    /// Takes.
    pub takes: Calls,
    unknown: Mutex<BTreeMap<String, (u64, u64)>>,
}

impl Handings {
    /// Of the jobs to stop that are not in the books: those that can't be on their way here any more. The others are to be asked
    /// about again.
    pub fn not_coming(&self, unknown: Vec<String>) -> Vec<String> {
        let mut noted = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        noted.retain(|job, _| unknown.contains(job));
        let now = (self.ticks.begun(), self.takes.begun());
        let mut certain = Vec::new();
        for job in unknown {
            let (ticks, takes) = *noted.entry(job.clone()).or_insert(now);
            if self.ticks.is_over(ticks) && self.takes.is_over(takes) {
                noted.remove(&job);
                certain.push(job);
            }
        }
        certain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Vec<String> {
        vec!["job".to_owned()]
    }

    #[test]
    fn with_no_call_under_way_nothing_is_coming() {
        assert_eq!(Handings::default().not_coming(job()), job());
    }

    #[test]
    fn a_call_that_is_under_way_may_bring_it() {
        let handings = Handings::default();
        handings.ticks.begin();
        assert!(handings.not_coming(job()).is_empty());
        handings.takes.begin();
        handings.takes.end();
        assert!(handings.not_coming(job()).is_empty());
        handings.ticks.end();
        handings.ticks.begin();
        assert_eq!(handings.not_coming(job()), job());
    }
}
