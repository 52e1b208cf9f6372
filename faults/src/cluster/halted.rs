//! A primary that is halted while its replica takes over, and goes on with the calls that were waiting in its sockets.

use std::sync::Arc;
use std::time::Duration;

use super::outages;
use super::queued::Queue;
use super::route::ToCluster;
use super::servers::Cluster;
use super::trial::Trial;
use crate::Error;
use crate::fault::Fault;
use crate::outcome::{Outcome, Tally};
use crate::run::Run;
use crate::wire::Route;

pub(super) const FAULT: Fault = Fault {
    name: "halted",
    summary: "Cluster: SIGSTOP of a primary, failover, SIGCONT with calls queued in its sockets.",
    control: "the same calls beside it and in its sockets, without `WAIT`.",
    quick_limit: Duration::from_secs(90),
    full_limit: Duration::from_secs(600),
    run,
};

/// Rounds whose calls are judged together.
const ROUNDS_TOGETHER: u64 = 4;
/// Calls that wait in the sockets of the halted primary, of each kind.
const QUEUED: usize = 20;

fn run(run: &Run) -> Result<Outcome, Error> {
    let rounds = run.rounds(2, 20);
    let cluster = Arc::new(Cluster::on_loopback(run)?);
    let mut random = run.random(1);
    let mut outcome = Outcome::default();
    let mut lasted = Vec::new();
    while outcome.rounds < rounds {
        let trial = Trial::start(run, &cluster, outcome.rounds)?;
        for _ in outcome.rounds..rounds.min(outcome.rounds + ROUNDS_TOGETHER) {
            run.pause(Duration::from_millis(random.u64(300..900)))?;
            let primaries = cluster.primaries();
            let primary = primaries[random.usize(..primaries.len())];
            lasted.push(one_round(run, &cluster, &trial, primary, &mut outcome)?);
            outcome.rounds += 1;
        }
        trial.finish(run, &mut outcome)?;
    }
    outcome.notes.push(outages(&mut lasted));
    Ok(outcome)
}

fn one_round(
    run: &Run,
    cluster: &Arc<Cluster>,
    trial: &Trial,
    primary: usize,
    outcome: &mut Outcome,
) -> Result<Duration, Error> {
    let replica = cluster.replica_of(primary)?;
    let root = trial.cell_on(cluster, primary)?;
    let queue = |name: &str, is_durable| {
        let name = format!("{name}{}", outcome.rounds);
        Queue::new(cluster, primary, &name, is_durable, QUEUED)
    };
    let (mut sure, mut bare) = (queue("queued", true)?, queue("queued-bare", false)?);
    let broken = trial.break_now();
    cluster.nodes()[primary].freeze();
    sure.send();
    bare.send();
    cluster.wait_until_primary(run, replica)?;
    cluster.nodes()[primary].thaw();
    let (sure, bare) = (sure.acknowledged(), bare.acknowledged());
    cluster.wait_until_whole(run)?;
    trial.healed(&broken);
    let lasted = trial.outage(run, &root, &broken)?;
    let mut wire = ToCluster::new(cluster, Duration::ZERO).open();
    for (acknowledged, is_control) in [(sure, false), (bare, true)] {
        let tally = Tally {
            operations: acknowledged.asked as u64,
            maybes: (acknowledged.asked - acknowledged.jobs.len()) as u64,
            violations: acknowledged.gone(wire.as_mut())?,
        };
        if is_control {
            outcome.control.get_or_insert_default().add(tally);
        } else {
            outcome.protected.add(tally);
        }
    }
    Ok(lasted)
}
