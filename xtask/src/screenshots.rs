//! `cargo xtask screenshots`: the pictures in the documents, taken by the tests that look at the pages.

use anyhow::Result;

use crate::run;

/// The tests that take pictures have this in their names.
const TESTS: &str = "picture";

pub(crate) fn run() -> Result<()> {
    run::with_docker_if_needed()?;
    let dir = run::repository().join("docs/images");
    run::visibly(
        run::cargo()
            .args(["test", "--package", "lockless-browser-tests", TESTS])
            .env("LOCKLESS_PICTURES", &dir),
    )?;
    println!("The pictures are in {}.", dir.display());
    Ok(())
}
