//! `faults`: breaks real deployments under load, and shows what was lost. `cargo xtask faults` runs it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use lockless_faults::fault::{self, Fault};
use lockless_faults::report::{self, Entry};
use lockless_faults::run::Run;
use lockless_faults::{Error, interrupt, server};
use tempfile::TempDir;

/// Breaks real deployments under load, and shows what was lost
#[derive(Parser)]
#[command(name = "cargo xtask faults", bin_name = "cargo xtask faults")]
struct Arguments {
    /// A few rounds of each fault, in a few minutes; writes nothing
    #[arg(long)]
    quick: bool,
    /// Only this fault; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Say which faults there are
    #[arg(long)]
    list: bool,
    /// Repeat the run of this seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Leave the servers' files behind
    #[arg(long)]
    keep: bool,
    /// Where the page is written after a full run
    #[arg(long, value_name = "FILE", default_value = "docs/faults.md")]
    page: PathBuf,
    /// Where what full runs showed is kept, a file for each fault; the page is made from it
    #[arg(long, value_name = "DIR", default_value = "faults/results")]
    results: PathBuf,
}

/// How long all faults together may take. A quick run takes four minutes where nothing else runs; half of the machine may be
/// somebody else's.
const QUICK_LIMIT: Duration = Duration::from_secs(8 * 60);
const FULL_LIMIT: Duration = Duration::from_secs(60 * 60);
/// How long after its limit a fault that does not end by itself is ended.
const GRACE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, Error> {
    let faults = fault::named(&arguments.only)?;
    if arguments.list {
        for fault in faults {
            println!("{:<12} {}", fault.name, fault.summary);
        }
        return Ok(true);
    }
    interrupt::listen();
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    println!("seed {seed}");
    let server = server::version()?;
    println!(
        "{server}, library {}",
        lockless_functions::digest().unwrap_or_default()
    );
    let whole = Whole::begin(arguments.quick);
    let mut entries = Vec::new();
    for fault in faults {
        let entry = run_one(&fault, seed, arguments, &whole)?;
        if interrupt::is_asked() {
            return Err(Error::Interrupted);
        }
        // At once, so that what was shown is kept when a later fault is interrupted.
        if !arguments.quick && entry.is_good() {
            report::keep(&entry, seed, &server, &arguments.results)?;
        }
        entries.push(entry);
    }
    println!("\n{}", report::table(&entries));
    for entry in &entries {
        for note in entry.outcome.iter().flat_map(|outcome| &outcome.notes) {
            println!("{}: {note}", entry.fault.name);
        }
    }
    let is_good = entries.iter().all(Entry::is_good);
    eprint!("{}", report::failures(&entries));
    if !arguments.quick {
        std::fs::write(&arguments.page, report::page(&arguments.results)?)
            .map_err(Error::file(&arguments.page))?;
        println!("{} is written.", arguments.page.display());
    }
    Ok(is_good)
}

/// The time that all faults have together.
struct Whole {
    begin: Instant,
    limit: Duration,
}

impl Whole {
    fn begin(is_quick: bool) -> Self {
        Self {
            begin: Instant::now(),
            limit: if is_quick { QUICK_LIMIT } else { FULL_LIMIT },
        }
    }

    fn left(&self) -> Duration {
        self.limit.saturating_sub(self.begin.elapsed())
    }

    /// The reason of a fault that failed, with the word that all of them are late if they are.
    fn reason(&self, error: &Error) -> String {
        if self.left().is_zero() {
            let limit = self.limit.as_secs();
            format!("{error}; the whole run is to take less than {limit} s, and that is over")
        } else {
            error.to_string()
        }
    }
}

fn run_one(fault: &Fault, seed: u64, arguments: &Arguments, whole: &Whole) -> Result<Entry, Error> {
    let again = format!(
        "cargo xtask faults --only {} --seed {seed}{}",
        fault.name,
        if arguments.quick { " --quick" } else { "" }
    );
    println!("\n{}: {}\n  again: {again}", fault.name, fault.summary);
    let limit = if arguments.quick {
        fault.quick_limit
    } else {
        fault.full_limit
    };
    let limit = limit.min(whole.left());
    let mut directory = TempDir::with_prefix(format!("lockless-faults-{}-", fault.name))
        .map_err(Error::file(std::env::temp_dir()))?;
    directory.disable_cleanup(arguments.keep);
    if arguments.keep {
        println!("  its files stay in {}", directory.path().display());
    }
    let run = Run::new(
        fault.name,
        seed,
        arguments.quick,
        arguments.keep,
        limit,
        directory.path().to_owned(),
    );
    let watch = watch(fault.name, limit + GRACE);
    let begin = Instant::now();
    // One that has no time left fails, as one that is late does.
    let outcome = run.check().and_then(|()| (fault.run)(&run));
    let outcome = outcome.map_err(|error| whole.reason(&error));
    drop(watch);
    Ok(Entry {
        fault: *fault,
        outcome,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// Ends the whole program when a fault hangs in something that can't be interrupted; what it started dies with it.
fn watch(name: &'static str, limit: Duration) -> std::sync::mpsc::Sender<()> {
    let (alive, is_over) = std::sync::mpsc::channel::<()>();
    thread::spawn(move || {
        if is_over.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            eprintln!("error: {name} did not end within {} s", limit.as_secs());
            std::process::exit(2);
        }
    });
    alive
}
