//! Heartbeats of up to 10,000 nodes.

use redis::Cmd;

use super::{CALLS, NOTHING, Sweep, grouped};
use crate::Error;
use crate::cell::{Cell, fcall, node};
use crate::harness::Context;
use crate::link::Server;
use crate::results::{Figure, GroupResult, Line, Plot, Table};
use crate::seed::{Nothing, SeedCell};

/// A fleet of this size beats in one go.
const FLEET_NODES: usize = 10_000;

pub(super) fn run(
    context: &mut Context,
    result: &mut GroupResult,
    server: &mut Server,
    sizes: &[usize],
    cells: &mut [Cell],
) -> Result<(), Error> {
    let mut nothing = Nothing::new(server)?;
    let mut scripts = Vec::with_capacity(sizes.len());
    for size in sizes {
        scripts.push(SeedCell::new(server, *size, 0)?);
    }
    // Ours at every size, an empty FCALL, the script at every size.
    let sides = 2 * sizes.len() + 1;
    let mut next = vec![0; sides];
    let measured = context.in_turn("heartbeats", sides, |side| {
        if side == sizes.len() {
            return nothing.cost(CALLS);
        }
        let place = side % (sizes.len() + 1);
        let from = next[side];
        next[side] = from + CALLS;
        let names: Vec<String> = (from..from + CALLS)
            .map(|number| node(number % sizes[place]))
            .collect();
        if side > sizes.len() {
            return scripts[place].heartbeat_cost(&names);
        }
        let cell = &mut cells[place];
        let (cost, _) = cell.timed(|cell| cell.all(&beats(&names)))?;
        cell.keep_present(&names)?;
        Ok(cost)
    })?;
    let sweep = Sweep {
        id: "heartbeat",
        sizes,
        unit: "nodes",
        target: None,
    };
    let mut table = Table::comparing("A heartbeat", "us", "the larger", "the smallest");
    sweep.rows(context, &mut table, &measured);
    result.tables.push(table);
    let title = "A heartbeat, to that of the minimal spec's script, which notes what the node says and decides nothing";
    let mut table = Table::comparing(title, "us", "ours", "the script");
    let mut script = Line {
        name: "the minimal spec's script".to_owned(),
        points: Vec::new(),
    };
    for (place, size) in sizes.iter().enumerate() {
        let theirs = sizes.len() + 1 + place;
        let id = format!("growth/heartbeat-seed-{size}");
        let what = format!("{} nodes", grouped(*size));
        let figure = Figure::compared(&id, what, measured.side(place), measured.side(theirs));
        context.add(&mut table, figure);
        script.points.push((*size as f64, measured.median(theirs)));
    }
    result.tables.push(table);
    let plot = Plot::growth(
        "growth-heartbeats",
        "A heartbeat as the number of nodes grows",
        "nodes",
        "us of Redis time per heartbeat, median",
        vec![
            sweep.line("Lockless", &measured),
            script,
            sweep.level(NOTHING, &measured),
        ],
    );
    result.plots.push(plot.from_nothing());
    let largest = sizes
        .iter()
        .zip(cells.iter_mut())
        .rfind(|(size, _)| **size <= FLEET_NODES);
    match largest {
        Some((size, cell)) => whole_fleet(context, result, *size, cell),
        None => Ok(()),
    }
}

/// Every node once: what a fleet costs each time it beats.
fn whole_fleet(
    context: &mut Context,
    result: &mut GroupResult,
    nodes: usize,
    cell: &mut Cell,
) -> Result<(), Error> {
    let names: Vec<String> = (0..nodes).map(node).collect();
    let mut passes = Vec::new();
    for _ in 0..context.effort.pick(1, 1, 5) {
        let (cost, _) = cell.timed(|cell| cell.all(&beats(&names)))?;
        cell.keep_present(&names)?;
        passes.push(cost * nodes as f64 / 1000.0);
    }
    let title = "Every node beats once";
    let mut table = Table::measuring(title, "ms", "Redis time of all heartbeats");
    let what = format!("{} nodes", grouped(nodes));
    let per_cent = passes.iter().map(|ms| ms / 100.0).collect::<Vec<f64>>();
    let figure = Figure::measured("growth/heartbeat-fleet", what, &passes);
    let share = crate::rounds::median(&per_cent);
    context.add(
        &mut table,
        figure.with("of one core, at a beat every 10 s, %", share),
    );
    result.tables.push(table);
    Ok(())
}

fn beats(names: &[String]) -> Vec<Cmd> {
    let load = ["CPU", "12.5", "GPU", "-1", "MEM", "40", "JOBS", "0"];
    names
        .iter()
        .map(|name| {
            let mut command = fcall("lockless_heartbeat", &[name]);
            command.arg(&load);
            command
        })
        .collect()
}
