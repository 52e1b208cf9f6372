//! The harness: named groups of measurements, run one after the other, kept and reported.

mod effort;
pub mod interrupt;
pub mod terminal;

use std::path::{Path, PathBuf};
use std::time::Instant;

pub use effort::Effort;
pub use terminal::Terminal;

use crate::Error;
use crate::groups::GROUPS;
use crate::report;
use crate::results::{Figure, GroupResult, Kept, Machine, Provenance, Store, Table, commit, load};
use crate::rounds::{Measured, in_turn};

/// A named group of measurements.
pub struct Group {
    /// Its name on the command line and of its files.
    pub name: &'static str,
    /// Its heading in the report.
    pub title: &'static str,
    /// What it measures, in a sentence or two.
    pub about: &'static str,
    /// Whether it works without the network, and so is part of a smoke run.
    pub is_local: bool,
    /// Measures it.
    pub run: fn(&mut Context) -> Result<GroupResult, Error>,
}

/// What a group needs to know and to say while it measures.
pub struct Context {
    /// How much to measure.
    pub effort: Effort,
    /// Whether to count instructions, which is slow.
    pub with_instructions: bool,
    /// Whether the group was asked for by name, so that it may take its time to install what it needs.
    pub is_asked_for: bool,
    /// The root of the repository.
    pub repository: PathBuf,
    /// When a quick run has to come to its end.
    deadline: Option<Instant>,
    terminal: Terminal,
}

impl Context {
    /// For groups that are run one after the other.
    pub fn new(effort: Effort, with_instructions: bool) -> Self {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        Context {
            effort,
            with_instructions,
            is_asked_for: false,
            repository: own.parent().unwrap_or(own).to_owned(),
            deadline: effort.time_in_all().map(|time| Instant::now() + time),
            terminal: Terminal::default(),
        }
    }

    /// Says what is being done.
    pub fn say(&mut self, what: &str) {
        self.terminal.line(what);
    }

    /// Whether there is time for more. What is left out must be said by name.
    pub fn has_time(&self) -> bool {
        self.deadline
            .is_none_or(|deadline| Instant::now() < deadline)
    }

    /// Adds a figure to a table, and shows it.
    pub fn add(&mut self, table: &mut Table, figure: Figure) {
        self.terminal.figure(table, &figure);
        table.figures.push(figure);
    }

    /// Measures sides in turn, at the pace of this run: `measure(side)` gives the value of one side in one round.
    pub fn in_turn(
        &mut self,
        what: &str,
        sides: usize,
        measure: impl FnMut(usize) -> Result<f64, Error>,
    ) -> Result<Measured, Error> {
        let mut pace = self.effort.pace();
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            pace.budget = pace.budget.min(left);
        }
        let measured = in_turn(pace, sides, measure, |round| {
            self.terminal
                .passing(&format!("{what}: round {round} of {}", pace.rounds));
        });
        self.terminal.clear();
        measured
    }

    /// Measures two sides in turn.
    pub fn compare(
        &mut self,
        what: &str,
        mut first: impl FnMut() -> Result<f64, Error>,
        mut second: impl FnMut() -> Result<f64, Error>,
    ) -> Result<Measured, Error> {
        self.in_turn(what, 2, |side| if side == 0 { first() } else { second() })
    }
}

/// Runs groups one after the other and keeps what they gave. A group that fails is named at the end and does not stop the others.
pub fn run(
    groups: &[&Group],
    context: &mut Context,
    store: &Store,
    command: &str,
) -> Result<(), Error> {
    let commit = commit(&context.repository);
    let machine = Machine::here();
    // Once, because later groups would find the load of those before them.
    let load_at_begin = load();
    if machine.is_busy(load_at_begin) {
        context.say(&format!(
            "The machine is busy (load {load_at_begin:.1}); the figures will be less sharp."
        ));
    }
    let mut failures = Vec::new();
    let mut fresh = Vec::new();
    let mut left_out = Vec::new();
    let mut is_interrupted = false;
    for (place, group) in groups.iter().enumerate() {
        if !context.has_time() {
            left_out.push(group.name);
            continue;
        }
        let began = Instant::now();
        context.say(&format!(
            "\n[{}/{}] {}: {}",
            place + 1,
            groups.len(),
            group.name,
            group.title
        ));
        let result = match (group.run)(context).map_err(interrupt::or_else) {
            Ok(result) => result,
            Err(Error::Interrupted) => {
                is_interrupted = true;
                break;
            }
            Err(error) => {
                context.say(&format!("  FAILED: {error}"));
                failures.push(format!("{} ({error})", group.name));
                continue;
            }
        };
        for missing in &result.not_available {
            context.say(&format!(
                "  not available: {}: {}",
                missing.name, missing.reason
            ));
        }
        let kept = Kept {
            group: group.name.to_owned(),
            provenance: Provenance {
                at: jiff::Timestamp::now()
                    .strftime("%Y-%m-%d %H:%M")
                    .to_string(),
                command: command.to_owned(),
                effort: context.effort.name().to_owned(),
                took_s: began.elapsed().as_secs_f64(),
                commit: commit.clone(),
                load_at_begin,
                machine: machine.clone(),
            },
            result,
        };
        context.say(&format!("  took {:.1} s", kept.provenance.took_s));
        store.keep(&kept)?;
        fresh.push(kept);
    }
    report::write(GROUPS, store, &context.repository)?;
    context.terminal.summary(&fresh, &failures);
    if !left_out.is_empty() {
        context.say(&format!(
            "  left out, because no time was left: {}",
            left_out.join(", ")
        ));
    }
    context.say(&format!("The report is {}.", store.page().display()));
    if is_interrupted {
        return Err(Error::Interrupted);
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(Error::Groups(failures.join("; ")))
    }
}
