//! One of two loads: its cells, what it does, and how it is judged.

use std::sync::Arc;
use std::time::Duration;

use lockless_topology::slot_of_key;

use crate::Error;
use crate::cluster::route::ToCluster;
use crate::cluster::servers::{Cluster, PRIMARIES};
use crate::history::{Durability, Recorder};
use crate::load::{Load, Plan, prepare};
use crate::outcome::{Rule, Tally, Violation};
use crate::rules;
use crate::run::Run;
use crate::wire::Route;

/// Nodes are given up after so long: longer than a failover, so that most of them outlive it.
const HEARTBEAT_TTL_MS: u64 = 6000;
/// Every call of the load waits so long first: the machine is shared, and a history has to be judged.
const PACE: Duration = Duration::from_millis(4);
const DRAIN_WITHIN: Duration = Duration::from_secs(40);

/// A load on a cell of each primary.
pub(super) struct Side {
    pub(super) plan: Plan,
    pub(super) route: Arc<ToCluster>,
    pub(super) recorder: Arc<Recorder>,
    load: Option<Load>,
    /// What audits found after each fault, and what never ended.
    pub(super) found: Vec<Violation>,
}

impl Side {
    pub(super) fn start(
        run: &Run,
        cluster: &Arc<Cluster>,
        name: &str,
        durability: Durability,
    ) -> Result<Self, Error> {
        let route = Arc::new(ToCluster::new(cluster, PACE));
        let plan = Plan {
            roots: cells(cluster, name)?,
            nodes: 2,
            callers: 3,
            heartbeat_ttl_ms: HEARTBEAT_TTL_MS,
            ..Plan::small("", run.seed())
        };
        prepare(&plan, route.as_ref())?;
        let recorder = Recorder::new(durability, HEARTBEAT_TTL_MS);
        let load = Load::start(
            plan.clone(),
            Arc::clone(&route) as Arc<dyn Route>,
            &recorder,
        );
        Ok(Self {
            plan,
            route,
            recorder,
            load: Some(load),
            found: Vec::new(),
        })
    }

    /// Ends the load, once all that was begun has ended.
    pub(super) fn drain(&mut self, run: &Run) -> Result<(), Error> {
        let Some(load) = self.load.take() else {
            return Ok(());
        };
        match load.drain(run, DRAIN_WITHIN) {
            // Something that was acknowledged never ends.
            Err(Error::Waited { what, seen, .. }) => {
                let sentence = format!("{what} did not come: {seen}");
                self.found.push(Violation::new(Rule::JobKept, sentence));
                Ok(())
            }
            other => other,
        }
    }

    pub(super) fn finish(self, run: &Run) -> Result<(Tally, Option<Duration>), Error> {
        let verdict = rules::verdict(run, &self.plan, self.route.as_ref(), &self.recorder)?;
        let mut tally = verdict.tally;
        tally.violations.extend(self.found);
        Ok((tally, verdict.recovery))
    }
}

/// A cell for each primary.
pub(in crate::cluster) fn cells(cluster: &Cluster, name: &str) -> Result<Vec<Arc<str>>, Error> {
    let primaries = cluster.primaries();
    if primaries.len() != PRIMARIES {
        return Err(Error::Call {
            call: "the primaries of the Cluster".to_owned(),
            said: format!("{} of {PRIMARIES} answer", primaries.len()),
        });
    }
    let cells = primaries
        .into_iter()
        .map(|primary| cell_of(cluster, primary, name));
    cells.collect()
}

/// A cell that a primary has.
pub(in crate::cluster) fn cell_of(
    cluster: &Cluster,
    primary: usize,
    name: &str,
) -> Result<Arc<str>, Error> {
    let view = cluster.nodes()[primary].view()?;
    let mut names = (0..100_000).map(|number| format!("faults:{{{name}-{number}}}"));
    let root = names.find(|root| view.has_slot(slot_of_key(root)));
    root.map(Arc::from).ok_or_else(|| no_cell(cluster, primary))
}

pub(super) fn no_cell(cluster: &Cluster, primary: usize) -> Error {
    Error::Call {
        call: format!("a cell on {}", cluster.nodes()[primary]),
        said: "it has none".to_owned(),
    }
}
