//! `cargo xtask faults`: the program `faults` of the crate `lockless-faults`, in this one's place.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

use crate::run;

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// For the program: --quick, --only NAME, --list, --seed N, --keep, --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// What faults break beside servers. They are looked for beside the program itself.
const BROKEN: [&str; 2] = ["lockless-gateway", "lockless-agent"];

fn build_what_is_broken() -> Result<()> {
    let mut command = run::cargo();
    command.args(["build", "--quiet"]);
    for name in BROKEN {
        command.args(["--package", name, "--bin", name]);
    }
    run::visibly(&mut command)
}

fn program() -> Command {
    let mut command = run::cargo();
    command.args([
        "run",
        "--quiet",
        "--package",
        "lockless-faults",
        "--bin",
        "faults",
        "--",
    ]);
    command
}

/// Does not return unless it can't be started: so Ctrl-C reaches the program alone, which cleans up.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let only_tells = |word: &String| ["--list", "--help", "-h"].contains(&word.as_str());
    if !arguments.arguments.iter().any(only_tells) {
        build_what_is_broken()?;
    }
    let error = program().args(&arguments.arguments).exec();
    Err(error).context("cargo could not be started")
}

/// A few rounds of each, for `ci`.
pub(crate) fn run_quickly() -> Result<()> {
    build_what_is_broken()?;
    run::visibly(program().arg("--quick"))
}
