//! Bars, one below the other, each with its name before it and its value behind it.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas};
use crate::harness::terminal::short;
use crate::results::{Bar, Plot, Scale};

const WIDTH: f64 = 820.0;
const LEFT: f64 = 270.0;
const RIGHT: f64 = 730.0;
const TOP: f64 = 64.0;
const ROW: f64 = 28.0;
const THICK: f64 = 18.0;

pub(super) fn draw(plot: &Plot, bars: &[Bar]) -> String {
    let height = TOP + ROW * bars.len() as f64 + 16.0;
    let values = bars.iter().map(|bar| bar.value);
    let axis = Axis::around(values, Scale::Linear, (LEFT, RIGHT));
    let mut canvas = Canvas::new(WIDTH, height, &plot.title);
    canvas.text((20.0, 48.0), Anchor::Start, "value", &plot.y);
    for (row, bar) in bars.iter().enumerate() {
        let top = TOP + ROW * row as f64;
        let end = axis.place(bar.value).unwrap_or(LEFT);
        let series = if bar.is_ours { 0 } else { 5 };
        let middle = top + THICK / 2.0 + 4.0;
        canvas.text((LEFT - 10.0, middle), Anchor::End, "name", &bar.name);
        let size = ((end - LEFT).max(1.0), THICK);
        canvas.rectangle((LEFT, top), size, &format!("bar f{series}"));
        canvas.text(
            (end + 8.0, middle),
            Anchor::Start,
            "tick",
            &short(bar.value),
        );
    }
    canvas.line((LEFT, TOP - 6.0), (LEFT, height - 14.0), "axis");
    canvas.finish(&plot.title)
}
