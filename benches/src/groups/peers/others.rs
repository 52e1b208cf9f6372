//! All peers: what a no-op job costs the server from its enqueueing to its end, and how many are processed per second.

use std::time::Duration;

use super::{CALLERS, Ours, installed};
use crate::Error;
use crate::harness::{Context, Effort};
use crate::link::{Link, Server};
use crate::load::{Spent, Until, Work};
use crate::peers::{Keep, PEERS, Peer, Program};
use crate::results::{Bar, Figure, GroupResult, Plot, Table};
use crate::rounds::{Pace, in_turn, median};

/// What one peer gave, one value per round, and beside it what Lockless gave in the same rounds.
#[derive(Default)]
struct Beside {
    concurrency: usize,
    enqueue_us: Vec<f64>,
    process_us: Vec<f64>,
    per_second: Vec<f64>,
    our_us: Vec<f64>,
    our_per_second: Vec<f64>,
}

/// A peer on a private server of its own.
struct Theirs {
    _server: Server,
    link: Link,
    program: Program,
}

pub(super) fn run(
    context: &mut Context,
    ours: &mut Ours,
    result: &mut GroupResult,
) -> Result<(), Error> {
    let mut measured: Vec<(&Peer, Beside)> = Vec::new();
    for peer in &PEERS {
        // Workers in Python take seconds to start and to stop, in every round.
        if context.effort != Effort::Full && !context.is_asked_for {
            let is_slow = peer.kind == crate::peers::Kind::Python;
            if is_slow {
                result.lacks(
                    peer.name,
                    "left out of a quick run; `cargo xtask bench --only peers` measures it",
                );
                continue;
            }
        }
        let found = installed(context, peer).and_then(|there| {
            let mut server = Server::start(&[])?;
            let mut theirs = Theirs {
                link: server.link()?,
                program: there.start(server.port())?,
                _server: server,
            };
            best(context, ours, peer, &mut theirs)
        });
        match found {
            Ok(beside) => measured.push((peer, beside)),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(missing) => result.lacks(peer.name, missing),
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

/// The peer at the concurrency at which it processes most jobs.
fn best(
    context: &mut Context,
    ours: &mut Ours,
    peer: &Peer,
    theirs: &mut Theirs,
) -> Result<Beside, Error> {
    let mut best = Beside::default();
    let concurrencies = match context.effort {
        Effort::Full => peer.concurrencies,
        _ => &peer.concurrencies[peer.concurrencies.len() - 1..],
    };
    for &concurrency in concurrencies {
        context.say(&format!("  {}: {concurrency} at a time", peer.name));
        let beside = one(context.effort, ours, peer, theirs, concurrency)?;
        if median(&beside.per_second) > median(&best.per_second) {
            best = beside;
        }
    }
    Ok(best)
}

fn one(
    effort: Effort,
    ours: &mut Ours,
    peer: &Peer,
    theirs: &mut Theirs,
    concurrency: usize,
) -> Result<Beside, Error> {
    let mut beside = Beside {
        concurrency,
        ..Beside::default()
    };
    let jobs = effort.pick(50, peer.jobs / 2, peer.jobs);
    let time = Duration::from_millis(effort.pick(20, 100, 300));
    let pace = Pace {
        rounds: effort.pick(1, 3, 7),
        rounds_min: effort.rounds_min(),
        budget: Duration::from_secs(effort.pick(1, 5, 25)),
    };
    let measure = |side| {
        if side == 0 {
            let (ran, spent) = ours.run(CALLERS, Work::WholeJob, Until::Time(time))?;
            beside.our_us.push(spent.cpu_us / ran.count as f64);
            beside.our_per_second.push(ran.per_second());
        } else {
            theirs.link.one(&redis::cmd("FLUSHALL"))?;
            let begun = Spent::begin(&mut theirs.link)?;
            theirs.program.add(jobs, Keep::Record)?;
            let enqueue = Spent::since(begun, &mut theirs.link)?;
            let begun = Spent::begin(&mut theirs.link)?;
            let took = theirs.program.work(jobs, concurrency)?;
            let process = Spent::since(begun, &mut theirs.link)?;
            beside.enqueue_us.push(enqueue.cpu_us / jobs as f64);
            beside.process_us.push(process.cpu_us / jobs as f64);
            beside.per_second.push(jobs as f64 / took.as_secs_f64());
        }
        Ok(0.0)
    };
    in_turn(pace, 2, measure, |_| {})?;
    // The first round warms up.
    for values in [
        &mut beside.enqueue_us,
        &mut beside.process_us,
        &mut beside.per_second,
        &mut beside.our_us,
        &mut beside.our_per_second,
    ] {
        values.remove(0);
    }
    Ok(beside)
}

impl Beside {
    fn job_us(&self) -> Vec<f64> {
        let both = self.enqueue_us.iter().zip(&self.process_us);
        both.map(|(enqueue, process)| enqueue + process).collect()
    }
}

fn costs(context: &mut Context, measured: &[(&Peer, Beside)]) -> Table {
    let title = "Processor time of the server per no-op job (`INFO cpu`, protocol included): Lockless's whole job, to enqueue + process";
    let mut table = Table::comparing(title, "us", "Lockless", "the peer");
    for (peer, beside) in measured {
        let id = format!("peers/cpu-{}", peer.id);
        let figure = Figure::compared(&id, peer.name, &beside.our_us, &beside.job_us())
            .noted(peer.setup)
            .with("enqueue us", median(&beside.enqueue_us))
            .with("process us", median(&beside.process_us));
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
    let costs = bars(|it| median(&it.our_us), |it| median(&it.job_us()));
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
