//! `deploy-functions --rollback`: puts back what each primary had before the last deployment.

use std::path::Path;

use lockless_topology::Primary;

use super::backup::{self, Backup};
use super::installed::{self, LIBRARY_NAME, function};
use super::link::{Access, Link};
use super::outcome::{Change, Outcome};
use super::primaries;
use super::problem::Problem;

/// Puts back the library `lockless`, and nothing else, on every primary that the last deployment changed.
pub(crate) fn run(
    found: &[Primary],
    access: &Access,
    dir: &Path,
    dry_run: bool,
) -> Result<Vec<Outcome>, Problem> {
    let mut backups = Vec::with_capacity(found.len());
    for primary in found {
        backups.push(backup::list(dir, &primary.address)?);
    }
    let latest = backups
        .iter()
        .flatten()
        .reduce(|a, b| if b.is_later_than(a) { b } else { a });
    let Some(latest) = latest.cloned() else {
        let primaries = found
            .iter()
            .map(|primary| primary.address.to_string())
            .collect::<Vec<_>>()
            .join(", ");
        return Err(Problem::NoBackup {
            dir: dir.to_owned(),
            primaries,
        });
    };
    let mut outcomes = Vec::with_capacity(found.len());
    for (primary, own) in found.iter().zip(&backups) {
        let address = primary.address.clone();
        // A deployment that failed midway and was run again has backups of several times, but it loaded one library.
        // A primary it never reached has only backups of earlier ones, which must not be gone back to.
        let result = match own.first().filter(|backup| backup.loaded == latest.loaded) {
            Some(backup) => put_back(primary, access, backup, dry_run),
            None => {
                println!("{address}: the last deployment did not change it; left as it is.");
                Ok(Change::Unchanged)
            }
        };
        outcomes.push(Outcome { address, result });
    }
    Ok(outcomes)
}

fn put_back(
    primary: &Primary,
    access: &Access,
    backup: &Backup,
    dry_run: bool,
) -> Result<Change, Problem> {
    let mut link = access.connect(&primary.address)?;
    primaries::check(&mut link)?;
    let address = link.address.clone();
    let there = installed::read(&mut link, primary)?;
    let before = match &backup.code {
        Some(_) => "the library that was there before",
        None => "no library",
    };
    if there.code() == backup.code.as_deref() {
        println!("{address}: already as it was before ({there}).");
        return Ok(Change::Unchanged);
    }
    println!(
        "{address}: has {there}; {before} comes back from {}.",
        backup.path.display()
    );
    if dry_run {
        return Ok(Change::Changed);
    }
    match &backup.code {
        Some(code) => load(&mut link, code)?,
        None => link.ask::<()>("FUNCTION DELETE", &function(&["DELETE", LIBRARY_NAME]))?,
    }
    let now = installed::read(&mut link, primary)?;
    if now.code() != backup.code.as_deref() {
        return Err(Problem::NotVerified {
            address,
            found: now.to_string(),
        });
    }
    println!("{address}: rolled back to {now}.");
    Ok(Change::Changed)
}

/// Loads a library in place of the one of the same name.
pub(crate) fn load(link: &mut Link, code: &[u8]) -> Result<(), Problem> {
    let mut command = function(&["LOAD", "REPLACE"]);
    command.arg(code);
    link.ask::<String>("FUNCTION LOAD", &command).map(|_| ())
}
