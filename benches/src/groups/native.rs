//! A dispatch, and the commands inside it sent natively.

use lockless_functions::LIBRARY;

use crate::cell::Cell;
use crate::harness::Context;
use crate::link::Server;
use crate::native::{Recording, processor_cost_of_fcall};
use crate::results::{Figure, GroupResult, Table, Target};
use crate::rounds::Cost;
use crate::{Error, callgrind};

const NODES: usize = 1000;
/// Under valgrind everything takes fifty times as long, and more nodes change nothing.
const COUNTED_NODES: usize = 100;

/// What natively sent commands do not do.
const NOTE: &str = "sent natively, the commands are a recording: nothing decides between reading and writing, which would take a second \
round trip, and nothing keeps another caller from coming between";

/// So many dispatches per round trip.
const SHAPES: [(usize, &str, &str, Option<Target>); 2] = [
    (
        1,
        "one",
        "one dispatch per round trip, its commands in one pipeline",
        Some(Target::AtMost(1.2)),
    ),
    (50, "fifty", "50 dispatches per round trip", None),
];

pub(super) fn run(context: &mut Context) -> Result<GroupResult, Error> {
    let mut result = GroupResult::default();
    let nodes = context.effort.pick(50, NODES, NODES);
    let calls = context.effort.pick(10, 50, 50);
    let mut sides = Sides::on(Server::start(&[LIBRARY])?, nodes, calls)?;
    let inside = sides.recording.commands_per_dispatch();
    let title = format!(
        "Server CPU of a dispatch and of its {inside:.1} commands, protocol included (`INFO cpu`)"
    );
    let mut table = Table::comparing(&title, "us", "FCALL", "natively");
    for (pipelined, id, what, target) in SHAPES {
        let measured = context.in_turn(what, 2, |side| sides.cost(side, calls, pipelined))?;
        let id = format!("native/{id}");
        let mut figure = Figure::compared(&id, what, measured.side(0), measured.side(1));
        if let Some(target) = target {
            figure = figure.held_to(target).noted(NOTE);
        }
        context.add(&mut table, figure);
    }
    result.tables.push(table);
    if context.with_instructions {
        instructions(context, &mut result)?;
    }
    Ok(result)
}

/// The same by instructions of the server's own, without those of the kernel.
fn instructions(context: &mut Context, result: &mut GroupResult) -> Result<(), Error> {
    if let Err(missing) = callgrind::find() {
        result.lacks("instructions per dispatch", missing);
        return Ok(());
    }
    context.say("  counting instructions under valgrind");
    let calls = 100;
    let mut sides = Sides::on(Server::counted(&[LIBRARY])?, COUNTED_NODES, calls)?;
    let title = "The server's instructions, without the kernel's (callgrind)";
    let mut table = Table::comparing(title, "instructions", "FCALL", "natively");
    for (pipelined, id, what, _) in SHAPES {
        let mut values = [Vec::new(), Vec::new()];
        for _ in 0..context.effort.pick(1, 1, 3) {
            for (side, values) in values.iter_mut().enumerate() {
                values.push(sides.cost(side, calls, pipelined)?);
            }
        }
        let id = format!("native/instructions-{id}");
        let figure = Figure::compared(&id, what, &values[0], &values[1]);
        context.add(&mut table, figure);
    }
    result.tables.push(table);
    Ok(())
}

/// Two cells on a server: one is called, on the other a recording is replayed.
struct Sides {
    called: Cell,
    replayed: Cell,
    recording: Recording,
    _server: Server,
}

impl Sides {
    fn on(mut server: Server, nodes: usize, calls: usize) -> Result<Self, Error> {
        let mut replayed = Cell::plain(&mut server, nodes)?;
        let called = Cell::plain(&mut server, nodes)?;
        let recording = Recording::of(&server, &mut replayed, calls)?;
        Ok(Sides {
            called,
            replayed,
            recording,
            _server: server,
        })
    }

    fn cost(&mut self, side: usize, calls: usize, pipelined: usize) -> Result<Cost, Error> {
        if side == 0 {
            processor_cost_of_fcall(&mut self.called, calls, pipelined)
        } else {
            self.recording.processor_cost(&mut self.replayed, pipelined)
        }
    }
}
