//! Runs everything under examples/ as a reader would, what needs a server against a private one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use lockless_servers::Standalone;

use crate::{deploy, python, run};

/// Runs every example; the first that fails ends it, with its output.
pub(crate) fn run() -> Result<()> {
    let examples = run::repository().join("examples");
    if !examples.is_dir() {
        println!("There is no examples/ to run.");
        return Ok(());
    }
    let work = run::repository().join("target/examples");
    fs::create_dir_all(&work).with_context(|| format!("{} could not be made", work.display()))?;
    let server = Standalone::builder().private().start()?;
    deploy::load_quietly(&server.url())?;
    let count = run_python(&examples.join("python"), &work, &server)?
        + run_node(&examples.join("node"), &work.join("node"), &server)?
        + run_rust(&examples.join("rust"), &server)?
        + run_hosts(&examples.join("wasm"), &work)?;
    println!("{count} examples passed.");
    Ok(())
}

fn run_python(dir: &Path, work: &Path, server: &Standalone) -> Result<usize> {
    let scripts = files_in(dir, "py")?;
    if scripts.is_empty() {
        return Ok(0);
    }
    let python = python::venv(&work.join("venv"), &["redis"])?;
    for script in &scripts {
        run_one(Command::new(&python).arg(script), server)?;
    }
    Ok(scripts.len())
}

fn run_node(dir: &Path, work: &Path, server: &Standalone) -> Result<usize> {
    let scripts = files_in(dir, "mjs")?;
    if scripts.is_empty() {
        return Ok(0);
    }
    run::need("node", "the Node examples")?;
    run::need("npm", "the Node examples")?;
    fs::create_dir_all(work).with_context(|| format!("{} could not be made", work.display()))?;
    if !work.join("node_modules/ioredis").is_dir() {
        let install = [
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            ".",
            "ioredis",
        ];
        run::quietly(Command::new("npm").args(install).current_dir(work))?;
    }
    for script in &scripts {
        // An ES module looks for packages beside its own file, so the script goes to where they are.
        let name = script.file_name().unwrap_or_default();
        fs::copy(script, work.join(name))
            .with_context(|| format!("{} could not be copied", script.display()))?;
        run_one(Command::new("node").arg(name).current_dir(work), server)?;
    }
    Ok(scripts.len())
}

fn run_rust(dir: &Path, server: &Standalone) -> Result<usize> {
    if !dir.join("Cargo.toml").is_file() {
        return Ok(0);
    }
    let binaries = files_in(&dir.join("src/bin"), "rs")?;
    let manifest = dir.join("Cargo.toml");
    let mut count = 0;
    if dir.join("src/main.rs").is_file() {
        run_one(
            run::cargo()
                .args(["run", "--quiet", "--manifest-path"])
                .arg(&manifest),
            server,
        )?;
        count += 1;
    }
    for binary in &binaries {
        let name = binary.file_stem().unwrap_or_default();
        run_one(
            run::cargo()
                .args(["run", "--quiet", "--manifest-path"])
                .arg(&manifest)
                .arg("--bin")
                .arg(name),
            server,
        )?;
        count += 1;
    }
    Ok(count)
}

/// A version, so that a new one does not break the example unseen.
const WASMTIME: &str = "wasmtime==50.0.1";

/// The hosts of the module, which need no server.
fn run_hosts(dir: &Path, work: &Path) -> Result<usize> {
    run::need("node", "the Node examples")?;
    let python = python::venv(&work.join("venv-wasm"), &[WASMTIME])?;
    run::quietly(Command::new("node").arg(dir.join("host.mjs")))?;
    run::quietly(Command::new(&python).arg(dir.join("host.py")))?;
    run::quietly(
        run::cargo()
            .args(["run", "--quiet", "--manifest-path"])
            .arg(dir.join("Cargo.toml")),
    )?;
    Ok(3)
}

/// Each example finds an empty server; the library stays.
fn run_one(example: &mut Command, server: &Standalone) -> Result<()> {
    let mut connection = redis::Client::open(server.url())?.get_connection()?;
    redis::cmd("FLUSHALL").exec(&mut connection)?;
    run::quietly(example.env("REDIS_URL", server.url()))
}

fn files_in(dir: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in
        fs::read_dir(dir).with_context(|| format!("{} could not be listed", dir.display()))?
    {
        let path = entry?.path();
        if path.extension().is_some_and(|own| own == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
