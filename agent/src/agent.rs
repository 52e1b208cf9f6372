//! The agent: what its tasks share, and what they do to the books.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{RwLock, watch};
use tokio::time::timeout;

use crate::books::{Books, Source};
use crate::cell::Call;
use crate::deployments::book::Deployments;
use crate::handings::Handings;
use crate::job::{self, Item};
use crate::node::Node;
use crate::payload::Capacity;
use crate::sample::{OwnUse, Sampler};
use crate::settings::Settings;
use crate::state::StateDir;

/// The cell's default for the longest result.
const RESULT_LIMIT_BYTES: usize = 65536;

/// How far the agent's end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It takes work.
    Working,
    /// It finishes what it has.
    Draining,
    /// It asks for nothing more.
    Closing,
}

/// What the agent's tasks share.
pub struct Agent {
    pub(crate) settings: Settings,
    pub(crate) node: Node,
    pub(crate) state: Arc<StateDir>,
    pub(crate) sampler: Sampler,
    pub(crate) capacity: Capacity,
    pub(crate) books: Books,
    pub(crate) handings: Handings,
    /// Shared by those who say that a job does not run here, and had alone by a tick, which may be handed it just then.
    pub(crate) going_back: RwLock<()>,
    pub(crate) deployments: Deployments,
    /// What the collector found last, where there is one.
    collected: Mutex<Option<OwnUse>>,
    instance: String,
    phase: watch::Sender<Phase>,
    turns: watch::Sender<u64>,
    requests: AtomicU64,
    deployment_runs: AtomicU64,
    result_limit: AtomicUsize,
}

impl Agent {
    pub(crate) fn new(
        settings: Settings,
        node: Node,
        state: Arc<StateDir>,
        sampler: Sampler,
        capacity: Capacity,
        instance: String,
    ) -> Self {
        Self {
            settings,
            node,
            state,
            sampler,
            capacity,
            books: Books::default(),
            handings: Handings::default(),
            going_back: RwLock::new(()),
            deployments: Deployments::default(),
            collected: Mutex::default(),
            instance,
            phase: watch::Sender::new(Phase::Working),
            turns: watch::Sender::new(0),
            requests: AtomicU64::new(0),
            deployment_runs: AtomicU64::new(0),
            result_limit: AtomicUsize::new(RESULT_LIMIT_BYTES),
        }
    }

    /// Starts what a reply hands out.
    pub(crate) fn start(self: &Arc<Self>, items: &Value, source: Source, epoch: u64) {
        for item in items.as_array().into_iter().flatten() {
            let item = Item::read(item, source, epoch);
            let (number, wishes) = self.books.enter(&item.job, epoch);
            tokio::spawn(job::run(Arc::clone(self), item, number, wishes));
        }
    }

    /// Stops what a reply wants stopped. What is not here and can't be on its way is said to be stopped.
    pub(crate) async fn stop(&self, jobs: &Value, epoch: u64) {
        let jobs = jobs
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let unknown: Vec<String> = jobs
            .filter(|job| !self.books.ask(job, epoch))
            .map(str::to_owned)
            .collect();
        for job in self.handings.not_coming(unknown) {
            let _no_tick = self.going_back.read().await;
            tracing::info!(job, "does not run here: said to be stopped");
            let call = Call::new("lockless_stopped")
                .with("job", &job)
                .with("outcome", "ok");
            if let Err(trouble) = self.node.say_in(epoch, call).await {
                // It is asked for again, if that is still of interest.
                tracing::debug!(job, "that was not heard: {trouble}");
            }
        }
    }

    /// Stops what belongs to an epoch that is over, whenever one is.
    pub(crate) async fn abandon_what_is_lost(self: Arc<Self>) {
        let mut standings = self.node.standings();
        loop {
            let epoch = standings.borrow_and_update().epoch;
            self.books.abandon_all_but(epoch);
            self.deployments.begin_epoch(epoch, &self.node.assigned());
            if standings.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns at the end of the next tick; at once where there are none.
    pub(crate) async fn next_turn(&self) {
        if self.settings.tick.is_some() {
            let _ = self.turns.subscribe().changed().await;
        }
    }

    pub(crate) fn turn_is_over(&self) {
        self.turns.send_modify(|turns| *turns += 1);
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_if_modified(|now| {
            let is_later = phase > *now;
            if is_later {
                *now = phase;
            }
            is_later
        });
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.phase.borrow() >= Phase::Draining
    }

    /// Returns when the agent begins to drain; never if it does already.
    pub(crate) async fn begins_to_drain(&self) {
        if self.is_draining() {
            return std::future::pending().await;
        }
        let mut phases = self.phase.subscribe();
        let _ = phases.wait_for(|phase| *phase >= Phase::Draining).await;
    }

    /// Waits so long, and says whether the agent is about to end.
    pub(crate) async fn is_closing_within(&self, time: Duration) -> bool {
        let mut phases = self.phase.subscribe();
        let closing = phases.wait_for(|phase| *phase == Phase::Closing);
        timeout(time, closing).await.is_ok()
    }

    /// A request that was never made before.
    pub(crate) fn request_id(&self) -> String {
        format!(
            "{}-{}",
            self.instance,
            self.requests.fetch_add(1, Ordering::Relaxed)
        )
    }

    /// What marks the processes of a run.
    pub(crate) fn run_id(&self, number: u64) -> String {
        format!("{}-{number}", self.instance)
    }

    /// What marks the processes of a deployment's run.
    pub(crate) fn deployment_run_id(&self) -> String {
        let number = self.deployment_runs.fetch_add(1, Ordering::Relaxed);
        format!("{}-d{number}", self.instance)
    }

    /// Has the collector's figure used.
    pub(crate) fn note_own_use(&self, own: OwnUse) {
        *self
            .collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(own);
    }

    /// What the agent and everything it started use: what the collector found last, or what is so now.
    pub(crate) async fn own_use(&self) -> OwnUse {
        let collected = *self
            .collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match collected {
            Some(own) => own,
            None => self.sampler.own_use().await,
        }
    }

    pub(crate) fn result_limit(&self) -> usize {
        self.result_limit.load(Ordering::Relaxed)
    }

    pub(crate) fn set_result_limit(&self, bytes: usize) {
        self.result_limit.store(bytes, Ordering::Relaxed);
    }
}
