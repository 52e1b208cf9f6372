//! BullMQ, which the targets speak of: Redis time of a whole job, and jobs per second.

use std::time::Duration;

use super::{CALLERS, Ours};
use crate::Error;
use crate::harness::{Context, Effort};
use crate::link::{Link, Server};
use crate::load::{Door, Spent, Until, Work};
use crate::peers::install::Installed;
use crate::peers::{BULLMQ, Keep, Program};
use crate::processes::Gateway;
use crate::results::{Figure, GroupResult, Table, Target};
use crate::rounds::{Pace, in_turn};

/// BullMQ on a private server of its own.
struct Theirs {
    _server: Server,
    link: Link,
    program: Program,
}

/// How BullMQ is run.
#[derive(Clone, Copy, Debug)]
struct Setup {
    keep: Keep,
    concurrency: usize,
}

impl Theirs {
    fn start(installed: &Installed) -> Result<Self, Error> {
        let mut server = Server::start(&[])?;
        let link = server.link()?;
        let program = installed.start(server.port())?;
        Ok(Theirs {
            _server: server,
            link,
            program,
        })
    }

    /// Microseconds of the server's time per job, from its add to its end.
    fn cost(&mut self, jobs: usize, way: Way) -> Result<Spent, Error> {
        self.link.one(&redis::cmd("FLUSHALL"))?;
        let begun = Spent::begin(&mut self.link)?;
        match way {
            Way::OneByOne => self.program.live(jobs, Keep::Record)?,
            Way::ManyAtATime(keep) => self.program.flow(jobs, keep, CALLERS)?,
        };
        Ok(Spent::since(begun, &mut self.link)?.per(jobs))
    }

    /// Jobs per second, from the first that is added to the end of the last.
    fn rate(&mut self, jobs: usize, setup: Setup) -> Result<f64, Error> {
        self.link.one(&redis::cmd("FLUSHALL"))?;
        let took = self.program.flow(jobs, setup.keep, setup.concurrency)?;
        Ok(jobs as f64 / took.as_secs_f64())
    }

    /// Jobs per second that were all put in before.
    fn rate_of_backlog(&mut self, jobs: usize, setup: Setup) -> Result<f64, Error> {
        self.link.one(&redis::cmd("FLUSHALL"))?;
        self.program.add(jobs, setup.keep)?;
        let took = self.program.work(jobs, setup.concurrency)?;
        Ok(jobs as f64 / took.as_secs_f64())
    }
}

/// How jobs come.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Each when the one before has ended: one caller, and a worker that waits.
    OneByOne,
    /// From many callers, while a worker runs as many.
    ManyAtATime(Keep),
}

pub(super) fn run(
    context: &mut Context,
    ours: &mut Ours,
    installed: &Installed,
    result: &mut GroupResult,
) -> Result<(), Error> {
    let mut theirs = Theirs::start(installed)?;
    redis_time(context, ours, &mut theirs, result)?;
    let best = best_setup(context, &mut theirs)?;
    speed(context, ours, &mut theirs, best, result)
}

/// What a whole job costs the server, in turn on two servers.
fn redis_time(
    context: &mut Context,
    ours: &mut Ours,
    theirs: &mut Theirs,
    result: &mut GroupResult,
) -> Result<(), Error> {
    let time = Duration::from_millis(context.effort.pick(20, 60, 120));
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
        let way = ways[side / 2];
        let (callers, jobs) = match way {
            Way::OneByOne => (1, few),
            Way::ManyAtATime(_) => (CALLERS, many),
        };
        let spent = if side % 2 == 0 {
            let (ran, spent) = ours.run(callers, Work::WholeJob, Until::Time(time))?;
            spent.per(ran.count)
        } else {
            theirs.cost(jobs, way)?
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

/// The set-up with which BullMQ processes most jobs per second here.
fn best_setup(context: &mut Context, theirs: &mut Theirs) -> Result<Setup, Error> {
    let mut setups = Vec::new();
    let concurrencies = match context.effort {
        Effort::Full => BULLMQ.concurrencies,
        _ => &[64],
    };
    for keep in [Keep::Record, Keep::Nothing] {
        for &concurrency in concurrencies {
            setups.push(Setup { keep, concurrency });
        }
    }
    let jobs = context.effort.pick(100, 1000, 3000);
    let pace = Pace {
        rounds: context.effort.pick(1, 3, 5),
        rounds_min: 1,
        budget: Duration::from_secs(60),
    };
    context.say("  looking for BullMQ's best set-up");
    let measured = in_turn(
        pace,
        setups.len(),
        |side| theirs.rate(jobs, setups[side]),
        |_| {},
    )?;
    let best = (0..setups.len())
        .max_by(|&one, &other| measured.median(one).total_cmp(&measured.median(other)))
        .unwrap_or(0);
    Ok(setups[best])
}

/// Placements and whole jobs per second, to BullMQ's best.
fn speed(
    context: &mut Context,
    ours: &mut Ours,
    theirs: &mut Theirs,
    best: Setup,
    result: &mut GroupResult,
) -> Result<(), Error> {
    let gateway = Gateway::start(ours.server.port(), &ours.stage.roots())?;
    let through_gateway = Door::Gateway(gateway.port);
    let jobs = context.effort.pick(100, 2000, 6000);
    let time = Duration::from_millis(context.effort.pick(20, 200, 500));
    let measured = context.in_turn("jobs per second", 5, |side| match side {
        0 => Ok(ours
            .run(CALLERS, Work::Place, Until::Time(time))?
            .0
            .per_second()),
        1 => Ok(ours
            .run(CALLERS, Work::WholeJob, Until::Time(time))?
            .0
            .per_second()),
        2 => {
            let ran = ours.run_through(&through_gateway, Work::WholeJob, Until::Time(time))?;
            Ok(ran.per_second())
        }
        3 => theirs.rate(jobs, best),
        _ => theirs.rate_of_backlog(jobs, best),
    })?;
    let Setup { keep, concurrency } = best;
    let kept = match keep {
        Keep::Record => "finished jobs kept",
        Keep::Nothing => "`removeOnComplete`",
    };
    let note = format!("BullMQ's best here: one worker, {concurrency} jobs at a time, {kept}");
    let rows = [
        ("place", "placements, FCALL", 2.5),
        ("job", "whole jobs, FCALL", 1.5),
        ("job-gateway", "whole jobs through the gateway", 1.0),
    ];
    let tables = [
        ("", "jobs per second, from 64 adders to the end", 3),
        (
            "-backlog",
            "jobs per second of a backlog, putting it in not included",
            4,
        ),
    ];
    for (suffix, of_what, side) in tables {
        let title = format!("Per second at {CALLERS} callers, to BullMQ's best {of_what}");
        let mut table = Table::comparing(&title, "per second", "Lockless", BULLMQ.name);
        for (at, (id, what, least)) in rows.into_iter().enumerate() {
            let id = format!("peers/bullmq-speed-{id}{suffix}");
            let figure = Figure::compared(&id, what, measured.side(at), measured.side(side))
                .noted(&note)
                .with("oversold", 0.0)
                .held_to(Target::AtLeast(least));
            context.add(&mut table, figure);
        }
        result.tables.push(table);
    }
    Ok(())
}
