//! What all faults showed, as a table: on the terminal, and in the documents.

use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::fault::{self, Fault};
use crate::outcome::{Outcome, Tally};

/// A fault and what it showed; or why it could not be run.
pub struct Entry {
    /// The fault.
    pub fault: Fault,
    /// What it showed.
    pub outcome: Result<Outcome, String>,
    /// How long it took, in seconds.
    pub seconds: f64,
}

impl Entry {
    /// Whether it was run and nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.outcome
            .as_ref()
            .is_ok_and(|outcome| outcome.failures().is_empty())
    }

    fn cells(&self) -> [String; 8] {
        let name = self.fault.name.to_owned();
        let Ok(outcome) = &self.outcome else {
            let none = || "-".to_owned();
            return [
                name,
                none(),
                none(),
                none(),
                "not run".to_owned(),
                none(),
                none(),
                seconds(self.seconds),
            ];
        };
        let control = outcome.control.as_ref().map(Tally::losses);
        [
            name,
            outcome.rounds.to_string(),
            outcome.protected.operations.to_string(),
            outcome.protected.maybes.to_string(),
            outcome.protected.losses().to_string(),
            control.map_or("-".to_owned(), |losses| losses.to_string()),
            outcome
                .recovery
                .map_or("-".to_owned(), |took| seconds(took.as_secs_f64())),
            seconds(self.seconds),
        ]
    }
}

const HEADERS: [&str; 8] = [
    "fault",
    "rounds",
    "operations",
    "no reply",
    "losses",
    "control",
    "recovery",
    "took",
];

fn seconds(number: f64) -> String {
    if number < 1.0 {
        format!("{:.0} ms", number * 1000.0)
    } else {
        format!("{number:.1} s")
    }
}

/// The table for a terminal.
pub fn table(entries: &[Entry]) -> String {
    let rows: Vec<[String; 8]> = std::iter::once(HEADERS.map(str::to_owned))
        .chain(entries.iter().map(Entry::cells))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADERS.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            let _ = if column == 0 {
                write!(text, "{cell:<width$}")
            } else {
                write!(text, "  {cell:>width$}")
            };
        }
        text.push('\n');
    }
    text
}

/// What is wrong, a line for each.
pub fn failures(entries: &[Entry]) -> String {
    const SHOWN: usize = 20;
    let mut text = String::new();
    for entry in entries {
        match &entry.outcome {
            Err(reason) => {
                let _ = writeln!(text, "{}: {reason}", entry.fault.name);
            }
            Ok(outcome) => {
                let failures = outcome.failures();
                for failure in failures.iter().take(SHOWN) {
                    let _ = writeln!(
                        text,
                        "{}: {:?}: {}",
                        entry.fault.name, failure.rule, failure.sentence
                    );
                }
                if failures.len() > SHOWN {
                    let _ = writeln!(
                        text,
                        "{}: and {} more",
                        entry.fault.name,
                        failures.len() - SHOWN
                    );
                }
            }
        }
    }
    text
}

const INTRODUCTION: &str = include_str!("report.md");

/// What the last full run of a fault showed, kept so that one fault can be run again without the others.
#[derive(Serialize, Deserialize)]
struct Kept {
    seed: u64,
    /// The digest of the library that was loaded, and the version of the server; results from before these were kept have none.
    #[serde(default)]
    library: String,
    #[serde(default)]
    server: String,
    cells: [String; 8],
    notes: Vec<String>,
}

impl Kept {
    /// Whether it is about another library than the present one.
    fn is_of_another_library(&self) -> bool {
        Some(self.library.as_str()) != lockless_functions::digest()
    }

    /// The first digits of the library's digest, as the page has them.
    fn library_cell(&self) -> String {
        match self.library.get(..DIGITS) {
            Some(digits) if self.is_of_another_library() => format!("{digits}, another"),
            Some(digits) => digits.to_owned(),
            None => "unknown, another".to_owned(),
        }
    }
}

/// So many digits tell libraries apart.
const DIGITS: usize = 8;

/// Keeps what a full run of a fault showed.
pub fn keep(entry: &Entry, seed: u64, server: &str, directory: &Path) -> Result<(), Error> {
    let notes = entry.outcome.iter().flat_map(|outcome| &outcome.notes);
    let kept = Kept {
        seed,
        library: lockless_functions::digest().unwrap_or_default().to_owned(),
        server: server.to_owned(),
        cells: entry.cells(),
        notes: notes.cloned().collect(),
    };
    let path = directory.join(format!("{}.json", entry.fault.name));
    let text = serde_json::to_string_pretty(&kept).map_err(std::io::Error::from);
    std::fs::create_dir_all(directory)
        .and(text)
        .and_then(|text| std::fs::write(&path, text + "\n"))
        .map_err(Error::file(&path))
}

/// The page for the documents, from what was kept of all faults.
pub fn page(directory: &Path) -> Result<String, Error> {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n## What it showed\n\n");
    let digest = lockless_functions::digest().unwrap_or_default();
    let digits = digest.get(..DIGITS).unwrap_or_default();
    let headers = HEADERS.join(" | ");
    let _ = writeln!(text, "| {headers} | seed | library | server |");
    let _ = writeln!(text, "|---|{}", "---:|".repeat(HEADERS.len() + 2));
    let mut sections = String::new();
    let mut stale = Vec::new();
    for fault in fault::all() {
        let kept = kept(&fault, directory)?;
        match &kept {
            Some(kept) => {
                let _ = writeln!(
                    text,
                    "| `{}` | {} | {} | {} | {} |",
                    fault.name,
                    kept.cells[1..].join(" | "),
                    kept.seed,
                    kept.library_cell(),
                    match kept.server.as_str() {
                        "" => "unknown",
                        server => server,
                    }
                );
                if kept.is_of_another_library() {
                    stale.push(format!("`{}`", fault.name));
                }
            }
            None => {
                let dashes = "- | ".repeat(HEADERS.len() + 2);
                let _ = writeln!(text, "| `{}`, not run yet | {dashes}", fault.name);
            }
        }
        let _ = writeln!(
            sections,
            "\n**`{}`**: {} Control: {}",
            fault.name, fault.summary, fault.control
        );
        for note in kept.iter().flat_map(|kept| &kept.notes) {
            let _ = writeln!(sections, "- {note}");
        }
    }
    let _ = writeln!(
        text,
        "\nThe present library has the digest `{digits}`, as `lockless_version` says. {}",
        match stale.as_slice() {
            [] => "All rows are about it.".to_owned(),
            stale => format!(
                "These rows are about another one, and say nothing of it until they are run again: {}.",
                stale.join(", ")
            ),
        }
    );
    Ok(text + "\n## The faults\n" + &sections)
}

fn kept(fault: &Fault, directory: &Path) -> Result<Option<Kept>, Error> {
    let path = directory.join(format!("{}.json", fault.name));
    let read = match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read,
    };
    read.and_then(|bytes| serde_json::from_slice(&bytes).map_err(std::io::Error::from))
        .map(Some)
        .map_err(Error::file(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_that_is_run_again_changes_its_own_row_alone() {
        let directory = tempfile::tempdir().unwrap();
        let faults = fault::all();
        let entry = |at: usize, rounds: u64| Entry {
            fault: faults[at],
            outcome: Ok(Outcome {
                rounds,
                notes: vec![format!("note of {rounds}")],
                ..Outcome::default()
            }),
            seconds: 2.0,
        };
        for (at, rounds) in [(0, 11), (1, 22), (0, 33)] {
            keep(&entry(at, rounds), 7, "redis 7.0.15", directory.path()).unwrap();
        }
        let page = page(directory.path()).unwrap();
        let row = |at: usize| {
            let begin = format!("| `{}`", faults[at].name);
            page.lines().find(|line| line.starts_with(&begin)).unwrap()
        };
        assert!(
            row(0).contains("| 33 |") && row(1).contains("| 22 |"),
            "{page}"
        );
        assert!(row(2).contains("not run yet"), "{page}");
        assert!(page.contains("- note of 33") && !page.contains("note of 11"));
    }

    #[test]
    fn a_row_about_another_library_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let fault = fault::all()[0];
        let entry = Entry {
            fault,
            outcome: Ok(Outcome::default()),
            seconds: 2.0,
        };
        keep(&entry, 7, "redis 7.0.15", directory.path()).unwrap();
        let fresh = page(directory.path()).unwrap();
        assert!(fresh.contains("All rows are about it.") && fresh.contains("| redis 7.0.15 |"));

        let path = directory.path().join(format!("{}.json", fault.name));
        let text = std::fs::read_to_string(&path).unwrap();
        let digest = lockless_functions::digest().unwrap();
        std::fs::write(&path, text.replace(digest, &"0".repeat(digest.len()))).unwrap();
        let stale = page(directory.path()).unwrap();
        assert!(stale.contains("| 00000000, another |"), "{stale}");
        let sentence = format!("until they are run again: `{}`.", fault.name);
        assert!(stale.contains(&sentence), "{stale}");
    }

    #[test]
    fn a_damaged_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("kill.json"), "{").unwrap();
        let error = page(directory.path()).unwrap_err().to_string();
        assert!(error.contains("kill.json"), "{error}");
    }
}
