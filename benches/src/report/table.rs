//! One table of the page.

use std::fmt::Write;

use super::Notes;
use crate::harness::terminal::short;
use crate::results::{Figure, Spread, Table, Verdict};

/// Which columns a table has besides the first ones.
struct Columns<'a> {
    has_second: bool,
    more: Vec<&'a str>,
    has_targets: bool,
}

/// Writes a table and what is to be said about its rows.
pub(super) fn write(page: &mut String, table: &Table, notes: &Notes) {
    let columns = Columns::of(table);
    let head = columns.head(table);
    let mut rule = vec!["---:"; head.len()];
    rule[0] = "---";
    let _ = writeln!(page, "**{}**\n", table.title);
    let _ = writeln!(page, "| {} |", head.join(" | "));
    let _ = writeln!(page, "|{}|", rule.join("|"));
    for figure in &table.figures {
        let _ = writeln!(page, "| {} |", columns.row(figure).join(" | "));
    }
    page.push('\n');
    let remarks: String = table.figures.iter().map(|it| remarks(it, notes)).collect();
    if !remarks.is_empty() {
        page.push_str(&remarks);
        page.push('\n');
    }
}

impl<'a> Columns<'a> {
    fn of(table: &'a Table) -> Self {
        let mut more: Vec<&str> = Vec::new();
        for one in table.figures.iter().flat_map(|figure| &figure.more) {
            if !more.contains(&one.name.as_str()) {
                more.push(&one.name);
            }
        }
        Columns {
            has_second: !table.second.is_empty(),
            more,
            has_targets: table.figures.iter().any(|it| it.target.is_some()),
        }
    }

    fn head(&self, table: &Table) -> Vec<String> {
        let mut head = vec![String::new(), format!("{}, {}", table.first, table.unit)];
        if self.has_second {
            head.push(format!("{}, {}", table.second, table.unit));
            head.push("ratio".to_owned());
        }
        head.extend(self.more.iter().map(|&name| name.to_owned()));
        if self.has_targets {
            head.extend(["target".to_owned(), String::new()]);
        }
        head.push("rounds".to_owned());
        head
    }

    fn row(&self, figure: &Figure) -> Vec<String> {
        let shown = |it: Option<Spread>| it.map_or(String::new(), |it| spread(&it));
        let mut row = vec![figure.what.clone(), spread(&figure.first)];
        if self.has_second {
            row.extend([shown(figure.second), shown(figure.ratio)]);
        }
        for name in &self.more {
            let more = figure.more.iter().find(|more| more.name == *name);
            row.push(more.map_or(String::new(), |more| short(more.value)));
        }
        if self.has_targets {
            row.push(figure.target.map_or(String::new(), |it| it.to_string()));
            row.push(verdict(figure));
        }
        row.push(figure.repeats.to_string());
        row
    }
}

/// The median, and the quartiles where they differ.
fn spread(spread: &Spread) -> String {
    let [median, low, high] = [spread.median, spread.quartile_low, spread.quartile_high].map(short);
    if low == high {
        return median;
    }
    format!("{median} ({low} to {high})")
}

/// The word for a verdict, red when the target is missed.
pub(super) fn verdict(figure: &Figure) -> String {
    match figure.verdict {
        Some(Verdict::Holds) => "holds".to_owned(),
        Some(Verdict::Missed) => "![missed](results/missed.svg)".to_owned(),
        None => String::new(),
    }
}

fn remarks(figure: &Figure, notes: &Notes) -> String {
    let mut text = String::new();
    if let Some(note) = &figure.note {
        let _ = writeln!(text, "- {}: {note}.", figure.what);
    }
    if let Some(tried) = notes.about(&figure.id) {
        let _ = writeln!(text, "- {}: {tried}", figure.what);
    } else if figure.verdict == Some(Verdict::Missed) {
        let _ = writeln!(
            text,
            "- {}: missed; `{}` in notes.toml is the place for what was tried.",
            figure.what, figure.id
        );
    }
    text
}
