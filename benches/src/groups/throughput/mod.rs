//! Placements and whole jobs per second, and how long each takes, from real clients.

mod contended;
mod tables;

use std::time::Duration;

use lockless_functions::LIBRARY;
use lockless_servers::Cluster;
use tokio::runtime::Runtime;

use crate::harness::Context;
use crate::link::Server;
use crate::load::{Door, Ran, Stage, Until, Work};
use crate::processes::Gateway;
use crate::results::{Figure, GroupResult, Table, Target};
use crate::{Error, failed};

const CALLERS: &[usize] = &[1, 8, 64, 256];
/// In a quick run.
const FEW_CALLERS: &[usize] = &[1, 64];
const PRIMARIES: usize = 3;
const CELLS: usize = 6;
const WORKS: [(Work, &str, &str); 2] = [
    (Work::Place, "place", "Placements"),
    (
        Work::WholeJob,
        "job",
        "Whole jobs (dispatch + ack + complete)",
    ),
];
const WAYS: [(&str, &str); 3] = [
    ("direct", "FCALL"),
    ("gateway", "the gateway"),
    ("cluster", "the gateway on a Cluster"),
];

/// One way to do one kind of work, at one number of callers.
#[derive(Default)]
struct Row {
    per_second: Vec<f64>,
    micros: Vec<f64>,
    placed: usize,
    refused: usize,
    oversold: usize,
}

impl Row {
    /// Of runs one after the other, the first of which warms up: its slots are counted, its times are not.
    fn of(runs: Vec<Ran>) -> Self {
        let mut row = Row::default();
        for (round, ran) in runs.into_iter().enumerate() {
            row.placed += ran.count;
            row.refused += ran.refused;
            row.oversold += ran.oversold;
            if round > 0 {
                row.per_second.push(ran.per_second());
                row.micros.extend(ran.micros);
            }
        }
        row.micros.sort_by(f64::total_cmp);
        row
    }
}

pub(super) fn run(context: &mut Context) -> Result<GroupResult, Error> {
    let runtime = Runtime::new().map_err(failed("a runtime"))?;
    let nodes = context.effort.pick(60, 1000, 1000);
    let slots_per_node = context.effort.pick(4, 4, 10);
    let server = Server::start(&[LIBRARY])?;
    let cluster = Cluster::start(PRIMARIES)?;
    let mut alone = Stage::on_server(server.port(), nodes, slots_per_node)?;
    let mut shared = Stage::on_cluster(&cluster, CELLS, nodes, slots_per_node)?;
    let gateway = Gateway::start(server.port(), &alone.roots())?;
    let port = cluster.nodes()[0].port();
    let on_cluster = Gateway::start(port, &shared.roots())?;
    let doors = [
        runtime.block_on(Door::direct(server.port()))?,
        Door::Gateway(gateway.port),
        Door::Gateway(on_cluster.port),
    ];
    let time = Duration::from_millis(context.effort.pick(50, 150, 300));
    let mut rows: Vec<(usize, Vec<Row>)> = Vec::new();
    let all_callers = context.effort.pick(FEW_CALLERS, FEW_CALLERS, CALLERS);
    for &callers in all_callers {
        let mut runs: Vec<Vec<Ran>> = Vec::new();
        runs.resize_with(WAYS.len() * WORKS.len(), Vec::new);
        context.in_turn(&format!("{callers} callers"), runs.len(), |side| {
            let (way, work) = (side % WAYS.len(), WORKS[side / WAYS.len()].0);
            let stage = if way == 2 { &mut shared } else { &mut alone };
            let until = match work {
                Work::Place => Until::Full,
                Work::WholeJob => Until::Time(time),
            };
            let ran = stage.run(&runtime, &doors[way], callers, work, until)?;
            let per_second = ran.per_second();
            runs[side].push(ran);
            Ok(per_second)
        })?;
        rows.push((callers, runs.into_iter().map(Row::of).collect()));
    }
    let mut result = GroupResult::default();
    for (work, (_, id, title)) in WORKS.iter().enumerate() {
        let first = work * WAYS.len();
        tables::write(context, &mut result, &rows, first, id, title);
        result.plots.extend(tables::plots(&rows, first, id, title));
    }
    let contended = contended::run(context, &runtime, &server, &doors[..2], &mut result)?;
    let all = rows.iter().flat_map(|(_, row)| row).chain(&contended);
    let (placed, oversold) = all.fold((0, 0), |(placed, oversold), row| {
        (placed + row.placed, oversold + row.oversold)
    });
    let title = "Slots that were handed out while another caller held them";
    let mut table = Table::measuring(title, "slots", "oversold");
    let what = "in all runs of this group";
    let figure = Figure::measured("throughput/oversold", what, &[oversold as f64])
        .held_to(Target::AtMost(0.0))
        .with("jobs placed", placed as f64);
    context.add(&mut table, figure);
    result.tables.push(table);
    Ok(result)
}
