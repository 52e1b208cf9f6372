//! A primary that is halted while its replica takes over, and goes on with the calls that were waiting in its sockets.

use std::sync::Arc;
use std::time::Duration;

use super::outages;
use super::queued::Queue;
use super::route::ToCluster;
use super::servers::Cluster;
use super::trial::{Moment, Trial};
use crate::Error;
use crate::fault::Fault;
use crate::outcome::{Outcome, Tally};
use crate::run::Run;
use crate::wire::Route;

pub(super) const FAULT: Fault = Fault {
    name: "halted",
    summary: "Cluster: SIGSTOP of a primary, failover, SIGCONT with calls queued in its sockets.",
    control: "the same calls in its sockets, without `WAIT`.",
    quick_limit: Duration::from_secs(90),
    full_limit: Duration::from_secs(600),
    run,
};

/// Rounds whose calls are judged together.
const ROUNDS_TOGETHER: u64 = 4;
/// Calls that wait in the sockets of the halted primary, of each kind.
const QUEUED: usize = 20;

fn run(run: &Run) -> Result<Outcome, Error> {
    let rounds = run.rounds(1, 20);
    let cluster = Arc::new(Cluster::on_loopback(run)?);
    let mut random = run.random(1);
    let mut outcome = Outcome::default();
    let mut lasted = Vec::new();
    let (mut beside, mut in_sockets) = (Tally::default(), Tally::default());
    while outcome.rounds < rounds {
        let mut trial = Trial::start(run, &cluster, outcome.rounds)?;
        for _ in outcome.rounds..rounds.min(outcome.rounds + ROUNDS_TOGETHER) {
            run.pause(Duration::from_millis(random.u64(300..900)))?;
            let (primary, broken) = trial.before(run, &cluster, &mut random)?;
            let mut round = Round {
                run,
                cluster: &cluster,
                trial: &mut trial,
                outcome: &mut outcome,
                in_sockets: &mut in_sockets,
            };
            lasted.push(round.halt(primary, &broken)?);
            outcome.rounds += 1;
        }
        trial.finish(run, &cluster, &mut outcome, &mut beside)?;
    }
    outcome.notes.push(outages(&mut lasted));
    outcome.add_control("the calls in its sockets", in_sockets);
    // Whoever calls beside it hears nothing while it is halted, and then mostly from the other one.
    outcome.notes.push(format!(
        "the calls beside it without WAIT, which need not lose anything: {} losses",
        beside.losses()
    ));
    Ok(outcome)
}

struct Round<'a> {
    run: &'a Run,
    cluster: &'a Arc<Cluster>,
    trial: &'a mut Trial,
    outcome: &'a mut Outcome,
    in_sockets: &'a mut Tally,
}

impl Round<'_> {
    /// Halts a primary until its replica has taken over. Says for how long its cell took no work.
    fn halt(&mut self, primary: usize, broken: &Moment) -> Result<Duration, Error> {
        let (run, cluster) = (self.run, self.cluster);
        let replica = cluster.replica_of(primary)?;
        let root = self.trial.cell_on(cluster, primary)?;
        let queue = |name: &str, is_durable| {
            let name = format!("{name}{}", self.outcome.rounds);
            Queue::new(cluster, primary, &name, is_durable, QUEUED)
        };
        let (mut sure, mut bare) = (queue("queued", true)?, queue("queued-bare", false)?);
        cluster.nodes()[primary].freeze(run);
        sure.send();
        bare.send();
        cluster.wait_until_primary(run, replica)?;
        cluster.nodes()[primary].thaw(run);
        let mended = self.trial.now();
        let (sure, bare) = (sure.acknowledged(), bare.acknowledged());
        self.trial.heal(run, cluster, broken, &mended)?;
        let lasted = self.trial.outage(run, &root, broken)?;
        let mut wire = ToCluster::new(cluster, Duration::ZERO).open();
        self.outcome.protected.add(sure.judged(wire.as_mut())?);
        self.in_sockets.add(bare.judged(wire.as_mut())?);
        Ok(lasted)
    }
}
