//! Primaries of a Cluster that are killed, and replicas that take over, with and without being asked to.

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
    name: "failover",
    summary: "Cluster: kill -9 of a primary, `CLUSTER FAILOVER` and `TAKEOVER`, in turn.",
    control: "the same calls beside it, and just before a `TAKEOVER`, without `WAIT`. A `CLUSTER FAILOVER` loses nothing by design: the primary waits for its \
              replica; and on one machine the last words of a process that was killed still arrive. So each part must lose something in the rounds together.",
    quick_limit: Duration::from_secs(90),
    full_limit: Duration::from_secs(900),
    run,
};

const KINDS: [Kind; 3] = [Kind::Kill, Kind::Failover, Kind::Takeover];
/// Rounds whose calls are judged together.
const ROUNDS_TOGETHER: u64 = 5;
/// Calls of each kind that a replica has not read when it takes over: more than it reads at once.
const UNREAD: usize = 100;
/// For how long the replica reads nothing: not so long that it is taken for gone.
const BEHIND: Duration = Duration::from_millis(300);
/// A `CLUSTER FAILOVER` is ordered so often, and again after so long.
const FAILOVER_ORDERS: usize = 5;
const GIVEN_UP_AFTER: Duration = Duration::from_secs(7);
const ORDER_WITHIN: Duration = Duration::from_secs(2);

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
    let (mut beside, mut unread) = (Tally::default(), Tally::default());
    while outcome.rounds < rounds {
        let mut trial = Trial::start(run, &cluster, outcome.rounds)?;
        for round in outcome.rounds..rounds.min(outcome.rounds + ROUNDS_TOGETHER) {
            run.pause(Duration::from_millis(random.u64(300..900)))?;
            let kind = KINDS[(round % 3) as usize];
            let (primary, broken) = trial.before(run, &cluster, &mut random)?;
            let mut round = Round {
                run,
                cluster: &cluster,
                trial: &mut trial,
                outcome: &mut outcome,
                unread: &mut unread,
            };
            lasted.push(round.fail_over(primary, &broken, kind)?);
            outcome.rounds += 1;
        }
        trial.finish(run, &cluster, &mut outcome, &mut beside)?;
    }
    outcome.notes.push(outages(&mut lasted));
    outcome.add_control("the calls beside it", beside);
    outcome.add_control("the calls just before a TAKEOVER", unread);
    Ok(outcome)
}

struct Round<'a> {
    run: &'a Run,
    cluster: &'a Arc<Cluster>,
    trial: &'a mut Trial,
    outcome: &'a mut Outcome,
    unread: &'a mut Tally,
}

impl Round<'_> {
    /// Has a replica take a primary's place, under load. Says for how long its cell took no work.
    fn fail_over(
        &mut self,
        primary: usize,
        broken: &Moment,
        kind: Kind,
    ) -> Result<Duration, Error> {
        let (run, cluster) = (self.run, self.cluster);
        let replica = cluster.replica_of(primary)?;
        let root = self.trial.cell_on(cluster, primary)?;
        let mended = match kind {
            Kind::Kill => {
                cluster.nodes()[primary].kill(run);
                cluster.wait_until_primary(run, replica)?;
                cluster.start_node(run, primary)?;
                self.trial.now()
            }
            Kind::Failover => self.fail_over_by_order(replica)?,
            Kind::Takeover => self.take_over(primary, replica)?,
        };
        cluster.wait_until_primary(run, replica)?;
        self.trial.heal(run, cluster, broken, &mended)?;
        self.trial.outage(run, &root, broken)
    }

    /// An order is given up by the servers after five seconds, when the replica was not up to date by then: whoever gave it gives it again. It is
    /// refused when the replica takes over unasked, or just did. Says when it was given last.
    fn fail_over_by_order(&mut self, replica: usize) -> Result<Moment, Error> {
        let (run, cluster) = (self.run, self.cluster);
        let mut ordered = self.trial.now();
        for _ in 0..FAILOVER_ORDERS {
            match cluster.nodes()[replica].order(run, &["CLUSTER", "FAILOVER"]) {
                Ok(()) => ordered = self.trial.now(),
                Err(error) => run.say(error),
            }
            match cluster.wait_for_primary(run, replica, GIVEN_UP_AFTER) {
                Err(Error::Waited { .. }) => {}
                other => return other.map(|_| ordered),
            }
        }
        Ok(ordered)
    }

    /// A takeover by a replica that is behind: it was halted for a moment, and goes on with the order before it has read what its primary
    /// answered meanwhile. Says when it went on.
    fn take_over(&mut self, primary: usize, replica: usize) -> Result<Moment, Error> {
        let (run, cluster) = (self.run, self.cluster);
        let queue = |name: &str, is_durable| {
            let name = format!("{name}{}", self.outcome.rounds);
            Queue::new(cluster, primary, &name, is_durable, UNREAD)
        };
        let (mut sure, mut bare) = (queue("unread", true)?, queue("unread-bare", false)?);
        let replica = &cluster.nodes()[replica];
        let no_connection = |source| Error::Command {
            command: format!("{replica}: CLUSTER FAILOVER TAKEOVER"),
            source,
        };
        let mut order = replica.connect(ORDER_WITHIN).map_err(no_connection)?;
        replica.freeze(run);
        sure.send();
        bare.send();
        let bare = bare.acknowledged();
        run.pause(BEHIND)?;
        replica.say_order(run, "CLUSTER FAILOVER TAKEOVER");
        let takeover = redis::cmd("CLUSTER").arg(&["FAILOVER", "TAKEOVER"]).take();
        let sent = order.send_packed_command(&takeover.get_packed_command());
        replica.thaw(run);
        sent.map_err(no_connection)?;
        let mended = self.trial.now();
        cluster.wait_until_whole(run)?;
        let mut wire = ToCluster::new(cluster, Duration::ZERO).open();
        let sure = sure.acknowledged().judged(wire.as_mut())?;
        self.outcome.protected.add(sure);
        self.unread.add(bare.judged(wire.as_mut())?);
        Ok(mended)
    }
}
