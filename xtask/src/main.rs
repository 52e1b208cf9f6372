//! Project automation: `cargo xtask` lists what there is.

mod bench;
mod bundle;
mod ci;
mod deploy;
mod examples;
mod faults;
mod gateway;
mod openapi;
mod pages;
mod playground;
mod program;
mod python;
mod run;
mod screenshots;
mod test;
mod up;
mod wasm;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "Project automation for Lockless"
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Measure side by side with what one would use instead, and write benches/RESULTS.md
    Bench(bench::Arguments),
    /// Write functions/lockless.lua from its sources
    Bundle(bundle::Arguments),
    /// Load the library into a Redis server, a Sentinel's primary or every primary of a Cluster
    DeployFunctions(deploy::Arguments),
    /// Run all tests, then the examples, then the gateway against its OpenAPI document
    Test(test::Arguments),
    /// Break real deployments under load, and show what was lost: --quick, --only NAME, --list, --help
    Faults(faults::Arguments),
    /// Hold a private gateway to its OpenAPI document, with schemathesis
    Openapi,
    /// Write the playground as plain files, for any static file server
    Playground(playground::Arguments),
    /// Start a gateway with its pages and two agents that run jobs, and say how to call them; no Redis is needed
    Up(up::Arguments),
    /// Make wasm/lockless.wasm from its sources
    Wasm(wasm::Arguments),
    /// Take the pictures of docs/images, with a browser
    Screenshots,
    /// Run what the project's checks run: format, lints, features, bundle, module, tests, faults
    Ci,
}

fn main() -> ExitCode {
    let Some(command) = Cli::parse().command else {
        // A bare call asks what there is.
        let _ = Cli::command().print_help();
        return ExitCode::SUCCESS;
    };
    let done = match command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Bundle(arguments) => bundle::run(&arguments),
        Command::DeployFunctions(arguments) => deploy::run(&arguments).map_err(Into::into),
        Command::Test(arguments) => test::run(&arguments),
        Command::Faults(arguments) => faults::run(&arguments),
        Command::Openapi => openapi::run(),
        Command::Playground(arguments) => playground::run(&arguments),
        Command::Up(arguments) => up::run(&arguments),
        Command::Wasm(arguments) => wasm::run(&arguments),
        Command::Screenshots => screenshots::run(),
        Command::Ci => ci::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", in_one(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes, leaving out those whose words were already said by the one before.
fn in_one(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |said, cause| {
        let cause = cause.to_string();
        if said.is_empty() {
            cause
        } else if said.contains(&cause) {
            said
        } else {
            format!("{said}: {cause}")
        }
    })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::in_one;

    #[test]
    fn an_error_names_each_cause_once() {
        let error = anyhow!("no such file")
            .context("x.lua: no such file")
            .context("bundling failed");
        assert_eq!(in_one(&error), "bundling failed: x.lua: no such file");
    }
}
