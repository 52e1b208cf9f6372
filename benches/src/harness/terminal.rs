//! What a run says while it goes on.

use std::io::{IsTerminal, Write, stderr, stdout};

use crate::results::{Figure, Kept, Table, Verdict};

/// The terminal, which shows lines that stay and one that passes.
#[derive(Default)]
pub struct Terminal {
    has_passing: bool,
    table: String,
}

impl Terminal {
    /// A line that stays.
    pub fn line(&mut self, text: &str) {
        self.clear();
        // Whoever reads may have read enough; the figures are kept anyway.
        let _ = writeln!(stdout(), "{text}");
    }

    /// A line that the next one replaces; where nobody watches, nothing.
    pub fn passing(&mut self, text: &str) {
        let mut stderr = stderr();
        if !stderr.is_terminal() {
            return;
        }
        let short: String = text.chars().take(100).collect();
        let _ = write!(stderr, "\r\x1b[K  {short}");
        let _ = stderr.flush();
        self.has_passing = true;
    }

    /// Takes the passing line away.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.has_passing) {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }

    /// A row of a table, under the table's head when it is the first one.
    pub fn figure(&mut self, table: &Table, figure: &Figure) {
        if self.table != table.title {
            self.table.clone_from(&table.title);
            self.line(&format!("\n  {} ({})", table.title, table.unit));
            if !table.second.is_empty() {
                self.line(&format!(
                    "  {:<58} {:>11} {:>11} {:>7}",
                    "", table.first, table.second, "ratio"
                ));
            }
        }
        let second = figure.second.map_or(String::new(), |it| short(it.median));
        let ratio = figure.ratio.map_or(String::new(), |it| short(it.median));
        let verdict = match (figure.target, figure.verdict) {
            (Some(target), Some(Verdict::Holds)) => format!("{target}: holds"),
            (Some(target), _) => format!("{target}: MISSED"),
            _ => String::new(),
        };
        let more: Vec<String> = figure
            .more
            .iter()
            .map(|more| format!("{} {}", more.name, short(more.value)))
            .collect();
        let first = short(figure.first.median);
        let line = format!(
            "  {:<58} {first:>11} {second:>11} {ratio:>7}  {verdict}  {}",
            figure.what,
            more.join(", ")
        );
        self.line(line.trim_end());
    }

    /// What held, what was missed, what failed.
    pub fn summary(&mut self, groups: &[Kept], failures: &[String]) {
        let figures = || groups.iter().flat_map(|kept| kept.result.figures());
        let held = figures().filter(|it| it.verdict == Some(Verdict::Holds));
        let missed: Vec<&Figure> = figures()
            .filter(|it| it.verdict == Some(Verdict::Missed))
            .collect();
        self.line(&format!(
            "\n{} targets hold, {} are missed.",
            held.count(),
            missed.len()
        ));
        for figure in missed {
            if let Some(target) = figure.target {
                let value = short(figure.judged());
                self.line(&format!(
                    "  missed: {} ({}): {value}, {target}",
                    figure.what, figure.id
                ));
            }
        }
        for failure in failures {
            self.line(&format!("  failed: {failure}"));
        }
    }
}

/// A number with as many digits as say something.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        "-".to_owned()
    } else if size >= 1000.0 {
        grouped(value)
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A whole number with its thousands apart.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 {
        format!("-{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_number_has_as_many_digits_as_say_something() {
        let shown = [1.234, 12.34, 123.4, 1_234.0, 1_234_567.8].map(short);
        assert_eq!(shown, ["1.23", "12.3", "123", "1,234", "1,234,568"]);
    }
}
