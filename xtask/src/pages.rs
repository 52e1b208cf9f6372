//! The tests of what runs in pages and needs no browser, in Node: what the dashboard counts, the
//! playground's engine, and the host of the module.

use std::process::Command;

use anyhow::Result;

use crate::run;

/// Runs them.
pub(crate) fn test() -> Result<()> {
    run::need("node", "the tests of the pages' scripts")?;
    run::visibly(
        Command::new("node")
            .args([
                "--test",
                "gateway/tests/dashboard/",
                "gateway/tests/playground/",
                "wasm/js/",
            ])
            .current_dir(run::repository()),
    )
}
