//! `cargo xtask faults`: the program `faults` of the crate `lockless-faults`, in this one's place.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{program, run};

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// For the program: --quick, --only NAME, --list, --seed N, --keep, --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// What faults break beside servers. They are looked for beside the program itself.
const BROKEN: [&str; 2] = ["lockless-gateway", "lockless-agent"];

/// The program that breaks them, once it is built, and what it breaks if it is to.
fn program(is_to_break: bool) -> Result<Command> {
    for name in BROKEN.iter().filter(|_| is_to_break) {
        program::build(name)?;
    }
    program::build("faults").map(Command::new)
}

/// Does not return unless it can't be started: so Ctrl-C reaches the program alone, which cleans up.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let only_tells = |word: &String| ["--list", "--help", "-h"].contains(&word.as_str());
    let is_to_break = !arguments.arguments.iter().any(only_tells);
    let error = program(is_to_break)?.args(&arguments.arguments).exec();
    Err(error).context("the program could not be started")
}

/// A few rounds of each, for `ci`.
pub(crate) fn run_quickly() -> Result<()> {
    run::visibly(program(true)?.arg("--quick"))
}
