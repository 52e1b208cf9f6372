//! Labels on nodes, and labels that a dispatch asks for.

use lockless_functions::LIBRARY;

use super::{CALLS, NOTHING, Sweep};
use crate::Error;
use crate::cell::{Cell, labelled_node};
use crate::harness::Context;
use crate::link::Server;
use crate::results::{GroupResult, Plot, Table, Target};
use crate::seed::{LIBRARY as SEED_LIBRARY, Nothing};

const NODES: usize = 1000;
/// So many labels does a node have when some of them are asked for.
const LABELS: usize = 32;
const REQUIRED: usize = 4;

pub(super) fn run(context: &mut Context, result: &mut GroupResult) -> Result<(), Error> {
    let nodes = context.effort.pick(20, NODES, NODES);
    let on_nodes: &[usize] = context
        .effort
        .pick(&[0, 32], &[0, 8, 32], &[0, 1, 2, 4, 8, 16, 32]);
    let required: &[usize] = context.effort.pick(&[0, 4], &[0, 1, 4], &[0, 1, 2, 4]);
    context.say("  preparing cells of nodes with labels");
    let mut server = Server::start(&[LIBRARY, SEED_LIBRARY])?;
    let mut nothing = Nothing::new(&mut server)?;
    let mut cells = Vec::with_capacity(on_nodes.len());
    for labels in on_nodes {
        cells.push(Cell::new(&mut server, nodes, |_| labelled_node(*labels))?);
    }
    let sides = on_nodes.len() + 1;
    let measured = context.in_turn("labels on nodes", sides, |side| match cells.get_mut(side) {
        Some(cell) => cell.dispatch_cost(CALLS, &[]),
        None => nothing.cost(CALLS),
    })?;
    let target = Target::AtMost(1.2);
    let sweep = Sweep {
        id: "labels",
        sizes: on_nodes,
        unit: "labels on every node",
        target: Some((LABELS, target)),
    };
    let mut table = Table::comparing(
        "A dispatch at 1,000 nodes with labels",
        "us",
        "with more",
        "without",
    );
    sweep.rows(context, &mut table, &measured);
    let mut lines = vec![sweep.line("labels on every node", &measured)];
    let level = sweep.level(NOTHING, &measured);

    // A cell for each, because a session remembers the class of one set of wishes only: sides that shared sessions would forget
    // each other's.
    let mut cells = Vec::with_capacity(required.len());
    for _ in required {
        cells.push(Cell::new(&mut server, nodes, |_| labelled_node(LABELS))?);
    }
    let words: Vec<String> = (0..LABELS)
        .step_by(5)
        .flat_map(|label| ["REQUIRE".to_owned(), format!("label-{label:02}")])
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let measured = context.in_turn("labels required", required.len(), |side| {
        cells[side].dispatch_cost(CALLS, &words[..2 * required[side]])
    })?;
    let sweep = Sweep {
        id: "require",
        sizes: required,
        unit: "labels REQUIREd of 32",
        target: Some((REQUIRED, target)),
    };
    sweep.rows(context, &mut table, &measured);
    lines.push(sweep.line("labels REQUIREd, of 32", &measured));
    result.tables.push(table);
    lines.push(level);
    let plot = Plot::growth(
        "growth-labels",
        "A dispatch with labels, 1,000 nodes",
        "labels",
        "us of Redis time per dispatch, median",
        lines,
    );
    let plot = plot.from_nothing().from_no_size();
    result
        .plots
        .push(plot.captioned("The minimal spec has no labels, so its script has no line here."));
    Ok(())
}
