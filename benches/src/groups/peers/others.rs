//! All peers: what a no-op job costs the server from its enqueueing to its end, and how many are processed per second.

use std::time::Duration;

use super::theirs::{Setup, Theirs};
use super::{CALLERS, Ours, installed, named};
use crate::Error;
use crate::harness::{Context, Effort};
use crate::load::Work;
use crate::peers::install::Installed;
use crate::peers::{BULLMQ, Keep, Kind, PEERS, Peer};
use crate::results::{Bar, Figure, GroupResult, Plot, Table};
use crate::rounds::{Pace, in_turn, median};

/// Jobs of one round, the same for all and for Lockless: RQ, which forks for every job, takes seconds for them.
const JOBS: usize = 600;

/// What one peer gave, one value per round, and beside it what Lockless gave in the same rounds.
#[derive(Default)]
struct Beside {
    concurrency: usize,
    enqueue_us: Vec<f64>,
    job_us: Vec<f64>,
    per_second: Vec<f64>,
    our_us: Vec<f64>,
    our_per_second: Vec<f64>,
}

pub(super) fn run(
    context: &mut Context,
    ours: &mut Ours,
    bullmq: Result<Installed, Error>,
    result: &mut GroupResult,
) -> Result<(), Error> {
    let mut measured: Vec<(&Peer, Beside)> = Vec::new();
    let mut bullmq = Some(bullmq);
    for peer in &PEERS {
        if let Some(reason) = left_out(context, peer) {
            result.lacks(peer.name, reason);
            continue;
        }
        let there = match bullmq.take_if(|_| peer.id == BULLMQ.id) {
            Some(there) => there,
            None => installed(context, peer),
        };
        let beside = there.and_then(|there| {
            let mut theirs = Theirs::start(&there)?;
            at_its_best(context, ours, peer, &mut theirs)
        });
        if let Some(beside) = named(result, peer.name, beside)? {
            measured.push((peer, beside));
        }
    }
    if measured.is_empty() {
        return Ok(());
    }
    result.tables.push(costs(context, &measured));
    result.tables.push(rates(context, &measured));
    result.plots.extend(plots(&measured));
    Ok(())
}

/// Why a peer is not measured in this run.
fn left_out(context: &Context, peer: &Peer) -> Option<&'static str> {
    if !context.has_time() {
        return Some("no time was left for it; `cargo xtask bench --only peers` measures it");
    }
    // Workers in Python take seconds to start and to stop, in every round.
    let is_slow = peer.kind == Kind::Python;
    let may_take_long = context.effort == Effort::Full || context.is_asked_for;
    (is_slow && !may_take_long)
        .then_some("left out of a quick run; `cargo xtask bench --only peers` measures it")
}

/// The peer at the concurrency at which it processes most jobs.
fn at_its_best(
    context: &mut Context,
    ours: &mut Ours,
    peer: &Peer,
    theirs: &mut Theirs,
) -> Result<Beside, Error> {
    let jobs = context.effort.pick(50, JOBS, JOBS);
    let setup = |concurrency| Setup {
        keep: Keep::Record,
        concurrency,
        processes: 1,
    };
    let mut best = (peer.concurrencies[peer.concurrencies.len() - 1], 0.0);
    if context.effort == Effort::Full {
        for &concurrency in peer.concurrencies {
            context.say(&format!("  {}: {concurrency} at a time", peer.name));
            let (rate, _) = theirs.rate_of_backlog(jobs, setup(concurrency))?;
            if rate > best.1 {
                best = (concurrency, rate);
            }
        }
    }
    context.say(&format!("  {}: rounds at {} at a time", peer.name, best.0));
    beside(context.effort, ours, theirs, jobs, setup(best.0))
}

fn beside(
    effort: Effort,
    ours: &mut Ours,
    theirs: &mut Theirs,
    jobs: usize,
    setup: Setup,
) -> Result<Beside, Error> {
    let mut beside = Beside {
        concurrency: setup.concurrency,
        ..Beside::default()
    };
    let pace = Pace {
        rounds: effort.pick(1, 3, 15),
        rounds_min: effort.pick(1, 1, 7),
        budget: Duration::from_secs(effort.pick(1, 3, 20)),
    };
    let measure = |side| {
        if side == 0 {
            let ran = ours.rate(Work::WholeJob, jobs)?;
            beside.our_per_second.push(ran.per_second());
            beside.our_us.push(ours.cost(CALLERS, jobs)?.cpu_us);
        } else {
            let (rate, enqueue) = theirs.rate_of_backlog(jobs, setup)?;
            beside.enqueue_us.push(enqueue.cpu_us);
            beside.per_second.push(rate);
            beside.job_us.push(theirs.cost(jobs, setup)?.cpu_us);
        }
        Ok(0.0)
    };
    in_turn(pace, 2, measure, |_| {})?;
    // The first round warms up.
    for values in [
        &mut beside.enqueue_us,
        &mut beside.job_us,
        &mut beside.per_second,
        &mut beside.our_us,
        &mut beside.our_per_second,
    ] {
        values.remove(0);
    }
    Ok(beside)
}

fn costs(context: &mut Context, measured: &[(&Peer, Beside)]) -> Table {
    let title = "Processor time of the server per no-op job (`INFO cpu`, protocol included): Lockless's whole job, to a job of the peer from 64 adders to its end, workers idle before";
    let mut table = Table::comparing(title, "us", "Lockless", "the peer");
    for (peer, beside) in measured {
        let id = format!("peers/cpu-{}", peer.id);
        let figure = Figure::compared(&id, peer.name, &beside.our_us, &beside.job_us)
            .noted(peer.setup)
            .with("of it enqueue us", median(&beside.enqueue_us));
        context.add(&mut table, figure);
    }
    table
}

fn rates(context: &mut Context, measured: &[(&Peer, Beside)]) -> Table {
    let title = "Jobs per second: Lockless's whole jobs at 64 callers, placing included, to jobs that the peer's workers process at their best concurrency, putting them in not included";
    let mut table = Table::comparing(title, "per second", "Lockless", "the peer");
    for (peer, beside) in measured {
        let id = format!("peers/rate-{}", peer.id);
        let figure = Figure::compared(&id, peer.name, &beside.our_per_second, &beside.per_second)
            .noted(peer.setup)
            .with("at a time", beside.concurrency as f64);
        context.add(&mut table, figure);
    }
    table
}

fn plots(measured: &[(&Peer, Beside)]) -> [Plot; 2] {
    let bars = |ours: fn(&Beside) -> f64, theirs: fn(&Beside) -> f64| {
        let all: Vec<f64> = measured.iter().map(|(_, beside)| ours(beside)).collect();
        let first = Bar {
            name: "Lockless".to_owned(),
            value: median(&all),
            is_ours: true,
        };
        let others = measured.iter().map(|(peer, beside)| Bar {
            name: peer.name.to_owned(),
            value: theirs(beside),
            is_ours: false,
        });
        std::iter::once(first).chain(others).collect::<Vec<_>>()
    };
    let costs = bars(|it| median(&it.our_us), |it| median(&it.job_us));
    let rates = bars(|it| median(&it.our_per_second), |it| median(&it.per_second));
    [
        Plot::bars(
            "peers-cpu",
            "Processor time of the server per no-op job",
            "us per job, median",
            costs,
        ),
        Plot::bars(
            "peers-rate",
            "No-op jobs per second",
            "per second, median",
            rates,
        ),
    ]
}
