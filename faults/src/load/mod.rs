//! The load: nodes that take and end work, and callers that make it, on threads of their own. All of them repeat what was not answered, as
//! clients do, and some of what they say is late, doubled or stale on purpose.

mod caller;
mod node;
mod turn;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fastrand::Rng;

use crate::history::{Recorder, Scribe};
use crate::run::Run;
use crate::wire::{Route, Said};
use crate::{Error, rules};

/// What a load is made of.
#[derive(Clone)]
pub struct Plan {
    /// The root keys of the cells.
    pub roots: Vec<Arc<str>>,
    /// Nodes of each cell.
    pub nodes: usize,
    /// Slots of each node.
    pub max_jobs: u64,
    /// Callers; each calls all cells.
    pub callers: usize,
    /// The cells' setting; nodes speak four times within it.
    pub heartbeat_ttl_ms: u64,
    /// The pause after each call of a caller, and about the one after each turn of a node.
    pub pause: Duration,
    /// Bytes of each payload.
    pub payload_bytes: usize,
    /// What everything random is drawn from.
    pub seed: u64,
}

impl Plan {
    /// A small load on one cell, enough to keep its nodes full now and then.
    pub fn small(root: &str, seed: u64) -> Self {
        Self {
            roots: vec![root.into()],
            nodes: 4,
            max_jobs: 3,
            callers: 4,
            heartbeat_ttl_ms: 4000,
            pause: Duration::from_millis(1),
            payload_bytes: 32,
            seed,
        }
    }

    /// The longest lease in a cell of this plan: of presence, of sessions, of reservations.
    pub fn longest_lease(&self) -> Duration {
        let longest_ms = self.heartbeat_ttl_ms.max(turn::LEASE_MS).max(turn::ACK_MS);
        Duration::from_millis(longest_ms)
    }
}

/// Makes the cells of a plan, with their settings. Every setting is such that nothing ends by its time but presence, leases and reservations,
/// and that the record of every job is there in the end.
pub fn prepare(plan: &Plan, route: &dyn Route) -> Result<(), Error> {
    let mut wire = route.open();
    for root in &plan.roots {
        let settings = format!(
            "heartbeat_ttl_ms {} keep_finished_ms 864000000 retry_backoff_ms 20 retry_backoff_max_ms 100",
            plan.heartbeat_ttl_ms
        );
        let args: Vec<String> = settings.split(' ').map(str::to_owned).collect();
        let said = wire.call(root, "config", &args);
        if said.reply().is_none() {
            return Err(Error::Call {
                call: format!("config {settings}"),
                said: format!("{said:?}"),
            });
        }
    }
    Ok(())
}

const WORK: u8 = 0;
const DRAIN: u8 = 1;
const STOP: u8 = 2;

/// What all threads of a load look at.
#[derive(Clone)]
struct Phase(Arc<AtomicU8>);

impl Phase {
    fn is(&self, phase: u8) -> bool {
        self.0.load(Ordering::SeqCst) == phase
    }
}

/// A load that runs, until it is dropped.
pub struct Load {
    plan: Plan,
    route: Arc<dyn Route>,
    phase: Phase,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts it in cells that [`prepare`] made.
    pub fn start(plan: Plan, route: Arc<dyn Route>, recorder: &Arc<Recorder>) -> Self {
        let phase = Phase(Arc::new(AtomicU8::new(WORK)));
        let mut random = Rng::with_seed(plan.seed);
        let mut threads = Vec::new();
        for root in &plan.roots {
            for number in 0..plan.nodes {
                let scribe = Scribe::new(recorder.clone(), route.open());
                let name = format!("n{number}");
                let random = random.fork();
                let node = node::Node::new(root.clone(), name, &plan, scribe, random);
                let phase = phase.clone();
                threads.push(thread::spawn(move || node.live(&phase)));
            }
        }
        for number in 0..plan.callers {
            let scribe = Scribe::new(recorder.clone(), route.open());
            let caller = caller::Caller::new(number, &plan, scribe, random.fork());
            let phase = phase.clone();
            threads.push(thread::spawn(move || caller.live(&phase)));
        }
        Self {
            plan,
            route,
            phase,
            threads,
        }
    }

    /// Ends the callers, has the nodes work off what there is, and waits until nothing is left.
    pub fn drain(mut self, run: &Run, patience: Duration) -> Result<(), Error> {
        self.phase.0.store(DRAIN, Ordering::SeqCst);
        let mut wire = self.route.open();
        for root in &self.plan.roots {
            run.wait_for("the end of all jobs", patience, || {
                rules::cell::is_empty(wire.as_mut(), root)
            })?;
        }
        self.stop();
        Ok(())
    }

    /// Ends everyone where they are.
    pub fn stop(&mut self) {
        self.phase.0.store(STOP, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so; what it did not record shows in the end.
            let _ = thread.join();
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Waits a little after a call that reached nobody, so that a server that is away is not asked all the time.
fn rest_if_away(said: &Said) {
    if matches!(said, Said::Unsent(_) | Said::Maybe(_)) {
        thread::sleep(Duration::from_millis(10));
    }
}
