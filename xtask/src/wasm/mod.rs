//! `cargo xtask wasm`: makes wasm/lockless.wasm from its sources, or checks that the committed file is what they give.

mod compile;
mod edits;
mod inputs;
mod lua;
mod section;
mod toolchain;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::run;
use section::Note;

/// Where the module is, from the repository's root.
const MODULE: &str = "wasm/lockless.wasm";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Change nothing; fail if the committed file differs by a byte from what its sources give
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let work = tempfile::tempdir().context("no directory to work in")?;
    let inputs = inputs::collect()?;
    let made = compile::compile(&inputs, work.path())?;
    let committed = committed();
    if arguments.check {
        return check(&committed?, &made);
    }
    if committed.is_ok_and(|committed| committed == made) {
        println!("{MODULE} is up to date.");
        return Ok(());
    }
    fs::write(run::repository().join(MODULE), &made)
        .with_context(|| format!("{MODULE} could not be written"))?;
    println!("{MODULE} written: {} bytes.", made.len());
    Ok(())
}

/// The check alone, for `ci`.
pub(crate) fn check_committed() -> Result<()> {
    run(&Arguments { check: true })
}

/// A sentence when the committed module was made from other sources than there are now, with this library. It needs no compiler.
pub(crate) fn stale_with(library: &str) -> Result<Option<String>> {
    let note = Note::read(&committed()?)?;
    let inputs = inputs::with_library(library.to_owned())?;
    Ok((note.inputs != inputs.digest())
        .then(|| format!("{MODULE} is older than its sources: run `cargo xtask wasm`.")))
}

fn committed() -> Result<Vec<u8>> {
    fs::read(run::repository().join(MODULE)).with_context(|| format!("{MODULE} could not be read"))
}

fn check(committed: &[u8], made: &[u8]) -> Result<()> {
    if committed == made {
        println!("{MODULE} is what its sources give.");
        return Ok(());
    }
    let (theirs, ours) = (Note::read(committed)?, Note::read(made)?);
    if theirs.inputs != ours.inputs {
        bail!("{MODULE} is older than its sources; run `cargo xtask wasm`.");
    }
    if theirs.compiler != ours.compiler {
        bail!(
            "{MODULE} was made by another compiler ({}) than there is here ({}), and its bytes differ; \
             check it where the first is, or run `cargo xtask wasm` to take the second.",
            theirs.compiler,
            ours.compiler
        );
    }
    if theirs.libraries != ours.libraries {
        bail!(
            "{MODULE} was made with another C library than Debian's package wasi-libc brings here, and its bytes differ; \
             run `cargo xtask wasm` to take this one."
        );
    }
    bail!(
        "{MODULE} is not what its sources give, although they and the compiler are the same: it was changed by hand, \
         or the build does not repeat itself; run `cargo xtask wasm`."
    )
}

#[cfg(test)]
mod tests {
    use super::stale_with;

    /// Runs on every machine, also where there is no compiler for the module.
    #[test]
    fn the_committed_module_is_made_from_the_sources_beside_it() {
        let stale = stale_with(lockless_functions::LIBRARY).unwrap();
        assert_eq!(stale, None);
    }

    #[test]
    fn another_library_makes_the_module_stale() {
        let stale = stale_with("#!lua name=other\n").unwrap().unwrap();
        assert!(stale.contains("cargo xtask wasm"), "it said: {stale}");
    }
}
