//! `cargo xtask test`: everything that can fail.

use anyhow::Result;

use crate::{examples, openapi, pages, run};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Passed on to `cargo test`
    #[arg(last = true)]
    cargo_arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    run::with_docker_if_needed()?;
    run::visibly(
        run::cargo()
            .args(["test", "--workspace"])
            .args(&arguments.cargo_arguments),
    )?;
    pages::test()?;
    examples::run()?;
    openapi::run()
}

/// The same without further arguments, for `ci`.
pub(crate) fn run_all() -> Result<()> {
    run(&Arguments {
        cargo_arguments: Vec::new(),
    })
}
