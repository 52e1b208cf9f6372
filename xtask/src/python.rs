//! Python packages, in directories of their own under target/.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::run;

/// A Python that has these packages, given as pip takes them. What was installed before is used again.
pub(crate) fn venv(dir: &Path, packages: &[&str]) -> Result<PathBuf> {
    run::need("python3", "the checks in Python")?;
    let python = dir.join("bin/python");
    if !python.is_file() {
        run::quietly(Command::new("python3").args(["-m", "venv"]).arg(dir))
            .context("a Python venv could not be made (Debian: apt-get install python3-venv)")?;
    }
    let installed = dir.join("installed.txt");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&installed).ok().as_deref() != Some(wanted.as_str()) {
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        run::quietly(Command::new(&python).args(pip).args(packages))?;
        std::fs::write(&installed, wanted)
            .with_context(|| format!("{} could not be written", installed.display()))?;
    }
    Ok(python)
}
