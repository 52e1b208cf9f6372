//! Measures Lockless beside what one would use instead; `cargo xtask bench` builds and runs it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use lockless_benches::groups::{GROUPS, find};
use lockless_benches::harness::{Context, Effort, Group, interrupt, run};
use lockless_benches::processes::{AS_GATEWAY, be_gateway};
use lockless_benches::results::Store;
use lockless_benches::{Error, against, report};

/// Measure Lockless side by side with what one would use instead, and write RESULTS.md with tables and plots.
///
/// Everything runs on private servers that stop with this program. A full run writes benches/RESULTS.md and benches/results/; a quick one
/// writes target/bench/quick/ instead. Groups that are not measured keep the figures of before.
#[derive(Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Arguments {
    /// All groups in less than three minutes, for a look; nothing that is committed changes
    #[arg(long)]
    quick: bool,

    /// Everything once, to see that it works; the figures mean nothing
    #[arg(long, conflicts_with = "quick")]
    smoke: bool,

    /// Measure this group alone; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,

    /// Say which groups there are
    #[arg(long)]
    list: bool,

    /// Measure nothing: write the report anew from what is kept, with what notes.toml says now
    #[arg(long)]
    report: bool,

    /// Also count the server's instructions per call, with valgrind
    #[arg(long)]
    instructions: bool,

    /// Instead compare the cost of each call with that of the bundle in this file
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,

    /// Write here instead
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == AS_GATEWAY) {
        return be_gateway(words);
    }
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Interrupted) => {
            eprintln!("{}", Error::Interrupted);
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<(), Error> {
    if arguments.list {
        for group in GROUPS {
            println!("{:<12} {}", group.name, group.about);
        }
        return Ok(());
    }
    let effort = match (arguments.smoke, arguments.quick) {
        (true, _) => Effort::Smoke,
        (_, true) => Effort::Quick,
        _ => Effort::Full,
    };
    let mut context = Context::new(effort, arguments.instructions);
    let groups = chosen(arguments, effort)?;
    context.is_asked_for = !arguments.only.is_empty();
    interrupt::listen()?;
    if let Some(path) = &arguments.against {
        return against::run(&mut context, path).map_err(interrupt::or_else);
    }
    let directory = match (&arguments.out, effort) {
        (Some(directory), _) => directory.clone(),
        (None, Effort::Full) => context.repository.join("benches"),
        (None, _) => context.repository.join("target/bench").join(effort.name()),
    };
    let store = Store::in_directory(&directory)?;
    if arguments.report {
        return report::write(GROUPS, &store, &context.repository);
    }
    run(&groups, &mut context, &store, &command())
}

fn chosen(arguments: &Arguments, effort: Effort) -> Result<Vec<&'static Group>, Error> {
    if arguments.only.is_empty() {
        let fits = |group: &&Group| group.is_local || effort != Effort::Smoke;
        return Ok(GROUPS.iter().filter(fits).collect());
    }
    let unknown = |name: &String| {
        let names: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
        Error::Argument(format!(
            "--only takes one of {}, given '{name}'",
            names.join(", ")
        ))
    };
    let mut groups = Vec::new();
    for name in &arguments.only {
        groups.push(find(name).ok_or_else(|| unknown(name))?);
    }
    Ok(groups)
}

/// The command as one would type it.
fn command() -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    format!("cargo xtask bench {}", words.join(" "))
        .trim_end()
        .to_owned()
}
