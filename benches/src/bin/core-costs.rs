//! Prints what the core calls cost in the server, as ratios with their targets.
//!
//! `cargo run -p lockless-benches --release --bin core-costs [-- --quick]`

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use lockless_benches::link::Server;
use lockless_benches::report::Report;
use lockless_benches::{Effort, Error, figures, seed, targets};
use lockless_functions::LIBRARY;

/// What the core calls cost in the server. Everything is measured side by side on a private server.
#[derive(Parser)]
struct Arguments {
    /// Fewer rounds
    #[arg(long)]
    quick: bool,

    /// Instead compare each call with the same call of the bundle in this file
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Error> {
    let effort = if arguments.quick {
        Effort::QUICK
    } else {
        Effort::FULL
    };
    let mut server = Server::start(&[LIBRARY, seed::LIBRARY])?;
    if let Some(path) = &arguments.against {
        let bundle = std::fs::read_to_string(path).map_err(|source| Error::File {
            path: path.display().to_string(),
            source,
        })?;
        let mut other = Server::start(&[&bundle, seed::LIBRARY])?;
        return figures::against(&mut server, &mut other, effort);
    }
    let mut report = Report::default();
    targets::run(&mut server, effort, &mut report)?;
    figures::run(&mut server, effort, &mut report)?;
    report.close();
    Ok(())
}
