//! `cargo xtask playground --out DIR`: the playground as plain files, for any static file server.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::run;

/// What the page loads, in the gateway's directory of pages.
const SHARED: [&str; 3] = ["icon.svg", "style.css", "shared"];
const PAGE: &str = "playground.html";
const OWN: &str = "playground";
/// The library and its host, seen from the root of the repository, and the names the page knows them by.
const MODULE: [(&str, &str); 2] = [
    ("wasm/lockless.wasm", "lockless.wasm"),
    ("wasm/js/lockless.mjs", "host.js"),
];
/// A line with this leads to a page that only a gateway has.
const GATEWAY_ONLY: &str = "data-gateway";
/// Says that a directory was made here, and may be written over.
const MARK: &str = ".lockless-playground";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The directory to write; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write into a directory that has other things in it
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let out = &arguments.out;
    prepare(out, arguments.force)?;
    let repository = run::repository();
    let pages = repository.join("gateway/pages");
    let assets = out.join("assets");

    let page = read(&pages.join(PAGE))?;
    let page: String = page
        .split_inclusive('\n')
        .filter(|line| !line.contains(GATEWAY_ONLY))
        .collect();
    write(&out.join("index.html"), page.as_bytes())?;
    for name in SHARED.iter().chain([&OWN]) {
        copy(&pages.join(name), &assets.join(name))?;
    }
    for (from, name) in MODULE {
        copy(&repository.join(from), &assets.join(OWN).join(name))?;
    }
    write(&out.join(MARK), b"Made by `cargo xtask playground`.\n")?;

    println!("The playground is in {}. To try it:", out.display());
    println!(
        "  python3 -m http.server --directory {} 8000",
        out.display()
    );
    println!("and open http://localhost:8000/. Any static file server will do, under any path.");
    Ok(())
}

/// Makes the directory. What is there and was not made here is left alone; what was is cleared, so that no old file stays.
fn prepare(out: &Path, force: bool) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("{} could not be made", out.display()))?;
    if out.join(MARK).is_file() {
        let assets = out.join("assets");
        if assets.is_dir() {
            fs::remove_dir_all(&assets)
                .with_context(|| format!("{} could not be cleared", assets.display()))?;
        }
        return Ok(());
    }
    let mut entries =
        fs::read_dir(out).with_context(|| format!("{} could not be listed", out.display()))?;
    if entries.next().is_some() && !force {
        bail!(
            "{} is not empty, and was not made by this command: name another directory, or write into it with --force",
            out.display()
        );
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("{} could not be read", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("{} could not be written", path.display()))
}

/// Copies a file, or a directory with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("{} could not be made", parent.display()))?;
    }
    if !from.is_dir() {
        fs::copy(from, to).with_context(|| format!("{} could not be copied", from.display()))?;
        return Ok(());
    }
    for entry in
        fs::read_dir(from).with_context(|| format!("{} could not be listed", from.display()))?
    {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
