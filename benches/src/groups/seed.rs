//! The minimal spec's own script, in a cell where nine nodes of ten are full.

use lockless_functions::LIBRARY;
use redis::Cmd;

use crate::Error;
use crate::cell::{Cell, fcall, node};
use crate::harness::Context;
use crate::link::Server;
use crate::results::{Bar, Figure, GroupResult, Plot, Table, Target};
use crate::seed::{LIBRARY as SEED_LIBRARY, SeedCell};

/// A dispatch of the minimal spec takes milliseconds, in which others may get the processor.
const SEED_CALLS: usize = 1;
const NODES: usize = 1000;
/// Longer than any run, in ms.
const HELD_MS: &str = "604800000";

pub(super) fn run(context: &mut Context) -> Result<GroupResult, Error> {
    let mut result = GroupResult::default();
    let full = NODES * 9 / 10;
    let calls = context.effort.pick(10, 20, 20);
    let mut server = Server::start(&[LIBRARY, SEED_LIBRARY])?;
    let mut ours = Cell::plain(&mut server, NODES)?;
    ours.all(&fillers(full))?;
    let mut script = SeedCell::new(&mut server, NODES, full)?;
    let measured = context.in_turn("the minimal spec's script", 3, |side| match side {
        0 => script.dispatch_cost(SEED_CALLS),
        1 => ours.dispatch_cost(calls, &[]),
        _ => script.dispatch_cost_with_holes(SEED_CALLS),
    })?;
    let title = "A dispatch at 1,000 nodes, 900 of them full";
    let mut table = Table::comparing(title, "us", "the script", "ours");
    let what = "the minimal spec's script, which meets the full nodes first, to ours";
    let figure = Figure::compared("seed/full", what, measured.side(0), measured.side(1));
    context.add(&mut table, figure.held_to(Target::AtLeast(60.0)));
    let what = "the same, when a slot is free somewhere among the full nodes";
    let figure = Figure::compared("seed/holes", what, measured.side(2), measured.side(1));
    context.add(&mut table, figure);
    result.tables.push(table);
    let bar = |name: &str, side: usize| Bar {
        name: name.to_owned(),
        value: measured.median(side),
        is_ours: side == 1,
    };
    let bars = vec![
        bar("Lockless", 1),
        bar("the minimal spec's script", 0),
        bar("the same, a slot free among the full", 2),
    ];
    let y = "us of Redis time per dispatch, median";
    result.plots.push(Plot::bars("seed", title, y, bars));
    Ok(result)
}

/// What takes every slot of the first nodes.
fn fillers(nodes: usize) -> Vec<Cmd> {
    (0..nodes * 4)
        .map(|slot| {
            let job = format!("filler-{slot}");
            fcall("lockless_reserve", &[&node(slot / 4), &job, HELD_MS])
        })
        .collect()
}
