//! `cargo xtask bench`: the bench, built as it is meant to be measured.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};

use crate::run;

/// The bench reads its own arguments, so that they are described once.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// Passed on to the bench; `--help` says what there is
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    given: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    run::with_docker_if_needed()?;
    let mut bench = run::cargo();
    bench
        .args(["run", "--release", "--package", "lockless-benches"])
        .args(["--bin", "bench", "--"])
        .args(&arguments.given);
    // In place of this process, so that Ctrl-C meets the bench alone and the terminal waits until its servers are gone.
    let error = bench.exec();
    Err(error).context("cargo could not be started")
}
