//! Lua's own sources: those of the package that mlua compiles, so that the module and the in-process host run the same Lua.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::edits;
use crate::run;

const PACKAGE: &str = "lua-src";
const DIRECTORY: &str = "lua-5.1.5";

/// The parts that are compiled: the machine without loading of compiled code, and the libraries a function may use.
pub(super) const PARTS: [&str; 22] = [
    "lapi", "lauxlib", "lbaselib", "lcode", "ldebug", "ldo", "lfunc", "lgc", "llex", "lmathlib",
    "lmem", "lobject", "lopcodes", "lparser", "lstate", "lstring", "lstrlib", "ltable", "ltablib",
    "ltm", "lvm", "lzio",
];

/// The sources with their changes made, by file name, in the order of names.
pub(super) fn sources() -> Result<Vec<(String, String)>> {
    let directory = directory()?;
    let listed = fs::read_dir(&directory)
        .with_context(|| format!("{} could not be listed", directory.display()))?;
    let mut sources = Vec::new();
    for entry in listed {
        let path = entry?.path();
        if let Some(name) = wanted(&path) {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("{} could not be read", path.display()))?;
            let text = edits::apply(&name, &text)?;
            sources.push((name, text));
        }
    }
    sources.sort();
    Ok(sources)
}

/// The name of a header, or of a part that is compiled.
fn wanted(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let is_wanted = name.ends_with(".h")
        || name
            .strip_suffix(".c")
            .is_some_and(|stem| PARTS.contains(&stem));
    is_wanted.then(|| name.to_owned())
}

/// Where cargo keeps the sources of the locked version.
fn directory() -> Result<PathBuf> {
    let output = run::cargo()
        .args(["metadata", "--format-version", "1", "--locked"])
        // Other platforms' packages need not be on this machine.
        .args(["--filter-platform", &host()?])
        .output()
        .context("`cargo metadata` could not be started")?;
    if !output.status.success() {
        bail!(
            "`cargo metadata` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).context("what `cargo metadata` says is not JSON")?;
    let mut places = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|package| package["name"] == PACKAGE)
        .filter_map(|package| package["manifest_path"].as_str());
    match (places.next(), places.next()) {
        (Some(manifest), None) => Ok(Path::new(manifest).with_file_name(DIRECTORY)),
        (None, _) => bail!("the package {PACKAGE} is not in Cargo.lock: mlua brings it"),
        (Some(_), Some(_)) => bail!("the package {PACKAGE} is in Cargo.lock twice"),
    }
}

/// The platform that this runs on, as rustc names it.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("-vV")
        .output()
        .context("rustc could not be started")?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .context("rustc does not say for which platform it is")
}
