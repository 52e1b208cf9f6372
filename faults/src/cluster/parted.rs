//! A primary and a gateway that are cut off from the majority, for a moment or for long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::http_load::{HttpLoad, Placed, joined, new_cell};
use super::outages;
use super::programs::Program;
use super::route::ToCluster;
use super::servers::{Cluster, SERVERS};
use super::trial::{Moment, Trial};
use crate::Error;
use crate::fault::Fault;
use crate::outcome::{Outcome, Rule, Tally, Violation};
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
const QUICK_CUTS_MS: [u64; 2] = [500, 6000];
const SERVED_WITHIN: Duration = Duration::from_secs(30);

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
    let (mut beside, mut by_gateway) = (Tally::default(), Tally::default());
    while outcome.rounds < rounds {
        let mut trial = Trial::start(run, &cluster, outcome.rounds)?;
        for round in outcome.rounds..rounds.min(outcome.rounds + ROUNDS_TOGETHER) {
            let cut_ms = match run.is_quick() {
                true => QUICK_CUTS_MS[round as usize % QUICK_CUTS_MS.len()],
                false => random.u64(500..10_000),
            };
            let (primary, broken) = trial.before(run, &cluster, &mut random)?;
            let mut round = Round {
                run,
                cluster: &cluster,
                trial: &mut trial,
                gateway: &gateway,
                outcome: &mut outcome,
                by_gateway: &mut by_gateway,
            };
            lasted.push(round.cut_off(primary, &broken, Duration::from_millis(cut_ms))?);
            outcome.rounds += 1;
        }
        trial.finish(run, &cluster, &mut outcome, &mut beside)?;
    }
    outcome.notes.push(outages(&mut lasted));
    outcome.add_control("the calls past the gateway", beside);
    outcome.add_control("the calls by the gateway", by_gateway);
    Ok(outcome)
}

struct Round<'a> {
    run: &'a Run,
    cluster: &'a Arc<Cluster>,
    trial: &'a mut Trial,
    gateway: &'a Program,
    outcome: &'a mut Outcome,
    by_gateway: &'a mut Tally,
}

impl Round<'_> {
    /// Cuts a primary and the gateway off for so long, under load, and counts what was lost.
    fn cut_off(
        &mut self,
        primary: usize,
        broken: &Moment,
        time: Duration,
    ) -> Result<Duration, Error> {
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
        let load = |cell, is_durable| HttpLoad {
            namespace: Some(namespace),
            address: self.gateway.address(),
            cell,
            is_durable,
            is_over: &is_over,
            placed: AtomicU64::new(0),
        };
        let (sure_load, bare_load) = (load(&sure_cell, true), load(&bare_cell, false));
        let (lasted, healed, sure, bare) = thread::scope(|scope| {
            let sure = scope.spawn(|| sure_load.run());
            let bare = scope.spawn(|| bare_load.run());
            let cut = || -> Result<(Duration, Instant), Error> {
                run.pause(Duration::from_millis(400))?;
                network.cut_off(run, &[primary as u8, GATEWAY])?;
                run.pause(time)?;
                network.heal(run)?;
                let (healed, mended) = (Instant::now(), self.trial.now());
                self.trial.heal(run, cluster, broken, &mended)?;
                let lasted = self.trial.outage(run, &root, broken)?;
                let before = sure_load.placed.load(Ordering::Relaxed);
                run.wait_for(
                    "an answer of the gateway",
                    SERVED_WITHIN,
                    || match sure_load.placed.load(Ordering::Relaxed) {
                        now if now > before => Ok(()),
                        _ => Err("it placed nothing".to_owned()),
                    },
                )?;
                Ok((lasted, healed))
            }();
            is_over.store(true, Ordering::Relaxed);
            let (lasted, healed) = cut?;
            Ok::<_, Error>((lasted, healed, joined(sure)?, joined(bare)?))
        })?;
        self.judge_recovery(&sure, healed);
        let mut wire = ToCluster::new(cluster, Duration::ZERO).open();
        let sure = sure.acknowledged.judged(wire.as_mut())?;
        self.outcome.protected.add(sure);
        self.by_gateway
            .add(bare.acknowledged.judged(wire.as_mut())?);
        Ok(lasted)
    }

    /// The gateway too serves the cell that was cut off, confirmed, soon enough after the network was healed.
    fn judge_recovery(&mut self, placed: &Placed, healed: Instant) {
        let took = placed.first_after(healed).unwrap_or(Duration::MAX);
        self.outcome.recovered_in(took);
        let allowed = self.trial.recovers_within();
        if took > allowed {
            let sentence =
                format!("the gateway placed nothing for {took:?}, more than {allowed:?}");
            let late = Violation::new(Rule::Recovers, sentence);
            self.outcome.protected.violations.push(late);
        }
    }
}
