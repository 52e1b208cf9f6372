//! Lines over an axis of numbers.

use super::axis::Axis;
use super::canvas::{Anchor, COLOURS, Canvas};
use crate::results::{Line, Plot, Scale};

const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 66.0;
const BOTTOM: f64 = 362.0;
/// The names are at least this far apart.
const NAME_STEP: f64 = 18.0;

pub(super) fn draw(plot: &Plot, x_name: &str, scales: (Scale, Scale), lines: &[Line]) -> String {
    let xs = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.0));
    let ys = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.1));
    let x = Axis::exactly(xs, scales.0, (LEFT, RIGHT));
    let y = Axis::around(ys, scales.1, (BOTTOM, TOP));
    let mut canvas = Canvas::new(WIDTH, HEIGHT, &plot.title);
    canvas.text((20.0, 48.0), Anchor::Start, "value", &plot.y);
    for (value, name) in y.ticks() {
        if let Some(place) = y.place(value) {
            canvas.line((LEFT, place), (RIGHT, place), "grid");
            canvas.text((LEFT - 8.0, place + 4.0), Anchor::End, "tick", &name);
        }
    }
    let measured_at = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.0));
    for (value, name) in x.ticks_at(measured_at) {
        if let Some(place) = x.place(value) {
            canvas.line((place, BOTTOM), (place, BOTTOM + 5.0), "axis");
            canvas.text((place, BOTTOM + 20.0), Anchor::Middle, "tick", &name);
        }
    }
    canvas.line((LEFT, BOTTOM), (RIGHT, BOTTOM), "axis");
    let middle = f64::midpoint(LEFT, RIGHT);
    canvas.text((middle, BOTTOM + 42.0), Anchor::Middle, "tick", x_name);

    let mut names = Vec::with_capacity(lines.len());
    // Ours comes first and is drawn last, on top of the others.
    for (series, line) in lines.iter().enumerate().rev() {
        let places: Vec<(f64, f64)> = line
            .points
            .iter()
            .filter_map(|(at, value)| x.place(*at).zip(y.place(*value)))
            .collect();
        let Some(last) = places.last() else {
            continue;
        };
        let thick = if series == 0 { " thick" } else { "" };
        canvas.polyline(&places, &format!("s{}{thick}", series % COLOURS));
        for place in &places {
            canvas.mark(*place, series);
        }
        names.push((last.1, series, line.name.as_str()));
    }
    for (place, series, name) in apart(names) {
        canvas.mark((RIGHT + 18.0, place), series);
        canvas.text((RIGHT + 30.0, place + 4.0), Anchor::Start, "name", name);
    }
    canvas.finish(&plot.title)
}

/// The names beside the ends of their lines, moved so that none covers another.
fn apart(mut names: Vec<(f64, usize, &str)>) -> Vec<(f64, usize, &str)> {
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lowest = f64::NEG_INFINITY;
    for name in &mut names {
        name.0 = name.0.max(lowest + NAME_STEP);
        lowest = name.0;
    }
    // What was pushed below the picture pushes the others up again.
    let mut highest = BOTTOM + NAME_STEP;
    for name in names.iter_mut().rev() {
        name.0 = name.0.min(highest - NAME_STEP);
        highest = name.0;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_lines_that_end_together_do_not_cover_each_other() {
        let names = apart(vec![
            (BOTTOM, 0, "a"),
            (BOTTOM - 1.0, 1, "b"),
            (BOTTOM - 2.0, 2, "c"),
        ]);
        for pair in names.windows(2) {
            assert!(pair[1].0 - pair[0].0 >= NAME_STEP - 0.001);
        }
        assert!(names.iter().all(|name| name.0 <= BOTTOM));
    }
}
