//! From 1 to 1,000,000 finished jobs in the cell.

use lockless_functions::LIBRARY;

use super::{CALLS, NOTHING, Sweep, grouped};
use crate::Error;
use crate::cell::Cell;
use crate::harness::Context;
use crate::link::Server;
use crate::results::{GroupResult, Plot, Table, Target};
use crate::seed::{LIBRARY as SEED_LIBRARY, Nothing};

const NODES: usize = 1000;
/// The target speaks of this many; a run that is not full has no time for them.
const FINISHED_MOST: usize = 1_000_000;
/// Longer than a run takes.
const KEEP_MS: &str = "86400000";
/// The library's own: what is set to it is no longer a setting.
const KEEP_DEFAULT_MS: &str = "600000";

pub(super) fn run(context: &mut Context, result: &mut GroupResult) -> Result<(), Error> {
    let sizes: &[usize] = context.effort.pick(
        &[1, 500],
        &[1, 1_000, 30_000],
        &[1, 1_000, 10_000, 100_000, FINISHED_MOST],
    );
    let mut server = Server::start(&[LIBRARY, SEED_LIBRARY])?;
    let mut nothing = Nothing::new(&mut server)?;
    let mut cells = Vec::with_capacity(sizes.len());
    for size in sizes {
        context.say(&format!("  finishing {} jobs", grouped(*size)));
        cells.push(cell_with(
            &mut server,
            context.effort.pick(100, NODES, NODES),
            *size,
        )?);
    }
    // The records of the dispatches that are measured go, so that the number stays.
    let measured = context.in_turn("finished jobs", sizes.len() + 1, |side| {
        let Some(cell) = cells.get_mut(side) else {
            return nothing.cost(CALLS);
        };
        let (cost, jobs) = cell.timed(|cell| cell.dispatch(CALLS, &[]))?;
        cell.complete(&jobs)?;
        cell.forget(&jobs)?;
        Ok(cost)
    })?;
    let sweep = Sweep {
        id: "finished",
        sizes,
        unit: "finished jobs in the cell",
        target: Some((FINISHED_MOST, Target::AtMost(1.2))),
    };
    let title = "A dispatch at 1,000 nodes with finished jobs";
    let mut table = Table::comparing(title, "us", "with more", "with one");
    sweep.rows(context, &mut table, &measured);
    result.tables.push(table);
    let plot = Plot::growth(
        "growth-finished",
        "A dispatch as the number of finished jobs grows, 1,000 nodes",
        "finished jobs in the cell",
        "us of Redis time per dispatch, median",
        vec![
            sweep.line("Lockless", &measured),
            sweep.level(NOTHING, &measured),
        ],
    );
    let caption = "The minimal spec's script never looks at jobs that have ended, and keeps them for ever; it has no line here.";
    result.plots.push(plot.from_nothing().captioned(caption));
    Ok(())
}

fn cell_with(server: &mut Server, nodes: usize, finished: usize) -> Result<Cell, Error> {
    let mut cell = Cell::plain(server, nodes)?;
    cell.set("keep_finished_ms", KEEP_MS)?;
    let mut left = finished;
    while left > 0 {
        let jobs = cell.dispatch(left.min(nodes), &[])?;
        cell.complete(&jobs)?;
        left -= jobs.len();
    }
    // What has ended keeps its time. A cell with a setting of its own would not take the plain way that is measured everywhere else.
    cell.set("keep_finished_ms", KEEP_DEFAULT_MS)?;
    Ok(cell)
}
