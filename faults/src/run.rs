//! One run of one fault: its seed, how much it does, how long it may take, and what it says meanwhile.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::history::History;
use crate::outcome::Violation;
use crate::{Error, interrupt};

const POLL: Duration = Duration::from_millis(5);
/// How much of what was found is said at once.
const FOUND_SAID: usize = 3;

/// What a fault is given.
pub struct Run {
    name: &'static str,
    seed: u64,
    is_quick: bool,
    keeps_files: bool,
    begin: Instant,
    limit: Duration,
    directory: PathBuf,
}

impl Run {
    /// A run that keeps its files in `directory`, which is there.
    pub fn new(
        name: &'static str,
        seed: u64,
        is_quick: bool,
        keeps_files: bool,
        limit: Duration,
        directory: PathBuf,
    ) -> Self {
        Self {
            name,
            seed,
            is_quick,
            keeps_files,
            begin: Instant::now(),
            limit,
            directory,
        }
    }

    /// The seed that everything random is drawn from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Random numbers of their own for each purpose, so that one more drawn for one changes no other.
    pub fn random(&self, purpose: u64) -> Rng {
        Rng::with_seed(
            self.seed
                .wrapping_add(purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        )
    }

    /// Few rounds, for the checks of a change, or as many as the report is made of.
    pub fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// The number for a quick run, or that for a full one.
    pub fn rounds(&self, quick: u64, full: u64) -> u64 {
        if self.is_quick { quick } else { full }
    }

    /// Whether files are left behind for a look at them.
    pub fn keeps_files(&self) -> bool {
        self.keeps_files
    }

    /// Where its files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A line of progress.
    pub fn say(&self, line: impl Display) {
        println!(
            "  {:<12} {:>6.1} s  {line}",
            self.name,
            self.begin.elapsed().as_secs_f64()
        );
    }

    /// Says the first of what was found wrong.
    pub fn say_found(&self, found: &[Violation]) {
        for violation in found.iter().take(FOUND_SAID) {
            let sentence: String = violation.sentence.chars().take(300).collect();
            self.say(format_args!("found: {:?}: {sentence}", violation.rule));
        }
    }

    /// Leaves a history that breaks a rule beside the programs that were built, and says where.
    pub fn keep_history(&self, history: &History) {
        let program = std::env::current_exe().unwrap_or_default();
        let directory = program
            .ancestors()
            .nth(2)
            .map_or_else(std::env::temp_dir, Path::to_owned);
        // Of several loads of one run, each has its own.
        let after = self.begin.elapsed().as_secs();
        let name = format!("faults-{}-{}-after-{after}-s.history", self.name, self.seed);
        let path = directory.join(name);
        match std::fs::write(&path, history.lines()) {
            Ok(()) => self.say(format_args!("all its calls are in {}", path.display())),
            Err(error) => self.say(format_args!("{}: {error}", path.display())),
        }
    }

    /// Says a command that was run, as one would type it.
    pub fn say_command(&self, line: impl Display) {
        self.say(format_args!("$ {line}"));
    }

    /// Fails when the run was interrupted or its time is over: to be asked in every loop.
    pub fn check(&self) -> Result<(), Error> {
        if interrupt::is_asked() {
            return Err(Error::Interrupted);
        }
        if self.begin.elapsed() > self.limit {
            return Err(Error::OutOfTime(self.limit.as_secs()));
        }
        Ok(())
    }

    /// Lets time pass.
    pub fn pause(&self, time: Duration) -> Result<(), Error> {
        let begin = Instant::now();
        loop {
            self.check()?;
            let left = time.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            sleep(left.min(POLL));
        }
    }

    /// Waits for something; `look` says what it sees as long as it is not so. Returns how long it took.
    pub fn wait_for(
        &self,
        what: &str,
        patience: Duration,
        mut look: impl FnMut() -> Result<(), String>,
    ) -> Result<Duration, Error> {
        let begin = Instant::now();
        loop {
            let Err(seen) = look() else {
                return Ok(begin.elapsed());
            };
            self.check()?;
            if begin.elapsed() > patience {
                return Err(Error::Waited {
                    what: what.to_owned(),
                    seconds: patience.as_secs(),
                    seen,
                });
            }
            sleep(POLL);
        }
    }
}
