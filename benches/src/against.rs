//! Two bundles side by side, each on its own server: did a change make calls cheaper?

use std::path::Path;

use lockless_functions::LIBRARY;

use crate::harness::Context;
use crate::link::Server;
use crate::results::{Figure, Table};
use crate::steps::{Cells, STEPS};
use crate::{Error, seed};

/// Compares each call of the bundle in a file with the same call of this one, and shows it; nothing is kept.
pub fn run(context: &mut Context, path: &Path) -> Result<(), Error> {
    let bundle = std::fs::read_to_string(path).map_err(|source| Error::File {
        path: path.display().to_string(),
        source,
    })?;
    let start = if context.with_instructions {
        Server::counted
    } else {
        Server::start
    };
    let (mut ours, mut other) = (
        start(&[LIBRARY, seed::LIBRARY])?,
        start(&[&bundle, seed::LIBRARY])?,
    );
    let (mut first, mut second) = (Cells::new(&mut other)?, Cells::new(&mut ours)?);
    let calls = context.effort.pick(10, 20, 20);
    let unit = if context.with_instructions {
        "instructions"
    } else {
        "us"
    };
    let mut table = Table::comparing("The bundle given, and this one", unit, "given", "this");
    for step in &STEPS {
        // Counts repeat: a few rounds say it all.
        let measured = if context.with_instructions {
            let calls = 5 * calls;
            let of = |cells: &mut Cells| {
                (step.cost)(cells, calls)?;
                (step.cost)(cells, calls)
            };
            [vec![of(&mut first)?], vec![of(&mut second)?]]
        } else {
            let measured = context.compare(
                step.what,
                || (step.cost)(&mut first, calls),
                || (step.cost)(&mut second, calls),
            )?;
            [measured.side(0).to_vec(), measured.side(1).to_vec()]
        };
        let figure = Figure::compared(step.id, step.what, &measured[0], &measured[1]);
        context.add(&mut table, figure);
    }
    Ok(())
}
