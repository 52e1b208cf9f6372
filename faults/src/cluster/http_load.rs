//! Callers of a gateway that have jobs placed, in a cell with room for all of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::http::Caller;
use super::network::Namespace;
use super::queued::Acknowledged;
use super::route::ToCluster;
use super::servers::Cluster;
use super::trial::cell_of;
use crate::Error;
use crate::rules::cell::ask;
use crate::wire::Route;

/// The one node of the cell.
pub(super) const NODE: &str = "n1";
const CALLERS: usize = 2;
const PACE: Duration = Duration::from_millis(3);
const NO_ANSWER: &str = "no answer";

/// Callers of one gateway and one cell.
pub(super) struct HttpLoad<'a> {
    /// Where the gateway is, if not on this machine's loopback.
    pub(super) namespace: Option<&'a Namespace>,
    pub(super) address: &'a str,
    pub(super) cell: &'a Arc<str>,
    pub(super) is_durable: bool,
    /// Ends it.
    pub(super) is_over: &'a AtomicBool,
    /// How many jobs were placed so far.
    pub(super) placed: AtomicU64,
}

/// What became of one request.
struct Told {
    job: String,
    /// Status and code of a refusal; empty when the job was placed.
    code: String,
    begin: Instant,
    end: Instant,
}

/// What callers were told.
pub(super) struct Placed {
    pub(super) acknowledged: Acknowledged,
    /// Jobs that were refused with the word that nothing was done.
    pub(super) refused: Vec<String>,
    /// How often each code was seen.
    pub(super) codes: BTreeMap<String, u64>,
    /// When each job that was placed was asked for, and when that was answered.
    times: Vec<(Instant, Instant)>,
}

impl Placed {
    /// How long after this moment the first job was placed that was asked for after it.
    pub(super) fn first_after(&self, moment: Instant) -> Option<Duration> {
        let later = self.times.iter().filter(|(begin, _)| *begin >= moment);
        later.map(|(_, end)| *end - moment).min()
    }
}

impl HttpLoad<'_> {
    /// Has jobs placed, one after the other by each caller, until it is over.
    pub(super) fn run(&self) -> Result<Placed, Error> {
        let told = thread::scope(|scope| {
            let callers = (0..CALLERS).map(|number| scope.spawn(move || self.call(number)));
            let callers: Vec<_> = callers.collect();
            callers
                .into_iter()
                .map(joined)
                .collect::<Result<Vec<_>, Error>>()
        })?;
        let mut placed = Placed {
            acknowledged: Acknowledged::none_of(self.cell),
            refused: Vec::new(),
            codes: BTreeMap::new(),
            times: Vec::new(),
        };
        for told in told.into_iter().flatten() {
            placed.acknowledged.asked.push(told.job.clone());
            if told.code.is_empty() {
                placed.acknowledged.jobs.push(told.job);
                placed.times.push((told.begin, told.end));
                continue;
            }
            if told.code.starts_with("503") {
                placed.refused.push(told.job);
            }
            // The gateway got no reply itself, or the caller none of the gateway.
            let is_open = ["502", "504", NO_ANSWER];
            let is_open = is_open.iter().any(|open| told.code.starts_with(open));
            placed.acknowledged.unanswered += u64::from(is_open);
            *placed.codes.entry(told.code).or_default() += 1;
        }
        Ok(placed)
    }

    fn call(&self, number: usize) -> Result<Vec<Told>, Error> {
        if let Some(namespace) = self.namespace {
            namespace.enter()?;
        }
        let caller = Caller::new(self.address, Duration::from_secs(5));
        let mut told = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let job = format!("j{number}-{}", told.len());
            let begin = Instant::now();
            let code = match caller.dispatch(self.cell, &job, self.is_durable) {
                Ok(page) if page.is_ok() => {
                    self.placed.fetch_add(1, Ordering::Relaxed);
                    String::new()
                }
                Ok(page) => format!("{} {}", page.status, page.code()),
                Err(why) => format!("{NO_ANSWER}: {why}"),
            };
            told.push(Told {
                job,
                code,
                begin,
                end: Instant::now(),
            });
            thread::sleep(PACE.saturating_sub(begin.elapsed()));
        }
        Ok(told)
    }
}

/// A cell on a primary, with a node that takes whatever comes.
pub(super) fn new_cell(
    cluster: &Arc<Cluster>,
    primary: usize,
    name: &str,
) -> Result<Arc<str>, Error> {
    let cell = cell_of(cluster, primary, name)?;
    let mut wire = ToCluster::new(cluster, Duration::ZERO).open();
    ask(wire.as_mut(), &cell, "config", "heartbeat_ttl_ms 600000")?;
    ask(wire.as_mut(), &cell, "register", &format!("{NODE} 100000"))?;
    if !wire.confirm(&cell) {
        return Err(Error::Call {
            call: format!("register in {cell}"),
            said: "no replica confirmed it".to_owned(),
        });
    }
    Ok(cell)
}

/// What a thread came to; its panic is this one's.
pub(super) fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
