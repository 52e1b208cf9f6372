//! The node side of Lockless.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use lockless_agent::settings::{Cli, Command, Given, LogFormat, Settings, shown};
use lockless_agent::{guard, life};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = Cli::from_words(std::env::args_os()).unwrap_or_else(|error| error.exit());
    if let Some(Command::Guard) = cli.command {
        return guard::run();
    }
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<(), String> {
    // Jobs run as the same user: they are kept from reading the token and the passwords in this process.
    nix::sys::prctl::set_dumpable(false)
        .map_err(|error| format!("this process can't be closed to others: {error}"))?;
    let is_print = cli.print_config;
    let given = cli.read()?;
    let settings = Settings::new(&given)?;
    if is_print {
        let _ = std::io::stdout().write_all(shown(given, &settings)?.as_bytes());
        return Ok(());
    }
    start_log(&given)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("no scheduler can be made: {error}"))?;
    let ended = runtime.block_on(life::run(settings));
    // A thread that waits for a file or a program does not hold up the end.
    runtime.shutdown_background();
    ended
}

fn start_log(given: &Given) -> Result<(), String> {
    let filter = given.log.as_deref().unwrap_or("info");
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| format!("--log takes a level or a filter, given '{filter}': {error}"))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match given.log_format {
        Some(LogFormat::Json) => builder.json().init(),
        _ => builder.init(),
    }
    Ok(())
}
