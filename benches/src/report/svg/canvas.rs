//! The sheet that a plot is drawn on: its size, its colours, its text.

use std::fmt::Write;

/// Colours that people with any kind of colour vision tell apart, on a light and on a dark ground.
const SERIES: [(&str, &str); 7] = [
    ("#0b62c4", "#62a8ff"),
    ("#c4451c", "#ff8f6b"),
    ("#0a7d5a", "#3fd0a0"),
    ("#8a4fb5", "#cf9bf2"),
    ("#9a6b00", "#e8b93c"),
    ("#56616e", "#a9b4c0"),
    ("#b5277a", "#ff85c2"),
];

/// How many colours there are.
pub(super) const COLOURS: usize = SERIES.len();

/// A picture that grows element by element.
pub(super) struct Canvas {
    body: String,
    width: f64,
    height: f64,
}

/// Where a text stands.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64, title: &str) -> Self {
        let mut canvas = Canvas {
            body: String::new(),
            width,
            height,
        };
        canvas.text((20.0, 28.0), Anchor::Start, "title", title);
        canvas
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = writeln!(
            self.body,
            r#"<line class="{class}" x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
            from.0, from.1, to.0, to.1
        );
    }

    pub(super) fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        let points: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let _ = writeln!(
            self.body,
            r#"<polyline class="{class}" points="{}"/>"#,
            points.join(" ")
        );
    }

    pub(super) fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), class: &str) {
        let _ = writeln!(
            self.body,
            r#"<rect class="{class}" x="{:.1}" y="{:.1}" width="{:.2}" height="{:.1}" rx="2"/>"#,
            at.0, at.1, size.0, size.1
        );
    }

    /// A mark of one of four forms, so that lines can be told apart without colours.
    pub(super) fn mark(&mut self, (x, y): (f64, f64), series: usize) {
        let path = match series % 4 {
            0 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x - 4.0),
            1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
            2 => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0),
            _ => format!("M{x:.1} {:.1}l4.8 8.4h-9.6z", y - 5.2),
        };
        let _ = writeln!(
            self.body,
            r#"<path class="f{}" d="{path}"/>"#,
            series % COLOURS
        );
    }

    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.body,
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#,
            escaped(text)
        );
    }

    pub(super) fn finish(self, title: &str) -> String {
        let Canvas {
            body,
            width,
            height,
        } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
             role=\"img\" aria-label=\"{}\">\n<style>\n{}</style>\n<rect class=\"ground\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\"/>\n{body}</svg>\n",
            escaped(title),
            style()
        )
    }
}

fn style() -> String {
    let mut style = String::from(
        "text { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 12px; }\n\
         .title { font-size: 15px; font-weight: 600; }\n\
         polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }\n\
         .thick { stroke-width: 3.2; }\n\
         .value { font-size: 11px; }\n",
    );
    style.push_str(&colours(false));
    style.push_str("@media (prefers-color-scheme: dark) {\n");
    style.push_str(&colours(true));
    style.push_str("}\n");
    style
}

fn colours(is_dark: bool) -> String {
    let pick = |light, dark| if is_dark { dark } else { light };
    let ground = pick("#ffffff", "#14181d");
    let ink = pick("#1b2027", "#e8ecf1");
    let quiet = pick("#59636e", "#9aa6b2");
    let grid = pick("#e3e7ec", "#2a3139");
    let axis = pick("#9aa4af", "#57626d");
    let mut css = format!(
        ".ground {{ fill: {ground}; }}\ntext {{ fill: {quiet}; }}\n.title, .name {{ fill: {ink}; }}\n\
         .grid {{ stroke: {grid}; }}\n.axis {{ stroke: {axis}; }}\n"
    );
    for (number, (light, dark)) in SERIES.iter().enumerate() {
        let colour = pick(light, dark);
        let _ = writeln!(
            css,
            ".s{number} {{ stroke: {colour}; }} .f{number} {{ fill: {colour}; }}"
        );
    }
    css
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
