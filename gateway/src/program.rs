//! The program itself: what the command line asks for, with its log.

use std::io::IsTerminal;
use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

use crate::auth::generate;
use crate::gateway;
use crate::settings::{Cli, Command, Log, LogFormat, Serve, Token};

/// Does what the command line asks for; an error is said in a sentence.
pub fn run(cli: &Cli) -> ExitCode {
    let done = match &cli.command {
        Some(Command::Token(token)) => make_token(token),
        None => serve(&cli.serve),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make_token(token: &Token) -> Result<(), String> {
    let (secret, line) = generate(token.role, &token.name, token.node.as_deref())?;
    println!(
        "The token, for its holder; it is kept nowhere:\n\n  {secret}\n\nThe line for the token file:\n\n  {line}"
    );
    Ok(())
}

fn serve(settings: &Serve) -> Result<(), String> {
    start_log(&settings.log)?;
    // For what is not done by the threads that serve.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no scheduler can be made: {error}"))?;
    runtime.block_on(gateway::run(settings))
}

fn start_log(log: &Log) -> Result<(), String> {
    let filter = EnvFilter::try_new(&log.filter).map_err(|error| {
        format!(
            "--log takes a level or a filter, given '{}': {error}",
            log.filter
        )
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match log.log_format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}
