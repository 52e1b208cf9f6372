//! A load on cells of all primaries, twice at the same time: with a replica's word for every call, and without.
//!
//! Both meet the same faults at the same moments, so that what one keeps and the other loses is due to that word alone.

use std::sync::Arc;
use std::time::Duration;

use lockless_topology::slot_of_key;

use super::route::ToCluster;
use super::servers::{Cluster, PRIMARIES};
use crate::Error;
use crate::history::{Durability, Recorder};
use crate::load::{Load, Plan, prepare};
use crate::outcome::{Outcome, Rule, Tally, Violation};
use crate::rules::{self, cell::unsound};
use crate::run::Run;
use crate::wire::Route;

/// Nodes are given up after so long: longer than a failover, so that most of them outlive it.
const HEARTBEAT_TTL_MS: u64 = 6000;
/// Every call of the load waits so long first: the machine is shared, and a history has to be judged.
const PACE: Duration = Duration::from_millis(4);
const DRAIN_WITHIN: Duration = Duration::from_secs(40);
const WORK_WITHIN: Duration = Duration::from_secs(30);

/// A protected load and a control, side by side.
pub(super) struct Trial {
    protected: Side,
    control: Side,
    /// How often replicas had taken over when the last fault was healed, and when that was.
    promotions: usize,
    calm_since: Moment,
}

struct Side {
    plan: Plan,
    route: Arc<ToCluster>,
    recorder: Arc<Recorder>,
    load: Option<Load>,
    /// What audits found after each fault, and what never ended.
    found: Vec<Violation>,
}

/// A moment, as the histories of both loads count it.
pub(super) struct Moment {
    protected_us: u64,
    control_us: u64,
}

impl Trial {
    /// Starts both loads. Each has a cell on each primary.
    pub(super) fn start(run: &Run, cluster: &Arc<Cluster>, number: u64) -> Result<Self, Error> {
        let side =
            |name, durability| Side::start(run, cluster, &format!("{name}{number}"), durability);
        cluster.may_fail_over(true)?;
        let promotions = cluster.promotions();
        let (protected, control) = (
            side("kept", Durability::Confirmed)?,
            side("bare", Durability::Answered)?,
        );
        Ok(Self {
            protected,
            control,
            promotions,
            calm_since: Moment {
                protected_us: 0,
                control_us: 0,
            },
        })
    }

    /// The cell of the protected load that a primary has.
    pub(super) fn cell_on(&self, cluster: &Cluster, primary: usize) -> Result<Arc<str>, Error> {
        let mut roots = self.protected.plan.roots.iter();
        let is_there = |root: &&Arc<str>| cluster.primary_of(root) == Some(primary);
        let found = roots.find(is_there).cloned();
        found.ok_or_else(|| no_cell(cluster, primary))
    }

    /// The moment after something was mended.
    pub(super) fn now(&self) -> Moment {
        Moment {
            protected_us: self.protected.recorder.now_us(),
            control_us: self.control.recorder.now_us(),
        }
    }

    /// The moment before something is broken.
    pub(super) fn before(&mut self, run: &Run, cluster: &Cluster) -> Moment {
        self.note_unasked(run, cluster);
        self.now()
    }

    /// On a machine that leaves a server no time, its replica takes over though nothing was broken. What was not confirmed by then may be
    /// undone by that as by any other failover; what was confirmed may not.
    fn note_unasked(&mut self, run: &Run, cluster: &Cluster) {
        let promotions = cluster.promotions();
        let unasked = promotions.saturating_sub(self.promotions);
        if unasked > 0 {
            run.say(format_args!("{unasked} failovers that nobody asked for"));
            // Nothing was mended, so the time without work is counted from when all was well.
            let since = &self.calm_since;
            for (side, begin_us) in [
                (&self.protected, since.protected_us),
                (&self.control, since.control_us),
            ] {
                side.recorder.healed_after(begin_us, begin_us);
            }
            self.calm(promotions);
        }
    }

    fn calm(&mut self, promotions: usize) {
        self.promotions = promotions;
        self.calm_since = self.now();
    }

    /// Waits until the Cluster is whole again, notes when it was broken and mended, and has every cell audited.
    pub(super) fn heal(
        &mut self,
        run: &Run,
        cluster: &Cluster,
        broken: &Moment,
        mended: &Moment,
    ) -> Result<(), Error> {
        cluster.wait_until_whole(run)?;
        // Whatever comes from here on was not asked for.
        let promotions = cluster.promotions();
        for (side, broken_us, mended_us) in [
            (&self.protected, broken.protected_us, mended.protected_us),
            (&self.control, broken.control_us, mended.control_us),
        ] {
            side.recorder.healed_after(broken_us, mended_us);
        }
        self.calm(promotions);
        for side in [&mut self.protected, &mut self.control] {
            let mut wire = side.route.open();
            for root in &side.plan.roots {
                side.found.extend(unsound(wire.as_mut(), root)?);
            }
        }
        Ok(())
    }

    /// How soon after it was mended a cell must take work again.
    pub(super) fn recovers_within(&self) -> Duration {
        2 * self.protected.plan.longest_lease()
    }

    /// Waits until the cell takes work again, and says for how long it did not since something was broken.
    pub(super) fn outage(&self, run: &Run, root: &str, broken: &Moment) -> Result<Duration, Error> {
        let recorder = &self.protected.recorder;
        let now_us = recorder.now_us();
        // When work was asked for and taken that a replica confirmed.
        let taken = || {
            let mut taken_us = vec![(broken.protected_us, broken.protected_us)];
            recorder.latest(|record| {
                let is_work = record.function == "dispatch";
                if is_work && record.is_confirmed && &*record.root == root {
                    taken_us.push((record.start_us, record.end_us));
                }
                (record.end_us < broken.protected_us).then_some(())
            });
            taken_us.sort_unstable();
            taken_us
        };
        run.wait_for("work taken after the fault", WORK_WITHIN, || {
            match taken().last() {
                Some((start_us, _)) if *start_us > now_us => Ok(()),
                _ => Err(format!("{root} took none")),
            }
        })?;
        let taken = taken();
        let gaps = taken
            .windows(2)
            .map(|pair| pair[1].1.saturating_sub(pair[0].1));
        Ok(Duration::from_micros(gaps.max().unwrap_or_default()))
    }

    /// Ends both loads and judges them: the one without a replica's word as a part of the control run.
    pub(super) fn finish(
        mut self,
        run: &Run,
        cluster: &Cluster,
        outcome: &mut Outcome,
        control: &mut Tally,
    ) -> Result<(), Error> {
        self.protected.drain(run)?;
        self.control.drain(run)?;
        // What is asked of the cells in the end is about what was kept by now.
        cluster.may_fail_over(false)?;
        cluster.wait_until_whole(run)?;
        self.note_unasked(run, cluster);
        let history = self.protected.recorder.history();
        let (tally, recovery) = self.protected.finish(run)?;
        if tally.losses() > 0 {
            run.keep_history(&history);
        }
        outcome.protected.add(tally);
        if let Some(recovery) = recovery {
            outcome.recovered_in(recovery);
        }
        let (tally, _) = self.control.finish(run)?;
        control.add(tally);
        run.say(format_args!(
            "{} rounds, {} calls, {} losses, {} without WAIT",
            outcome.rounds,
            outcome.protected.operations,
            outcome.protected.losses(),
            control.losses()
        ));
        Ok(())
    }
}

impl Side {
    fn start(
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
    fn drain(&mut self, run: &Run) -> Result<(), Error> {
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

    fn finish(self, run: &Run) -> Result<(Tally, Option<Duration>), Error> {
        let verdict = rules::verdict(run, &self.plan, self.route.as_ref(), &self.recorder)?;
        let mut tally = verdict.tally;
        tally.violations.extend(self.found);
        Ok((tally, verdict.recovery))
    }
}

/// A cell for each primary.
pub(super) fn cells(cluster: &Cluster, name: &str) -> Result<Vec<Arc<str>>, Error> {
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
pub(super) fn cell_of(cluster: &Cluster, primary: usize, name: &str) -> Result<Arc<str>, Error> {
    let view = cluster.nodes()[primary].view()?;
    let mut names = (0..100_000).map(|number| format!("faults:{{{name}-{number}}}"));
    let root = names.find(|root| view.has_slot(slot_of_key(root)));
    root.map(Arc::from).ok_or_else(|| no_cell(cluster, primary))
}

fn no_cell(cluster: &Cluster, primary: usize) -> Error {
    Error::Call {
        call: format!("a cell on {}", cluster.nodes()[primary]),
        said: "it has none".to_owned(),
    }
}
