//! The library without a server: in process and in the WebAssembly module, beside a Redis that is asked through one connection.

mod recovery;
mod side;

use lockless_functions::LIBRARY;
use lockless_lua_tests::{Host, InProcess, Real, Wasm};
use lockless_servers::Standalone;

use crate::Error;
use crate::harness::Context;
use crate::results::{Bar, Figure, GroupResult, Plot, Table, Target};
use side::Side;

/// What an embedded scheduler must do on one core.
const WANTED_PER_SECOND: f64 = 10_000.0;
const PROCESSOR: &str = "dispatches per second of processor time";

pub(super) fn run(context: &mut Context) -> Result<GroupResult, Error> {
    let mut result = GroupResult::default();
    let server = Standalone::builder()
        .private()
        .args(["--save", "", "--appendonly", "no"])
        .start()?;
    let mut real = Real::standalone(&server.url())?;
    real.load_library(LIBRARY)?;
    let sizes: &[usize] = context.effort.pick(&[20], &[1000], &[100, 1000]);
    let title = "Dispatches per second of one caller that waits for each";
    let mut table = Table::comparing(title, "per second", "embedded", "Redis");
    let mut bars = Vec::new();
    for &nodes in sizes {
        real.command(&[b"FLUSHALL".to_vec()])?;
        let mut sides = [
            Side::new(Box::new(Real::standalone(&server.url())?), nodes)?,
            Side::new(Box::new(InProcess::new(LIBRARY)?), nodes)?,
            Side::new(Box::new(Wasm::new(LIBRARY)?), nodes)?,
        ];
        let jobs = context.effort.pick(5, 50, 50);
        let measured = context.in_turn("hosts", sides.len(), |side| sides[side].round(jobs))?;
        for (side, id, name) in [
            (1, "mlua", "in process (mlua)"),
            (2, "wasm", "in the WebAssembly module (wasmtime)"),
        ] {
            let id = format!("hosts/{id}-{nodes}");
            let what = format!("{name}, {nodes} nodes");
            let jobs = sides[side].jobs_per_second();
            let figure = Figure::compared(&id, what, measured.side(side), measured.side(0));
            context.add(&mut table, figure.with("whole jobs per second", jobs));
            bars.push(bar(
                format!("{name}, {nodes} nodes"),
                measured.median(side),
                true,
            ));
        }
        bars.push(bar(
            format!("Redis, {nodes} nodes"),
            measured.median(0),
            false,
        ));
        processor_time(context, &mut result, &sides[2], nodes);
    }
    result.tables.insert(0, table);
    result
        .plots
        .push(Plot::bars("hosts", title, "per second, median", bars));
    recovery::run(context, &mut result)?;
    Ok(result)
}

/// What one core does, whoever else is on the machine.
fn processor_time(context: &mut Context, result: &mut GroupResult, wasm: &Side, nodes: usize) {
    let mut table = Table::measuring("What one core does", "per second", PROCESSOR);
    let what = format!("in the WebAssembly module, {nodes} nodes");
    let id = format!("hosts/wasm-core-{nodes}");
    let figure = Figure::measured(&id, what, wasm.dispatches_per_processor_second());
    let figure = figure.held_to(Target::AtLeast(WANTED_PER_SECOND));
    match result.tables.iter_mut().find(|it| it.first == PROCESSOR) {
        Some(table) => context.add(table, figure),
        None => {
            context.add(&mut table, figure);
            result.tables.push(table);
        }
    }
}

fn bar(name: String, value: f64, is_ours: bool) -> Bar {
    Bar {
        name,
        value,
        is_ours,
    }
}
