//! Heartbeats of up to 10,000 nodes.

use redis::Cmd;

use super::{CALLS, Sweep};
use crate::Error;
use crate::cell::{Cell, fcall, node};
use crate::harness::Context;
use crate::results::{Figure, GroupResult, Plot, Table};

/// A fleet of this size beats in one go.
const FLEET_NODES: usize = 10_000;

pub(super) fn run(
    context: &mut Context,
    result: &mut GroupResult,
    sizes: &[usize],
    cells: &mut [Cell],
) -> Result<(), Error> {
    let mut next = vec![0; sizes.len()];
    let measured = context.in_turn("heartbeats", sizes.len(), |side| {
        let from = next[side];
        next[side] = from + CALLS;
        let names: Vec<String> = (from..from + CALLS)
            .map(|number| node(number % sizes[side]))
            .collect();
        let cell = &mut cells[side];
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
    let plot = Plot::growth(
        "growth-heartbeats",
        "A heartbeat as the number of nodes grows",
        "nodes",
        "us of Redis time per heartbeat, median",
        vec![sweep.line("Lockless", &measured)],
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
    let what = format!("{} nodes", super::grouped(nodes));
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
