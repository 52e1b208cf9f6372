//! `cargo xtask bundle`: writes what is generated (the library and its reference page), or checks that it is up to date.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{run, wasm};

/// Where the generated files are, from the repository's root.
const BUNDLE: &str = "functions/lockless.lua";
const REFERENCE: &str = "docs/functions.md";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Change nothing; fail if a committed file is not what its sources give
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let root = run::repository();
    let made =
        lockless_functions::bundle::bundle(&root.join("functions")).context("bundling failed")?;
    let contract = fs::read_to_string(root.join("functions/api.toml"))
        .context("functions/api.toml could not be read")?;
    let contract = lockless_functions::api::Api::parse(&contract)
        .context("functions/api.toml is not valid")?;
    let page = lockless_functions::reference::page(&contract, &made);
    for (name, text) in [(BUNDLE, &made), (REFERENCE, &page)] {
        if arguments.check {
            check(&root, name, text)?;
        } else {
            write(&root, name, text)?;
        }
    }
    if !arguments.check
        && let Some(sentence) = wasm::stale_with(&made)?
    {
        println!("{sentence}");
    }
    Ok(())
}

/// The check alone, for `ci`.
pub(crate) fn check_committed() -> Result<()> {
    run(&Arguments { check: true })
}

fn write(root: &Path, name: &str, made: &str) -> Result<()> {
    let path = root.join(name);
    // Cargo rebuilds what embeds the file whenever it is written, so it is left alone when nothing changed.
    if fs::read_to_string(&path).is_ok_and(|committed| committed == made) {
        println!("{name} is up to date.");
        return Ok(());
    }
    fs::write(path, made).with_context(|| format!("{name} could not be written"))?;
    println!(
        "{name} written: {} lines, {} bytes.",
        made.lines().count(),
        made.len()
    );
    Ok(())
}

fn check(root: &Path, name: &str, made: &str) -> Result<()> {
    let committed =
        fs::read_to_string(root.join(name)).with_context(|| format!("{name} could not be read"))?;
    if let Some(difference) = first_difference(&committed, made) {
        bail!("{name} is not what its sources give; run `cargo xtask bundle`. {difference}");
    }
    println!("{name} is what its sources give.");
    Ok(())
}

/// The first line in which the two differ, as a sentence.
fn first_difference(committed: &str, made: &str) -> Option<String> {
    if committed == made {
        return None;
    }
    let (mut old, mut new) = (committed.lines(), made.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (old.next(), new.next()) {
            (None, None) => return Some("Only the line ends differ.".to_owned()),
            (a, b) if a != b => {
                let shown = |line: Option<&str>| {
                    line.map_or_else(|| "the end of the file".to_owned(), |l| format!("`{l}`"))
                };
                return Some(format!(
                    "The first difference is in line {number}: the file has {}, the sources give {}.",
                    shown(a),
                    shown(b)
                ));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
    }

    #[test]
    fn the_first_differing_line_is_named_with_both_contents() {
        let sentence = first_difference("a\nb\nc\n", "a\nx\ny\n").unwrap();
        assert_eq!(
            sentence,
            "The first difference is in line 2: the file has `b`, the sources give `x`."
        );
    }

    #[test]
    fn a_file_that_ends_early_differs_at_its_end() {
        let sentence = first_difference("a\n", "a\nb\n").unwrap();
        assert!(
            sentence.contains("line 2: the file has the end of the file"),
            "{sentence}"
        );
    }

    #[test]
    fn a_missing_last_line_end_is_a_difference() {
        assert_eq!(
            first_difference("a", "a\n").unwrap(),
            "Only the line ends differ."
        );
    }
}
