//! Primaries of a Cluster that are killed, and replicas that take over, with and without being asked to.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;

use super::outages;
use super::servers::Cluster;
use super::trial::Trial;
use crate::Error;
use crate::fault::Fault;
use crate::outcome::Outcome;
use crate::run::Run;

pub(super) const FAULT: Fault = Fault {
    name: "failover",
    summary: "Cluster: kill -9 of a primary, `CLUSTER FAILOVER` and `TAKEOVER`, in turn.",
    control: "the same calls beside it, without `WAIT`.",
    quick_limit: Duration::from_secs(90),
    full_limit: Duration::from_secs(900),
    run,
};

const KINDS: [Kind; 3] = [Kind::Kill, Kind::Failover, Kind::Takeover];
/// Rounds whose calls are judged together.
const ROUNDS_TOGETHER: u64 = 5;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Kill,
    Failover,
    Takeover,
}

fn run(run: &Run) -> Result<Outcome, Error> {
    let rounds = run.rounds(3, 50);
    let cluster = Arc::new(Cluster::on_loopback(run)?);
    let mut random = run.random(1);
    let mut outcome = Outcome::default();
    let mut lasted = Vec::new();
    while outcome.rounds < rounds {
        let trial = Trial::start(run, &cluster, outcome.rounds)?;
        for round in outcome.rounds..rounds.min(outcome.rounds + ROUNDS_TOGETHER) {
            run.pause(Duration::from_millis(random.u64(300..900)))?;
            let kind = KINDS[(round % 3) as usize];
            lasted.push(one_round(run, &cluster, &trial, kind, &mut random)?);
            outcome.rounds += 1;
        }
        trial.finish(run, &mut outcome)?;
    }
    outcome.notes.push(outages(&mut lasted));
    // The system still sends the last words of a process that was killed, so on one machine hardly anything is lost that nobody
    // confirmed. A few rounds need not see it; `halted` and `parted` do.
    if outcome
        .control
        .as_ref()
        .is_some_and(|control| control.losses() == 0)
    {
        outcome.control = None;
        outcome
            .notes
            .push("the same calls without WAIT lost nothing either".to_owned());
    }
    Ok(outcome)
}

fn one_round(
    run: &Run,
    cluster: &Cluster,
    trial: &Trial,
    kind: Kind,
    random: &mut Rng,
) -> Result<Duration, Error> {
    let primaries = cluster.primaries();
    let primary = primaries[random.usize(..primaries.len())];
    let replica = cluster.replica_of(primary)?;
    let root = trial.cell_on(cluster, primary)?;
    let broken = trial.break_now();
    match kind {
        Kind::Kill => cluster.nodes()[primary].kill(),
        Kind::Failover => cluster.nodes()[replica].say(&["CLUSTER", "FAILOVER"])?,
        Kind::Takeover => cluster.nodes()[replica].say(&["CLUSTER", "FAILOVER", "TAKEOVER"])?,
    }
    cluster.wait_until_primary(run, replica)?;
    if matches!(kind, Kind::Kill) {
        cluster.start_node(run, primary)?;
    }
    cluster.wait_until_whole(run)?;
    trial.healed(&broken);
    trial.outage(run, &root, &broken)
}
