//! More callers than slots: most dispatches are refused and tried again, and every slot goes from hand to hand.

use std::time::Duration;

use tokio::runtime::Runtime;

use super::{Row, WAYS};
use crate::Error;
use crate::harness::Context;
use crate::link::Server;
use crate::load::{Door, Ran, Stage, Until, Work};
use crate::results::{Figure, GroupResult, Table, quantile};

const CALLERS: usize = 256;
const NODES: usize = 8;
const SLOTS_PER_NODE: u32 = 4;

/// Whole jobs, through each of these doors. The cell is another one on the same server.
pub(super) fn run(
    context: &mut Context,
    runtime: &Runtime,
    server: &Server,
    doors: &[Door],
    result: &mut GroupResult,
) -> Result<Vec<Row>, Error> {
    let mut stage = Stage::on_server(server.port(), NODES, SLOTS_PER_NODE)?;
    let time = Duration::from_millis(context.effort.pick(50, 150, 500));
    let mut runs: Vec<Vec<Ran>> = Vec::new();
    runs.resize_with(doors.len(), Vec::new);
    context.in_turn("more callers than slots", doors.len(), |way| {
        let until = Until::Time(time);
        let ran = stage.run(runtime, &doors[way], CALLERS, Work::WholeJob, until)?;
        let per_second = ran.per_second();
        runs[way].push(ran);
        Ok(per_second)
    })?;
    let rows: Vec<Row> = runs.into_iter().map(Row::of).collect();
    let title = format!(
        "Whole jobs of {CALLERS} callers that share {} slots",
        NODES * SLOTS_PER_NODE as usize
    );
    let mut table = Table::measuring(&title, "per second", "whole jobs");
    for (row, (id, name)) in rows.iter().zip(WAYS) {
        let id = format!("throughput/contended-{id}");
        let figure = Figure::measured(&id, name, &row.per_second)
            .with("refusals per job", row.refused as f64 / row.placed as f64)
            .with("p50 us", quantile(&row.micros, 0.5))
            .with("p99 us", quantile(&row.micros, 0.99))
            .with("oversold", row.oversold as f64);
        context.add(&mut table, figure);
    }
    result.tables.push(table);
    Ok(rows)
}
