//! Callers of a gateway that have jobs placed, in a cell with room for all of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

const CALLERS: usize = 2;
const PACE: Duration = Duration::from_millis(3);

/// Callers of one gateway and one cell.
pub(super) struct HttpLoad<'a> {
    /// Where the gateway is, if not on this machine's loopback.
    pub(super) namespace: Option<&'a Namespace>,
    pub(super) address: &'a str,
    pub(super) cell: &'a Arc<str>,
    pub(super) is_durable: bool,
    /// Ends it.
    pub(super) is_over: &'a AtomicBool,
}

/// What callers were told.
pub(super) struct Placed {
    pub(super) acknowledged: Acknowledged,
    /// Jobs that were refused with the word that nothing was done.
    pub(super) refused: Vec<String>,
    /// How often each code was seen.
    pub(super) codes: BTreeMap<String, u64>,
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
        let (mut asked, mut jobs, mut refused) = (0, Vec::new(), Vec::new());
        let mut codes = BTreeMap::new();
        for (job, code) in told.into_iter().flatten() {
            asked += 1;
            match code.as_str() {
                "" => jobs.push(job),
                _ => {
                    if code.starts_with("503") {
                        refused.push(job);
                    }
                    *codes.entry(code).or_default() += 1;
                }
            }
        }
        Ok(Placed {
            acknowledged: Acknowledged::new(self.cell, asked, jobs),
            refused,
            codes,
        })
    }

    /// Each job one caller asked for, with the status and code of its refusal; none of those that were placed.
    fn call(&self, number: usize) -> Result<Vec<(String, String)>, Error> {
        if let Some(namespace) = self.namespace {
            namespace.enter()?;
        }
        let caller = Caller::new(self.address, Duration::from_secs(5));
        let mut told = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let job = format!("j{number}-{}", told.len());
            let begin = Instant::now();
            let code = match caller.dispatch(self.cell, &job, self.is_durable) {
                Ok(page) if page.is_ok() => String::new(),
                Ok(page) => format!("{} {}", page.status, page.code()),
                Err(why) => format!("no answer: {why}"),
            };
            told.push((job, code));
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
    ask(wire.as_mut(), &cell, "register", "n1 100000")?;
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
