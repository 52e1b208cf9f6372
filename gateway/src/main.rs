//! HTTP for Lockless.

use std::process::ExitCode;

use clap::Parser;
use lockless_gateway::program;
use lockless_gateway::settings::Cli;

fn main() -> ExitCode {
    program::run(&Cli::parse())
}
