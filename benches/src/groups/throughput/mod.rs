//! Placements and whole jobs per second, and how long each takes, from real clients.

use std::time::Duration;

use lockless_functions::LIBRARY;
use lockless_servers::Cluster;
use tokio::runtime::Runtime;

use crate::harness::Context;
use crate::link::Server;
use crate::load::{Door, Stage, Work};
use crate::processes::Gateway;
use crate::results::{Figure, GroupResult, Line, Plot, Table, Target, quantile};
use crate::rounds::Measured;
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
/// What a gateway may cost, as a part of what the same callers do without one.
const THROUGH_GATEWAY: Target = Target::AtLeast(0.6);

/// One way to do one kind of work, at one number of callers.
struct Row {
    per_second: Vec<f64>,
    micros: Vec<f64>,
}

pub(super) fn run(context: &mut Context) -> Result<GroupResult, Error> {
    let runtime = Runtime::new().map_err(failed("a runtime"))?;
    let nodes = context.effort.pick(60, 1000, 1000);
    let slots_per_node = context.effort.pick(8, 4, 20);
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
    let time = Duration::from_millis(context.effort.pick(50, 150, 500));
    let mut rows: Vec<(usize, Vec<Row>)> = Vec::new();
    let mut placed = 0;
    let all_callers = context.effort.pick(FEW_CALLERS, FEW_CALLERS, CALLERS);
    for &callers in all_callers {
        let mut micros = vec![Vec::new(); WAYS.len() * WORKS.len()];
        let what = format!("{callers} callers");
        let measured: Measured = context.in_turn(&what, micros.len(), |side| {
            let (way, work) = (side % WAYS.len(), side / WAYS.len());
            let stage = if way == 2 { &mut shared } else { &mut alone };
            let ran = stage.run(&runtime, &doors[way], callers, WORKS[work].0, time)?;
            placed += ran.count;
            micros[side].extend(&ran.micros);
            Ok(ran.per_second())
        })?;
        let mut these: Vec<Row> = Vec::with_capacity(micros.len());
        for (side, mut micros) in micros.into_iter().enumerate() {
            micros.sort_by(f64::total_cmp);
            these.push(Row {
                per_second: measured.side(side).to_vec(),
                micros,
            });
        }
        rows.push((callers, these));
    }
    let mut result = GroupResult::default();
    for (work, (_, id, title)) in WORKS.iter().enumerate() {
        tables(context, &mut result, &rows, work * WAYS.len(), id, title);
        result
            .plots
            .extend(plots(&rows, work * WAYS.len(), id, title));
    }
    let oversold = alone.oversold() + shared.oversold();
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

/// One table per way; each but the first one beside the way before it.
fn tables(
    context: &mut Context,
    result: &mut GroupResult,
    rows: &[(usize, Vec<Row>)],
    first: usize,
    id: &str,
    title: &str,
) {
    for (way, (way_id, way_name)) in WAYS.iter().enumerate() {
        let mut table = if way == 0 {
            Table::measuring(&format!("{title} by {way_name}"), "per second", way_name)
        } else {
            let before = WAYS[way - 1].1;
            let title = format!("{title} through {way_name}, to {before}");
            Table::comparing(&title, "per second", way_name, before)
        };
        for (callers, row) in rows {
            let id = format!("throughput/{id}-{way_id}-{callers}");
            let what = match callers {
                1 => "1 caller".to_owned(),
                _ => format!("{callers} callers"),
            };
            let own = &row[first + way];
            let mut figure = if way == 0 {
                Figure::measured(&id, what, &own.per_second)
            } else {
                Figure::compared(&id, what, &own.per_second, &row[first + way - 1].per_second)
            };
            if (way, *callers, first > 0) == (1, 64, true) {
                figure = figure.held_to(THROUGH_GATEWAY);
            }
            for (name, part) in [("p50 us", 0.5), ("p99 us", 0.99), ("p99.9 us", 0.999)] {
                figure = figure.with(name, quantile(&own.micros, part));
            }
            context.add(&mut table, figure);
        }
        result.tables.push(table);
    }
}

fn plots(rows: &[(usize, Vec<Row>)], first: usize, id: &str, title: &str) -> [Plot; 2] {
    let lines = |value: &dyn Fn(&Row) -> f64| -> Vec<Line> {
        let line = |(way, (_, name)): (usize, &(&str, &str))| Line {
            name: (*name).to_owned(),
            points: rows
                .iter()
                .map(|(callers, row)| (*callers as f64, value(&row[first + way])))
                .collect(),
        };
        WAYS.iter().enumerate().map(line).collect()
    };
    let rate = lines(&|row| crate::rounds::median(&row.per_second));
    let p99 = lines(&|row| quantile(&row.micros, 0.99));
    [
        Plot::growth(
            &format!("throughput-{id}"),
            &format!("{title} per second"),
            "callers",
            "per second",
            rate,
        ),
        Plot::growth(
            &format!("latency-{id}"),
            &format!("{title}: 99 of 100 take less"),
            "callers",
            "us",
            p99,
        ),
    ]
}
