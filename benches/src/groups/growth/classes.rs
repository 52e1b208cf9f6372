//! From 1 to 64 classes of nodes that match a request.

use lockless_functions::LIBRARY;

use super::{CALLS, NOTHING, Sweep};
use crate::Error;
use crate::cell::{Cell, plain_node};
use crate::harness::Context;
use crate::link::Server;
use crate::results::{GroupResult, Plot, Table, Target};
use crate::seed::{LIBRARY as SEED_LIBRARY, Nothing};

/// As many for every number of classes.
const NODES: usize = 1024;
/// The target speaks of this many.
const CLASSES_MOST: usize = 64;

pub(super) fn run(context: &mut Context, result: &mut GroupResult) -> Result<(), Error> {
    let nodes = context.effort.pick(64, NODES, NODES);
    let sizes: &[usize] = context
        .effort
        .pick(&[1, 64], &[1, 8, 64], &[1, 2, 4, 8, 16, 32, 64]);
    context.say("  preparing cells of many classes");
    let mut server = Server::start(&[LIBRARY, SEED_LIBRARY])?;
    let mut nothing = Nothing::new(&mut server)?;
    let mut cells = Vec::with_capacity(sizes.len());
    for classes in sizes {
        cells.push(Cell::new(&mut server, nodes, |number| {
            let mut words = plain_node();
            words.push("LABEL".to_owned());
            words.push(format!("kind-{}", number % classes));
            words
        })?);
    }
    let title = "A dispatch that several classes of 1,024 nodes match";
    let mut table = Table::comparing(title, "us", "more classes", "one");
    let mut lines = Vec::new();
    for (is_busy, id, unit, name) in [
        (
            false,
            "classes",
            "matching classes, idle nodes",
            "idle nodes",
        ),
        (
            true,
            "classes-busy",
            "matching classes, a job on every node",
            "a job on every node",
        ),
    ] {
        if is_busy {
            for cell in &mut cells {
                cell.dispatch(nodes, &[])?;
            }
        }
        let sides = sizes.len() + 1;
        let measured = context.in_turn(unit, sides, |side| match cells.get_mut(side) {
            Some(cell) => cell.dispatch_cost(CALLS, &[]),
            None => nothing.cost(CALLS),
        })?;
        let sweep = Sweep {
            id,
            sizes,
            unit,
            target: Some((CLASSES_MOST, Target::AtMost(3.0))),
        };
        sweep.rows(context, &mut table, &measured);
        lines.push(sweep.line(name, &measured));
        if is_busy {
            lines.push(sweep.level(NOTHING, &measured));
        }
    }
    result.tables.push(table);
    let plot = Plot::growth(
        "growth-classes",
        "A dispatch as the number of matching classes grows, 1,024 nodes",
        "matching classes",
        "us of Redis time per dispatch, median",
        lines,
    );
    let caption = "The minimal spec has no classes of nodes, so its script has no line here.";
    result.plots.push(plot.from_nothing().captioned(caption));
    Ok(())
}
