//! Plots as SVG files that follow the reader's light or dark setting.
//!
//! Each has its own background, so that it can be read on a page whose colours do not follow that setting.

mod axis;
mod bars;
mod canvas;
mod lines;

use crate::results::{Plot, Shape};

/// The picture of a plot.
pub(super) fn draw(plot: &Plot) -> String {
    match &plot.shape {
        Shape::Lines {
            x,
            x_scale,
            y_scale,
            lines,
        } => lines::draw(plot, x, (*x_scale, *y_scale), lines),
        Shape::Bars { bars } => bars::draw(plot, bars),
    }
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::results::{Bar, Line, Plot};

    fn line(name: &str, points: &[(f64, f64)]) -> Line {
        Line {
            name: name.to_owned(),
            points: points.to_vec(),
        }
    }

    #[test]
    fn every_line_is_drawn_and_named_and_words_are_escaped() {
        let lines = vec![
            line("ours", &[(10.0, 30.0), (1000.0, 33.0)]),
            line("a <b> & c", &[(10.0, 26.0), (1000.0, 3500.0)]),
        ];
        let svg = draw(&Plot::growth("f", "t", "nodes", "us", lines));
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains(">ours<") && svg.contains("a &lt;b&gt; &amp; c"));
        assert!(svg.contains("prefers-color-scheme: dark"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn a_plot_without_values_is_still_a_picture() {
        for lines in [vec![], vec![line("x", &[])], vec![line("x", &[(0.0, 0.0)])]] {
            let svg = draw(&Plot::growth("f", "t", "x", "y", lines));
            assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"));
        }
        let svg = draw(&Plot::bars("f", "t", "y", vec![]));
        assert!(svg.ends_with("</svg>\n"));
    }

    #[test]
    fn bars_are_in_proportion() {
        let bar = |value| Bar {
            name: format!("b{value}"),
            value,
            is_ours: value < 2.0,
        };
        let svg = draw(&Plot::bars("f", "t", "us", vec![bar(1.0), bar(2.0)]));
        let widths: Vec<f64> = svg
            .match_indices("class=\"bar")
            .filter_map(|(at, _)| {
                let rest = &svg[at..];
                let from = rest.find("width=\"")? + 7;
                rest[from..].split('"').next()?.parse().ok()
            })
            .collect();
        assert_eq!(widths.len(), 2);
        assert!((widths[1] / widths[0] - 2.0).abs() < 0.01, "{widths:?}");
    }
}
