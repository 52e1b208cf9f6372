//! A primary and a gateway that are cut off from the majority, for a moment or for long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::http::Caller;
use super::http_load::{HttpLoad, joined, new_cell};
use super::network::Namespace;
use super::outages;
use super::programs::Program;
use super::route::ToCluster;
use super::servers::{Cluster, SERVERS};
use super::trial::Trial;
use crate::Error;
use crate::fault::Fault;
use crate::outcome::{Outcome, Tally};
use crate::run::Run;
use crate::wire::Route;

pub(super) const FAULT: Fault = Fault {
    name: "parted",
    summary: "Cluster: a primary and a gateway are cut off from the majority for 0.5 to 10 s, in network namespaces.",
    control: "the same calls beside it, without `WAIT` and without `Prefer: durability=replica`.",
    quick_limit: Duration::from_secs(120),
    full_limit: Duration::from_secs(900),
    run,
};

/// Rounds whose calls are judged together.
const ROUNDS_TOGETHER: u64 = 4;
/// The gateway's place in the network, after the servers.
const GATEWAY: u8 = SERVERS as u8;
/// Cuts of a quick run: one that nobody notices, and one that has the replica take over.
const QUICK_CUTS_MS: [u64; 2] = [500, 3500];
const READY_WITHIN: Duration = Duration::from_secs(30);

fn run(run: &Run) -> Result<Outcome, Error> {
    let rounds = run.rounds(QUICK_CUTS_MS.len() as u64, 20);
    let cluster = Arc::new(Cluster::in_a_network(run, 1)?);
    let network = cluster.network()?;
    let namespace = network.member(GATEWAY);
    let arguments = [
        "--redis",
        &cluster.nodes()[0].url(),
        "--cell",
        "faults:{main}",
        "--cell",
        "faults:{*}",
    ];
    let gateway = Program::gateway(run, Some(namespace), "gateway", &arguments)?;
    let mut random = run.random(1);
    let mut outcome = Outcome::default();
    let mut lasted = Vec::new();
    while outcome.rounds < rounds {
        let trial = Trial::start(run, &cluster, outcome.rounds)?;
        for round in outcome.rounds..rounds.min(outcome.rounds + ROUNDS_TOGETHER) {
            let cut_ms = match run.is_quick() {
                true => QUICK_CUTS_MS[round as usize % QUICK_CUTS_MS.len()],
                false => random.u64(500..10_000),
            };
            let primaries = cluster.primaries();
            let primary = primaries[random.usize(..primaries.len())];
            let mut round = Round {
                run,
                cluster: &cluster,
                trial: &trial,
                gateway: &gateway,
                outcome: &mut outcome,
            };
            lasted.push(round.cut_off(primary, Duration::from_millis(cut_ms))?);
            outcome.rounds += 1;
        }
        trial.finish(run, &mut outcome)?;
    }
    outcome.notes.push(outages(&mut lasted));
    Ok(outcome)
}

struct Round<'a> {
    run: &'a Run,
    cluster: &'a Arc<Cluster>,
    trial: &'a Trial,
    gateway: &'a Program,
    outcome: &'a mut Outcome,
}

impl Round<'_> {
    /// Cuts a primary and the gateway off for so long, under load, and counts what was lost.
    fn cut_off(&mut self, primary: usize, time: Duration) -> Result<Duration, Error> {
        let (run, cluster) = (self.run, self.cluster);
        let network = cluster.network()?;
        let root = self.trial.cell_on(cluster, primary)?;
        let cell = |name: &str| {
            let name = format!("{name}{}", self.outcome.rounds);
            new_cell(cluster, primary, &name)
        };
        let (sure_cell, bare_cell) = (cell("by-gateway")?, cell("by-gateway-bare")?);
        let namespace = network.member(GATEWAY);
        let is_over = AtomicBool::new(false);
        let mut lasted = Duration::ZERO;
        let (sure, bare) = thread::scope(|scope| {
            let load = |cell, is_durable| HttpLoad {
                namespace: Some(namespace),
                address: self.gateway.address(),
                cell,
                is_durable,
                is_over: &is_over,
            };
            let (sure, bare) = (load(&sure_cell, true), load(&bare_cell, false));
            let sure = scope.spawn(move || sure.run());
            let bare = scope.spawn(move || bare.run());
            let broken = || -> Result<Duration, Error> {
                run.pause(Duration::from_millis(400))?;
                let broken = self.trial.break_now();
                network.cut_off(&[primary as u8, GATEWAY])?;
                run.pause(time)?;
                network.heal()?;
                cluster.wait_until_whole(run)?;
                self.trial.healed(&broken);
                self.trial.outage(run, &root, &broken)
            }();
            is_over.store(true, Ordering::Relaxed);
            lasted = broken?;
            Ok::<_, Error>((joined(sure)?, joined(bare)?))
        })?;
        let took = self.wait_until_served(namespace, &sure_cell)?;
        self.outcome.recovered_in(took);
        let mut wire = ToCluster::new(cluster, Duration::ZERO).open();
        for (placed, is_control) in [(sure, false), (bare, true)] {
            let said = placed.acknowledged;
            let tally = Tally {
                operations: said.asked as u64,
                maybes: (said.asked - said.jobs.len()) as u64,
                violations: said.gone(wire.as_mut())?,
            };
            match is_control {
                true => self.outcome.control.get_or_insert_default().add(tally),
                false => self.outcome.protected.add(tally),
            }
        }
        Ok(lasted)
    }

    /// How long it takes until the gateway places a job of the cell that was cut off, confirmed.
    fn wait_until_served(&self, namespace: &Namespace, cell: &str) -> Result<Duration, Error> {
        thread::scope(|scope| {
            let serving = scope.spawn(|| {
                namespace.enter()?;
                let caller = Caller::new(self.gateway.address(), Duration::from_secs(5));
                self.run
                    .wait_for("an answer of the gateway", READY_WITHIN, || {
                        let page = caller.dispatch(cell, "after", true)?;
                        if page.is_ok() { Ok(()) } else { Err(page.body) }
                    })
            });
            joined(serving)
        })
    }
}
