//! BullMQ, which the targets speak of: Redis time of a whole job, and jobs per second.

use std::time::Duration;

use super::theirs::{Setup, Theirs};
use super::{CALLERS, Ours};
use crate::Error;
use crate::harness::{Context, Effort};
use crate::load::{Door, Work};
use crate::peers::install::Installed;
use crate::peers::{BULLMQ, Keep};
use crate::processes::Gateway;
use crate::results::{Figure, GroupResult, Table, Target};
use crate::rounds::{Pace, in_turn};

/// How jobs come.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Each when the one before has ended: one caller, and a worker that waits.
    OneByOne,
    /// From many callers, while a worker runs as many.
    ManyAtATime(Keep),
}

/// What counts as BullMQ's jobs per second.
#[derive(Clone, Copy, Debug)]
enum Definition {
    /// From the first that one of 64 adders puts in to the end of the last.
    Flow,
    /// The end of jobs that were put in before.
    Backlog,
}

impl Definition {
    fn rate(self, theirs: &mut Theirs, jobs: usize, setup: Setup) -> Result<f64, Error> {
        match self {
            Definition::Flow => theirs.rate(jobs, setup),
            Definition::Backlog => Ok(theirs.rate_of_backlog(jobs, setup)?.0),
        }
    }
}

pub(super) fn run(
    context: &mut Context,
    ours: &mut Ours,
    installed: &Installed,
    result: &mut GroupResult,
) -> Result<(), Error> {
    let mut theirs = Theirs::start(installed)?;
    redis_time(context, ours, &mut theirs, result)?;
    context.say("  looking for BullMQ's best set-ups");
    let best = [
        best_setup(context, &mut theirs, Definition::Flow)?,
        best_setup(context, &mut theirs, Definition::Backlog)?,
    ];
    speed(context, ours, &mut theirs, best, result)
}

/// What a whole job costs the server, in turn on two servers.
fn redis_time(
    context: &mut Context,
    ours: &mut Ours,
    theirs: &mut Theirs,
    result: &mut GroupResult,
) -> Result<(), Error> {
    let (few, many) = (
        context.effort.pick(30, 150, 250),
        context.effort.pick(50, 500, 1500),
    );
    let ways = [
        Way::OneByOne,
        Way::ManyAtATime(Keep::Record),
        Way::ManyAtATime(Keep::Nothing),
    ];
    let mut cpu: Vec<Vec<f64>> = vec![Vec::new(); 2 * ways.len()];
    let measured = context.in_turn("Redis time of a whole job", 2 * ways.len(), |side| {
        let (callers, jobs) = match ways[side / 2] {
            Way::OneByOne => (1, few),
            Way::ManyAtATime(_) => (CALLERS, many),
        };
        let spent = match (side % 2, ways[side / 2]) {
            (0, _) => ours.cost(callers, jobs)?,
            (_, Way::OneByOne) => theirs.cost_one_by_one(jobs)?,
            (_, Way::ManyAtATime(keep)) => {
                let setup = Setup {
                    keep,
                    concurrency: CALLERS,
                    processes: 1,
                };
                theirs.cost(jobs, setup)?
            }
        };
        cpu[side].push(spent.cpu_us);
        Ok(spent.script_us)
    })?;
    let rows = [
        (
            "live",
            "one job after the other: each of the three scripts runs once for each, finished jobs kept",
        ),
        (
            "keep",
            "64 callers at a time, a worker for 64 jobs at a time: moveToFinished fetches the next job, so moveToActive hardly runs",
        ),
        (
            "remove",
            "the same, BullMQ with `removeOnComplete`, which keeps nothing",
        ),
    ];
    let title = "Redis time of a whole job (`INFO commandstats`): dispatch + ack + complete, to BullMQ's add + moveToActive + moveToFinished";
    let mut table = Table::comparing(title, "us", "Lockless", BULLMQ.name);
    for (at, (id, what)) in rows.into_iter().enumerate() {
        let id = format!("peers/bullmq-time-{id}");
        let (ours, theirs) = (measured.side(2 * at), measured.side(2 * at + 1));
        let figure = Figure::compared(&id, what, ours, theirs);
        let figure = match ways[at] {
            Way::OneByOne | Way::ManyAtATime(Keep::Record) => figure.held_to(Target::AtMost(0.45)),
            Way::ManyAtATime(Keep::Nothing) => figure,
        };
        context.add(&mut table, figure);
    }
    result.tables.push(table);
    let title = "The same as processor time of the server (`INFO cpu`), protocol included";
    let mut table = Table::comparing(title, "us", "Lockless", BULLMQ.name);
    for (at, (id, what)) in rows.into_iter().enumerate() {
        let id = format!("peers/bullmq-cpu-{id}");
        // The first round warms up.
        let figure = Figure::compared(&id, what, &cpu[2 * at][1..], &cpu[2 * at + 1][1..]);
        context.add(&mut table, figure);
    }
    result.tables.push(table);
    Ok(())
}

/// The set-up with which BullMQ has most jobs per second here, by this definition.
fn best_setup(
    context: &mut Context,
    theirs: &mut Theirs,
    definition: Definition,
) -> Result<Setup, Error> {
    let mut setups = Vec::new();
    let concurrencies = match context.effort {
        Effort::Full => BULLMQ.concurrencies,
        _ => &[64],
    };
    for keep in [Keep::Record, Keep::Nothing] {
        for processes in [0, 1, 2] {
            setups.extend(concurrencies.iter().map(|&concurrency| Setup {
                keep,
                concurrency,
                processes,
            }));
        }
    }
    let jobs = context.effort.pick(100, 1000, 3000);
    let rounds = context.effort.pick(1, 1, 3);
    let pace = Pace {
        rounds,
        rounds_min: rounds,
        budget: Duration::ZERO,
    };
    let measure = |side: usize| definition.rate(theirs, jobs, setups[side]);
    let measured = in_turn(pace, setups.len(), measure, |_| {})?;
    let best = (0..setups.len())
        .max_by(|&one, &other| measured.median(one).total_cmp(&measured.median(other)))
        .unwrap_or(0);
    Ok(setups[best])
}

/// Placements and whole jobs per second, to BullMQ's best by each definition.
fn speed(
    context: &mut Context,
    ours: &mut Ours,
    theirs: &mut Theirs,
    best: [Setup; 2],
    result: &mut GroupResult,
) -> Result<(), Error> {
    let gateway = Gateway::start(ours.server.port(), &ours.stage.roots())?;
    let through_gateway = Door::Gateway(gateway.port);
    let jobs = context.effort.pick(100, 2000, 6000);
    let mut oversold = [0; 3];
    let measured = context.in_turn("jobs per second", 5, |side| {
        let ran = match side {
            0 => ours.rate(Work::Place, jobs)?,
            1 => ours.rate(Work::WholeJob, jobs)?,
            2 => ours.rate_through(&through_gateway, jobs)?,
            3 => return Definition::Flow.rate(theirs, jobs, best[0]),
            _ => return Definition::Backlog.rate(theirs, jobs, best[1]),
        };
        oversold[side] += ran.oversold;
        Ok(ran.per_second())
    })?;
    let rows = [
        ("place", "placements, FCALL", 2.5),
        ("job", "whole jobs, FCALL", 1.5),
        ("job-gateway", "whole jobs through the gateway", 1.0),
    ];
    let tables = [
        ("", "jobs per second, from 64 adders to the end", 3, best[0]),
        (
            "-backlog",
            "jobs per second of a backlog, putting it in not included",
            4,
            best[1],
        ),
    ];
    for (suffix, of_what, side, setup) in tables {
        let title = format!("Per second at {CALLERS} callers, to BullMQ's best {of_what}");
        let mut table = Table::comparing(&title, "per second", "Lockless", BULLMQ.name);
        for (at, (id, what, least)) in rows.into_iter().enumerate() {
            let id = format!("peers/bullmq-speed-{id}{suffix}");
            let figure = Figure::compared(&id, what, measured.side(at), measured.side(side))
                .noted(in_words(setup))
                .with("oversold", oversold[at] as f64)
                .held_to(Target::AtLeast(least));
            context.add(&mut table, figure);
        }
        result.tables.push(table);
    }
    Ok(())
}

fn in_words(best: Setup) -> String {
    let place = match best.processes {
        0 => "one worker in the process of the adders",
        1 => "one worker in a process of its own",
        _ => "two workers, each in a process of its own",
    };
    let kept = match best.keep {
        Keep::Record => "finished jobs kept",
        Keep::Nothing => "`removeOnComplete`",
    };
    format!(
        "BullMQ's best here: {place}, {} jobs at a time each, {kept}",
        best.concurrency
    )
}
