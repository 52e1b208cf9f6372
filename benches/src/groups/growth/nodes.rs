//! From 10 to 100,000 nodes, beside the minimal spec's script, the same commands natively, and an empty FCALL.

use std::collections::VecDeque;
use std::time::Duration;

use lockless_functions::LIBRARY;

use super::{CALLS, NOTHING, Sweep, grouped, heartbeats};
use crate::cell::{Cell, Granted};
use crate::harness::{Context, Effort};
use crate::link::Server;
use crate::native::Recording;
use crate::results::{Figure, GroupResult, Line, Plot, Table, Target};
use crate::rounds::{Pace, in_turn, median};
use crate::seed::{Nothing, SeedCell};
use crate::{Error, seed};

/// The targets speak of this many.
const NODES_MOST: usize = 100_000;
/// What the spec's script walks through takes milliseconds from here on.
const SEED_SLOW_NODES: usize = 1000;

pub(super) fn run(context: &mut Context, result: &mut GroupResult) -> Result<(), Error> {
    let sizes: &[usize] = context.effort.pick(
        &[10, 300],
        &[10, 1_000, NODES_MOST],
        &[10, 100, 1_000, 10_000, NODES_MOST],
    );
    let mut server = Server::start(&[LIBRARY, seed::LIBRARY])?;
    let mut cells = Vec::with_capacity(sizes.len());
    for size in sizes {
        context.say(&format!("  preparing a cell of {} nodes", grouped(*size)));
        cells.push(Cell::plain(&mut server, *size)?);
    }
    let mut lines = few_in_flight(context, result, sizes, &mut cells)?;
    heartbeats::run(context, result, &mut server, sizes, &mut cells)?;
    lines.push(spread(context, result, sizes, &mut cells)?);
    drop(cells);
    drop(server);
    lines.extend(beside_others(context, result, sizes)?);
    let title = "A dispatch as the number of nodes grows";
    let y = "us of Redis time per dispatch, median";
    result
        .plots
        .push(Plot::growth("growth-nodes", title, "nodes", y, lines));
    Ok(())
}

fn few_in_flight(
    context: &mut Context,
    result: &mut GroupResult,
    sizes: &[usize],
    cells: &mut [Cell],
) -> Result<Vec<Line>, Error> {
    let measured = context.in_turn("nodes, few jobs in flight", sizes.len(), |side| {
        cells[side].dispatch_cost(CALLS, &[])
    })?;
    let sweep = Sweep {
        id: "nodes-few",
        sizes,
        unit: "nodes",
        target: Some((NODES_MOST, Target::AtMost(1.25))),
    };
    let title = "A dispatch, few jobs in flight";
    let mut table = Table::comparing(title, "us", "the larger", "the smallest");
    sweep.rows(context, &mut table, &measured);
    result.tables.push(table);
    Ok(vec![sweep.line("Lockless", &measured)])
}

/// One job on every node, and each dispatch is followed by the end of the oldest job.
fn spread(
    context: &mut Context,
    result: &mut GroupResult,
    sizes: &[usize],
    cells: &mut [Cell],
) -> Result<Line, Error> {
    context.say("  giving every node a job");
    let mut in_flight: Vec<VecDeque<Granted>> = Vec::with_capacity(cells.len());
    for (cell, size) in cells.iter_mut().zip(sizes) {
        in_flight.push(cell.dispatch(*size, &[])?.into());
    }
    let measured = context.in_turn("nodes, load on all of them", sizes.len(), |side| {
        let cell = &mut cells[side];
        let (cost, jobs) = cell.timed(|cell| cell.dispatch(CALLS, &[]))?;
        let flying = &mut in_flight[side];
        flying.extend(jobs);
        let oldest: Vec<Granted> = flying.drain(..CALLS.min(flying.len())).collect();
        cell.complete(&oldest)?;
        Ok(cost)
    })?;
    let sweep = Sweep {
        id: "nodes-spread",
        sizes,
        unit: "nodes",
        target: Some((NODES_MOST, Target::AtMost(1.8))),
    };
    let title = "A dispatch, a job on every node";
    let mut table = Table::comparing(title, "us", "the larger", "the smallest");
    sweep.rows(context, &mut table, &measured);
    result.tables.push(table);
    Ok(sweep.line("Lockless, a job on every node", &measured))
}

/// At each size: ours, the script with few jobs in flight, the script with nine nodes of ten full, the native commands, nothing.
fn beside_others(
    context: &mut Context,
    result: &mut GroupResult,
    sizes: &[usize],
) -> Result<Vec<Line>, Error> {
    let names = [
        "the minimal spec's script",
        "that script, 9 nodes of 10 full",
        "the same commands, natively",
        NOTHING,
    ];
    let mut lines = names.map(|name| Line {
        name: name.to_owned(),
        points: Vec::new(),
    });
    let title = "A dispatch of the minimal spec's script, and ours";
    let mut table = Table::comparing(title, "us", "the script", "ours");
    let mut floors = Vec::new();
    for &size in sizes {
        // A full run takes its time; a quick one leaves out what takes minutes to walk.
        if context.effort == Effort::Quick && size > 10_000 {
            continue;
        }
        context.say(&format!(
            "  preparing the minimal spec's cells of {} nodes",
            grouped(size)
        ));
        let values = at_size(context, size)?;
        for (line, value) in lines.iter_mut().zip(&values[1..]) {
            line.points.push((size as f64, median(value)));
        }
        for (side, id, load) in [
            (1, "few", "few jobs in flight"),
            (2, "full", "9 of 10 nodes full"),
        ] {
            let id = format!("growth/seed-{id}-{size}");
            let what = format!("{} nodes, {load}", grouped(size));
            let figure = Figure::compared(&id, what, &values[side], &values[0]);
            context.add(&mut table, figure);
        }
        for (side, id, other) in [
            (3, "native", "the same commands natively"),
            (4, "nothing", NOTHING),
        ] {
            let id = format!("growth/{id}-{size}");
            let what = format!("{} nodes, to {other}", grouped(size));
            floors.push(Figure::compared(&id, what, &values[0], &values[side]));
        }
    }
    result.tables.push(table);
    let title =
        "Our dispatch, to the same commands natively, without the protocol, and to an empty FCALL";
    let mut table = Table::comparing(title, "us", "ours", "the other");
    for figure in floors {
        context.add(&mut table, figure);
    }
    result.tables.push(table);
    Ok(lines.into())
}

fn at_size(context: &Context, size: usize) -> Result<Vec<Vec<f64>>, Error> {
    let mut server = Server::start(&[LIBRARY, seed::LIBRARY])?;
    let mut ours = Cell::plain(&mut server, size)?;
    let mut replayed = Cell::plain(&mut server, size)?;
    let recording = Recording::of(&server, &mut replayed, CALLS)?;
    let mut few = SeedCell::new(&mut server, size, 0)?;
    let mut full = SeedCell::new(&mut server, size, size * 9 / 10)?;
    let mut nothing = Nothing::new(&mut server)?;
    let seed_calls = if size < SEED_SLOW_NODES { 4 } else { 1 };
    let pace = Pace {
        rounds: context.effort.pick(2, 21, 101),
        rounds_min: context.effort.rounds_min(),
        budget: Duration::from_millis(context.effort.pick(500, 2_000, 20_000)),
    };
    let measure = |side| match side {
        0 => ours.dispatch_cost(CALLS, &[]),
        1 => few.dispatch_cost(seed_calls),
        2 => full.dispatch_cost(seed_calls),
        3 => recording.cost(&mut replayed),
        _ => nothing.cost(CALLS),
    };
    Ok(in_turn(pace, 5, measure, |_| {})?.0)
}
