//! A load on cells of all primaries, twice at the same time: with a replica's word for every call, and without.
//!
//! Both meet the same faults at the same moments, so that what one keeps and the other loses is due to that word alone.

mod side;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fastrand::Rng;

use self::side::{Side, no_cell};
pub(super) use self::side::{cell_of, cells};
use super::servers::Cluster;
use crate::Error;
use crate::history::Durability;
use crate::outcome::{Outcome, Tally};
use crate::rules::cell::unsound;
use crate::run::Run;
use crate::wire::Route;

const WORK_WITHIN: Duration = Duration::from_secs(30);

/// A protected load and a control, side by side.
pub(super) struct Trial {
    protected: Side,
    control: Side,
    /// How often replicas had taken over when the last fault was healed.
    promotions: usize,
}

/// A moment, as the histories of both loads count it.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    protected_us: u64,
    control_us: u64,
}

impl Trial {
    /// Starts both loads. Each has a cell on each primary.
    pub(super) fn start(run: &Run, cluster: &Arc<Cluster>, number: u64) -> Result<Self, Error> {
        let side =
            |name, durability| Side::start(run, cluster, &format!("{name}{number}"), durability);
        cluster.may_fail_over(run, true)?;
        let promotions = cluster.promotions().len();
        let (protected, control) = (
            side("kept", Durability::Confirmed)?,
            side("bare", Durability::Answered)?,
        );
        Ok(Self {
            protected,
            control,
            promotions,
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

    /// A moment that was.
    fn at(&self, time: SystemTime) -> Moment {
        let now = self.now();
        let ago = SystemTime::now().duration_since(time).unwrap_or_default();
        let ago_us = u64::try_from(ago.as_micros()).unwrap_or(u64::MAX);
        Moment {
            protected_us: now.protected_us.saturating_sub(ago_us),
            control_us: now.control_us.saturating_sub(ago_us),
        }
    }

    /// Before something is broken: a primary that may be, in a Cluster that is whole, and the moment. Whatever comes after it is due to that.
    pub(super) fn before(
        &mut self,
        run: &Run,
        cluster: &Cluster,
        random: &mut Rng,
    ) -> Result<(usize, Moment), Error> {
        cluster.wait_until_whole(run)?;
        let now = self.note_unasked(run, cluster)?;
        let primary = random.choice(cluster.primaries());
        let primary = primary.ok_or_else(|| Error::Call {
            call: "the primaries of the Cluster".to_owned(),
            said: "none answers".to_owned(),
        })?;
        Ok((primary, now))
    }

    /// On a machine that leaves a server no time, its replica takes over though nothing was broken. What was not confirmed by then may be
    /// undone by that as by any other failover; what was confirmed may not. Waits until the Cluster is whole and works again,
    /// and says since when no other one has come.
    fn note_unasked(&mut self, run: &Run, cluster: &Cluster) -> Result<Moment, Error> {
        loop {
            let now = self.now();
            let promotions = cluster.promotions();
            let Some(unasked) = promotions
                .get(self.promotions..)
                .filter(|new| !new.is_empty())
            else {
                return Ok(now);
            };
            run.say(format_args!(
                "{} failovers that nobody asked for",
                unasked.len()
            ));
            cluster.wait_until_whole(run)?;
            for elected in unasked {
                // From then on it can take work.
                let elected = self.at(*elected);
                self.note_healed(&elected, &elected);
            }
            self.promotions = promotions.len();
            let now_us = self.protected.recorder.now_us();
            for root in &self.protected.plan.roots {
                self.wait_for_work(run, root, now_us)?;
            }
        }
    }

    fn note_healed(&self, broken: &Moment, mended: &Moment) {
        for (side, broken_us, mended_us) in [
            (&self.protected, broken.protected_us, mended.protected_us),
            (&self.control, broken.control_us, mended.control_us),
        ] {
            side.recorder.healed_after(broken_us, mended_us);
        }
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
        self.promotions = cluster.promotions().len();
        self.note_healed(broken, mended);
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
        let since_us = broken.protected_us;
        self.wait_for_work(run, root, self.protected.recorder.now_us())?;
        let mut taken = self.taken(root, since_us);
        taken.push((since_us, since_us));
        taken.sort_unstable();
        let gaps = taken
            .windows(2)
            .map(|pair| pair[1].1.saturating_sub(pair[0].1));
        Ok(Duration::from_micros(gaps.max().unwrap_or_default()))
    }

    /// Waits until a cell takes work that is asked for after this time.
    fn wait_for_work(&self, run: &Run, root: &str, time_us: u64) -> Result<(), Error> {
        run.wait_for("work taken after the fault", WORK_WITHIN, || {
            let taken = self.taken(root, time_us);
            match taken.iter().any(|(start_us, _)| *start_us > time_us) {
                true => Ok(()),
                false => Err(format!("{root} took none")),
            }
        })?;
        Ok(())
    }

    /// When work was asked for and taken that a replica confirmed, where that was known after this time.
    fn taken(&self, root: &str, time_us: u64) -> Vec<(u64, u64)> {
        let mut taken = Vec::new();
        self.protected.recorder.latest(|record| {
            let is_work = record.function == "dispatch";
            if is_work && record.is_confirmed && &*record.root == root {
                taken.push((record.start_us, record.end_us));
            }
            (record.end_us < time_us).then_some(())
        });
        taken
    }

    /// Ends both loads and judges them: the one without a replica's word as a part of the control run.
    pub(super) fn finish(
        mut self,
        run: &Run,
        cluster: &Cluster,
        outcome: &mut Outcome,
        control: &mut Tally,
    ) -> Result<(), Error> {
        // No replica takes over from here on: how soon work is taken again can be seen only while some is asked for.
        cluster.may_fail_over(run, false)?;
        self.note_unasked(run, cluster)?;
        self.protected.drain(run)?;
        self.control.drain(run)?;
        // What is asked of the cells in the end is about what was kept by now.
        cluster.wait_until_whole(run)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failover_that_nobody_asked_for_counts_from_when_it_was_won() {
        let directory = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(120);
        let run = Run::new("test", 1, true, false, limit, directory.path().to_owned());
        let cluster = Arc::new(Cluster::on_loopback(&run).unwrap());
        let mut trial = Trial::start(&run, &cluster, 0).unwrap();
        let halted = cluster.primaries()[0];
        let replica = cluster.replica_of(halted).unwrap();
        let before = trial.now();
        cluster.nodes()[halted].freeze(&run);
        cluster.wait_until_primary(&run, replica).unwrap();
        let after = trial.now();
        cluster.nodes()[halted].thaw(&run);
        let mut random = run.random(1);
        let (primary, now) = trial.before(&run, &cluster, &mut random).unwrap();
        assert!(cluster.primaries().contains(&primary));
        let injury = trial.protected.recorder.history().injuries[0];
        assert!((before.protected_us..after.protected_us).contains(&injury.begin_us));
        assert_eq!(injury.mended_us, injury.begin_us);
        assert!((after.protected_us..now.protected_us).contains(&injury.healed_us));
        let (mut outcome, mut control) = (Outcome::default(), Tally::default());
        trial
            .finish(&run, &cluster, &mut outcome, &mut control)
            .unwrap();
        assert_eq!(outcome.protected.losses(), 0);
    }
}
