//! The node in its cell: it registers, says things under its incarnation, and registers again when it was lost.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Mutex, watch};

use crate::cell::{Call, Cell, Trouble};
use crate::deployments::book::Assigned;
use crate::deployments::claim;
use crate::settings::Settings;

/// How the node stands in the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Counts how often this process registered after it was lost. What ran in an earlier epoch belongs to others by now.
    pub epoch: u64,
    /// What the cell knows this registration by. A cell that lost its memory may give the same one twice.
    pub incarnation: u64,
    /// A node that is silent for so long is lost.
    pub heartbeat_ttl: Duration,
    /// Another process registered under the node's name.
    pub is_taken_over: bool,
}

/// This process as a node.
pub struct Node {
    cell: Cell,
    name: String,
    instance: String,
    description: Call,
    standing: watch::Sender<Standing>,
    /// The deployments that it had when it registered.
    assigned: std::sync::Mutex<Assigned>,
    registering: Mutex<()>,
    is_draining: AtomicBool,
    is_leaving: AtomicBool,
}

impl Node {
    /// A node that is not registered yet. `instance` names this process.
    pub fn new(settings: &Settings, cell: Cell, instance: String) -> Self {
        let max_jobs = settings
            .max_jobs
            .map_or_else(|| "-".to_owned(), |jobs| jobs.to_string());
        let description = Call::new("lockless_register")
            .with("node", &settings.node)
            .with("max_jobs", max_jobs)
            .with("instance", &instance)
            .each("pools", settings.pools.iter().cloned())
            .each("pairs", settings.languages.iter().cloned())
            .each("labels", settings.labels.iter().cloned())
            .maybe("region", settings.region.as_ref());
        let standing = Standing {
            epoch: 0,
            incarnation: 0,
            heartbeat_ttl: Duration::from_secs(30),
            is_taken_over: false,
        };
        Self {
            cell,
            name: settings.node.clone(),
            instance,
            description,
            standing: watch::Sender::new(standing),
            assigned: std::sync::Mutex::default(),
            registering: Mutex::new(()),
            is_draining: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it stands now.
    pub fn standing(&self) -> Standing {
        *self.standing.borrow()
    }

    /// How it stands, and each change of that.
    pub fn standings(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// Registers for the first time.
    pub async fn register(&self) -> Result<(), Trouble> {
        let reply = self.cell.call(&self.description).await?;
        let number = |name: &str| reply[name].as_u64().unwrap_or_default();
        let (incarnation, ttl_ms) = (number("incarnation"), number("heartbeat_ttl_ms"));
        *self.lock_assigned() = claim::assigned(&reply["assigned"]);
        self.standing.send_modify(|standing| {
            standing.epoch += 1;
            standing.incarnation = incarnation;
            standing.heartbeat_ttl = Duration::from_millis(ttl_ms);
        });
        Ok(())
    }

    /// The deployments that it had when it last registered.
    pub(crate) fn assigned(&self) -> Assigned {
        self.lock_assigned().clone()
    }

    fn lock_assigned(&self) -> std::sync::MutexGuard<'_, Assigned> {
        self.assigned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for something that is not about the node.
    pub async fn ask(&self, call: &Call) -> Result<Value, Trouble> {
        self.cell.call(call).await
    }

    /// Takes no new work from now on, also if the cell forgets the node in the meantime.
    pub async fn drain(&self) -> Result<(), Trouble> {
        self.is_draining.store(true, Ordering::SeqCst);
        self.say(Call::new("lockless_drain").with("drain", "on"))
            .await
            .map(drop)
    }

    /// From now on a node that the cell has given up stays given up.
    pub fn is_about_to_leave(&self) {
        self.is_leaving.store(true, Ordering::SeqCst);
    }

    /// Says something as the node.
    pub async fn say(&self, call: Call) -> Result<Value, Trouble> {
        self.say_in(self.standing().epoch, call).await
    }

    /// Says something that is true only in that epoch.
    pub async fn say_in(&self, epoch: u64, call: Call) -> Result<Value, Trouble> {
        let call = self.signed(epoch, call)?;
        let answer = self.cell.call(&call).await;
        self.heard(epoch, answer).await
    }

    /// Takes jobs in that epoch, waiting for so long until there is something new.
    pub async fn take_until(
        &self,
        epoch: u64,
        call: Call,
        known_stop: &Value,
        time: Duration,
    ) -> Result<Value, Trouble> {
        let call = self.signed(epoch, call)?;
        let answer = self
            .cell
            .take_until(&call, &self.name, known_stop, time)
            .await;
        self.heard(epoch, answer).await
    }

    fn signed(&self, epoch: u64, call: Call) -> Result<Call, Trouble> {
        let standing = self.standing();
        if standing.epoch != epoch {
            return Err(Trouble::Library {
                code: "STALE_NODE".to_owned(),
                sentence: format!("node '{}' registered again in the meantime", self.name),
            });
        }
        Ok(call
            .with("node", &self.name)
            .with("incarnation", standing.incarnation))
    }

    async fn heard(&self, epoch: u64, answer: Result<Value, Trouble>) -> Result<Value, Trouble> {
        if let Err(trouble) = &answer
            && matches!(trouble.code(), Some("UNKNOWN_NODE" | "STALE_NODE"))
        {
            self.register_again(epoch, trouble).await;
        }
        answer
    }

    /// The cell has given up the node: it begins anew, unless someone else did so under its name.
    async fn register_again(&self, epoch: u64, why: &Trouble) {
        let _one_at_a_time = self.registering.lock().await;
        let standing = self.standing();
        let is_over = standing.is_taken_over || self.is_leaving.load(Ordering::SeqCst);
        if standing.epoch != epoch || is_over {
            return;
        }
        if let Ok(seen) = self
            .cell
            .call(&Call::new("lockless_node").with("node", &self.name))
            .await
            && seen["instance"]
                .as_str()
                .is_some_and(|other| !other.is_empty() && other != self.instance)
            && seen["state"] != "offline"
        {
            tracing::error!(
                node = self.name,
                "another process registered under this node's name"
            );
            self.standing
                .send_modify(|standing| standing.is_taken_over = true);
            return;
        }
        match self.register().await {
            Ok(()) => {
                tracing::warn!(
                    node = self.name,
                    incarnation = self.standing().incarnation,
                    "registered again: {why}"
                );
                self.drain_again().await;
            }
            // Whoever speaks next is told the same, and tries again.
            Err(trouble) => tracing::warn!(node = self.name, "could not register again: {trouble}"),
        }
    }

    /// A cell that forgot the node has forgotten that it drains.
    async fn drain_again(&self) {
        if !self.is_draining.load(Ordering::SeqCst) {
            return;
        }
        let drain = Call::new("lockless_drain")
            .with("node", &self.name)
            .with("drain", "on");
        if let Err(trouble) = self.cell.call(&drain).await {
            tracing::warn!(node = self.name, "could not be drained again: {trouble}");
        }
    }
}
