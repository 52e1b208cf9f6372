//! The figures that a user asks for first, as README shows them.

use std::fmt::Write;

use crate::Error;
use crate::harness::terminal::short;
use crate::results::{Figure, Kept, Table, Verdict};

/// README's table stands between these lines.
const BEGIN: &str = "<!-- The table is written by `cargo xtask bench`, from benches/results. -->";
const END: &str = "<!-- The end of the table. -->";

/// A figure in README: its id, and what it is in a few words. A row may have several, each with its own words.
struct Row {
    what: &'static str,
    figures: &'static [(&'static str, &'static str)],
    group: &'static str,
}

const ROWS: [Row; 4] = [
    Row {
        what: "Redis time of a whole job (dispatch, ack, complete), to BullMQ's (add, process), finished jobs kept",
        figures: &[
            ("peers/bullmq-time-live", "one job after the other"),
            ("peers/bullmq-time-keep", "from 64 callers"),
        ],
        group: "peers",
    },
    Row {
        what: "a dispatch at 100,000 nodes, to one at 10",
        figures: &[("growth/nodes-few-100000", "")],
        group: "growth",
    },
    Row {
        what: "placements of 64 callers, to jobs of BullMQ's best set-up",
        figures: &[
            ("peers/bullmq-speed-place", "from 64 adders to the end"),
            ("peers/bullmq-speed-place-backlog", "of a backlog"),
        ],
        group: "peers",
    },
    Row {
        what: "the minimal spec's own script at 1,000 nodes, 900 of them full, to ours",
        figures: &[("seed/full", "")],
        group: "seed",
    },
];

/// README with the figures of these results in its table.
pub fn with_figures(readme: &str, kept: &[&Kept]) -> Result<String, Error> {
    let parts = readme.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) =
        parts.ok_or_else(|| Error::unexpected("README.md", &"no marks around its figures"))?;
    // Blank lines, or Markdown takes the marks for rows.
    Ok(format!("{before}{BEGIN}\n\n{}\n{END}{after}", table(kept)))
}

fn table(kept: &[&Kept]) -> String {
    let mut text =
        String::from("| what | figure (both sides) | target | measured by |\n|---|---|---|---|\n");
    for row in &ROWS {
        let cells: Vec<(String, String)> = row
            .figures
            .iter()
            .map(|(id, words)| match find(kept, id) {
                Some((table, figure)) => (shown(table, figure, words), judged(figure)),
                None => ("not measured".to_owned(), String::new()),
            })
            .collect();
        let (figures, targets): (Vec<String>, Vec<String>) = cells.into_iter().unzip();
        let _ = writeln!(
            text,
            "| {} | {} | {} | `cargo xtask bench --only {}` |",
            row.what,
            figures.join("; "),
            targets.join("; "),
            row.group
        );
    }
    text
}

fn find<'a>(kept: &[&'a Kept], id: &str) -> Option<(&'a Table, &'a Figure)> {
    let mut tables = kept.iter().flat_map(|one| &one.result.tables);
    tables.find_map(|table| {
        let figure = table.figures.iter().find(|figure| figure.id == id)?;
        Some((table, figure))
    })
}

/// `1.18 (19.8 / 16.6 us)`, and words on which one it is.
fn shown(table: &Table, figure: &Figure, words: &str) -> String {
    let second = figure.second.map_or(f64::NAN, |second| second.median);
    let text = format!(
        "{} ({} / {} {})",
        short(figure.judged()),
        short(figure.first.median),
        short(second),
        table.unit
    );
    format!("{text} {words}").trim_end().to_owned()
}

fn judged(figure: &Figure) -> String {
    let target = figure.target.map_or(String::new(), |it| it.to_string());
    match figure.verdict {
        Some(Verdict::Missed) => format!("{target}, **missed**"),
        _ => target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let readme = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let written = with_figures(&readme, &[]).unwrap();
        assert!(written.starts_with("before\n") && written.ends_with("\nafter\n"));
        assert!(!written.contains("old") && written.contains("not measured"));
        assert_eq!(with_figures(&written, &[]).unwrap(), written);
    }

    #[test]
    fn a_readme_without_marks_is_refused() {
        assert!(with_figures("no marks", &[]).is_err());
    }

    #[test]
    fn both_sides_and_a_missed_target_are_shown() {
        let table = Table::comparing("t", "us", "ours", "theirs");
        let figure = Figure::compared("a/b", "a", &[30.0], &[20.0]);
        let figure = figure.held_to(crate::results::Target::AtMost(1.2));
        assert_eq!(shown(&table, &figure, ""), "1.50 (30.0 / 20.0 us)");
        assert_eq!(judged(&figure), "at most 1.2, **missed**");
    }
}
