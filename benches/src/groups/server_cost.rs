//! What each call costs in the server.

use lockless_functions::LIBRARY;

use crate::cell::Cell;
use crate::harness::Context;
use crate::link::Server;
use crate::results::{Bar, Figure, GroupResult, Plot, Table, Target};
use crate::steps::{Cells, NODES, STEPS};
use crate::{Error, callgrind, calls_inside, seed};

/// Few, because a call counts the time in which others have the processor: on a busy machine most batches are free of that.
const CALLS: usize = 20;

/// Each one costs about a microsecond on top of the command itself, so none comes in unnoticed.
const CALLS_INSIDE_A_JOB: Target = Target::AtMost(24.0);

pub(super) fn run(context: &mut Context) -> Result<GroupResult, Error> {
    let mut result = GroupResult::default();
    let mut server = Server::start(&[LIBRARY, seed::LIBRARY])?;
    calls(context, &mut server, &mut result)?;
    payloads(context, &mut server, &mut result)?;
    events_of_every_job(context, &mut server, &mut result)?;
    drop(server);
    inner_calls(context, &mut result)?;
    if context.with_instructions {
        instructions(context, &mut result)?;
    }
    Ok(result)
}

/// Each call beside one that does nothing.
fn calls(
    context: &mut Context,
    server: &mut Server,
    result: &mut GroupResult,
) -> Result<(), Error> {
    context.say("  preparing cells of 1,000 nodes");
    let mut cells = Cells::new(server)?;
    let measured = context.in_turn("calls", STEPS.len(), |side| {
        (STEPS[side].cost)(&mut cells, CALLS)
    })?;
    let mut table = Table::comparing("Redis time of one call", "us", "the call", "an empty FCALL");
    for (side, step) in STEPS.iter().enumerate().skip(1) {
        let id = format!("server-cost/{}", step.id);
        let figure = Figure::compared(&id, step.what, measured.side(side), measured.side(0));
        context.add(&mut table, figure);
    }
    result.tables.push(table);
    let bars = STEPS.iter().enumerate().map(|(side, step)| Bar {
        name: step.what.to_owned(),
        value: measured.median(side),
        is_ours: side > 0,
    });
    let plot = Plot::bars(
        "server-cost",
        "Redis time of one call",
        "us per call, median",
        bars.collect(),
    );
    result.plots.push(plot);
    Ok(())
}

/// A whole job, and the same with a payload.
fn payloads(
    context: &mut Context,
    server: &mut Server,
    result: &mut GroupResult,
) -> Result<(), Error> {
    let kib = format!(r#"{{"text":"{}"}}"#, "x".repeat(1024 - 11));
    let mut nothing = seed::Nothing::new(server)?;
    let mut small = Cell::plain(server, NODES)?.with_payload("{}");
    let mut large = Cell::plain(server, NODES)?.with_payload(&kib);
    let measured = context.in_turn("whole jobs", 3, |side| match side {
        0 => small.job_cost(CALLS),
        1 => large.job_cost(CALLS),
        _ => Ok(3.0 * nothing.cost(3 * CALLS)?),
    })?;
    let mut table = Table::comparing(
        "Redis time of a whole job (dispatch + ack + complete)",
        "us",
        "the job",
        "the other",
    );
    let what = "without payload, to three empty FCALLs";
    let figure = Figure::compared("server-cost/job", what, measured.side(0), measured.side(2));
    context.add(&mut table, figure);
    let what = "with a payload of 1 KiB, to one without";
    let figure = Figure::compared(
        "server-cost/job-1k",
        what,
        measured.side(1),
        measured.side(0),
    );
    context.add(&mut table, figure);
    result.tables.push(table);
    Ok(())
}

/// What a cell pays for telling of every job. A setting that a call needs takes it off the plain way, so the ratio to a cell with
/// another such setting is that of the events alone.
fn events_of_every_job(
    context: &mut Context,
    server: &mut Server,
    result: &mut GroupResult,
) -> Result<(), Error> {
    let mut all = Cell::plain(server, NODES)?;
    all.set("events", "all")?;
    let mut other = Cell::plain(server, NODES)?;
    other.set("keep_finished_ms", "600001")?;
    let mut default = Cell::plain(server, NODES)?;
    let measured = context.in_turn("events of every job", 3, |side| match side {
        0 => all.way_cost(CALLS),
        1 => default.way_cost(CALLS),
        _ => other.way_cost(CALLS),
    })?;
    let title = "Redis time per call of dispatch and complete when every job is an event";
    let mut table = Table::comparing(title, "us", "`events all`", "the other");
    for (side, id, what) in [
        (1, "server-cost/events", "to default settings"),
        (
            2,
            "server-cost/events-alone",
            "to `keep_finished_ms` off its default, which takes calls off their plain way too",
        ),
    ] {
        let figure = Figure::compared(id, what, measured.side(0), measured.side(side));
        context.add(&mut table, figure);
    }
    result.tables.push(table);
    Ok(())
}

fn inner_calls(context: &mut Context, result: &mut GroupResult) -> Result<(), Error> {
    let mut table = Table::measuring(
        "Commands inside, on the common path",
        "redis.calls",
        "inside",
    );
    let steps = calls_inside::of_a_job()?;
    let total: usize = steps.iter().map(|step| step.1).sum();
    for (what, calls) in steps {
        let id = format!("server-cost/inside-{what}");
        context.add(&mut table, Figure::measured(&id, what, &[calls as f64]));
    }
    let figure = Figure::measured("server-cost/inside-job", "the whole job", &[total as f64]);
    context.add(&mut table, figure.held_to(CALLS_INSIDE_A_JOB));
    result.tables.push(table);
    Ok(())
}

/// The difference between twice as many calls and so many, so that what is not part of a call cancels out.
fn instructions(context: &mut Context, result: &mut GroupResult) -> Result<(), Error> {
    if let Err(missing) = callgrind::find() {
        result.lacks("instructions per call", missing);
        return Ok(());
    }
    context.say("  counting instructions under valgrind: preparing cells");
    let mut server = Server::counted(&[LIBRARY, seed::LIBRARY])?;
    let mut cells = Cells::new(&mut server)?;
    let calls = context.effort.pick(20, 100, 200);
    let repeats = context.effort.pick(1, 1, 3);
    let mut counted = Vec::with_capacity(STEPS.len());
    for step in &STEPS {
        // What is allocated once, or cached, is there after this.
        (step.cost)(&mut cells, calls)?;
        let mut values = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            let some = (step.cost)(&mut cells, calls)?;
            let twice = (step.cost)(&mut cells, 2 * calls)?;
            values.push(2.0 * twice - some);
        }
        counted.push(values);
    }
    let title = "Instructions of the server per call, protocol included (callgrind)";
    let mut table = Table::comparing(title, "instructions", "the call", "an empty FCALL");
    for (step, values) in STEPS.iter().zip(&counted).skip(1) {
        let id = format!("server-cost/instructions-{}", step.id);
        let figure = Figure::compared(&id, step.what, values, &counted[0]);
        context.add(&mut table, figure);
    }
    result.tables.push(table);
    Ok(())
}
