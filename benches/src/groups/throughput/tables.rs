//! The tables and plots of the runs.

use super::{Row, WAYS};
use crate::harness::Context;
use crate::results::{Figure, GroupResult, Line, Plot, Table, Target, quantile};

/// What a gateway may cost, as a part of what the same callers do without one.
const THROUGH_GATEWAY: Target = Target::AtLeast(0.6);

/// One table per way; each but the first one beside the way before it.
pub(super) fn write(
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
            context.add(&mut table, figure.with("oversold", own.oversold as f64));
        }
        result.tables.push(table);
    }
}

pub(super) fn plots(rows: &[(usize, Vec<Row>)], first: usize, id: &str, title: &str) -> [Plot; 2] {
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
