//! Server programs that are named one by one, to try what runs on Debian's on others.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// The environment variable that names server programs, separated by `:`.
pub const PROGRAMS_VARIABLE: &str = "LOCKLESS_TEST_SERVERS";
/// The first version that has Functions.
const FIRST_MAJOR: u32 = 7;

/// A server program that says what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// Its name and version, as in `valkey-9.1.2`. Programs that are named together and say the same are numbered from the second on.
    pub name: String,
}

/// The programs that `LOCKLESS_TEST_SERVERS` names; none when it is not set. What is no server is an error.
pub fn named_programs() -> Result<Vec<Program>, Error> {
    match env::var_os(PROGRAMS_VARIABLE) {
        Some(value) => read(&value),
        None => Ok(Vec::new()),
    }
}

fn read(value: &OsStr) -> Result<Vec<Program>, Error> {
    let mut programs: Vec<Program> = Vec::new();
    for path in env::split_paths(value).filter(|path| !path.as_os_str().is_empty()) {
        let said = version_of(&path).map_err(|reason| Error::NoServerProgram {
            path: path.clone(),
            reason,
        })?;
        let same = |program: &&Program| {
            program.name == said || program.name.starts_with(&format!("{said}#"))
        };
        let name = match programs.iter().filter(same).count() {
            0 => said,
            before => format!("{said}#{}", before + 1),
        };
        // Servers run in directories of their own, where a relative path would mean another file.
        let path =
            std::path::absolute(&path).map_err(|source| Error::Directory { path, source })?;
        programs.push(Program { path, name });
    }
    Ok(programs)
}

/// What the program says of itself: `Redis server v=7.0.15 sha=...` is redis-7.0.15.
fn version_of(path: &Path) -> Result<String, String> {
    let output = Command::new(path)
        .arg("--version")
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let first = said.lines().next().unwrap_or_default();
    let named = first.split_once(" server v=").and_then(|(kind, rest)| {
        let version = rest.split(' ').next()?;
        let major: u32 = version.split('.').next()?.parse().ok()?;
        Some((kind.to_lowercase(), version, major))
    });
    match named {
        Some((kind, version, major)) if major >= FIRST_MAJOR => Ok(format!("{kind}-{version}")),
        Some((kind, version, _)) => Err(format!(
            "{kind} {version} has no Functions: {FIRST_MAJOR}.0 or later does"
        )),
        None => Err(format!(
            "asked for --version it says '{first}', not 'Redis server v=...' or 'Valkey server v=...'"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    fn program(dir: &TempDir, name: &str, says: &str) -> PathBuf {
        let path = dir.path().join(name);
        fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn read_all(paths: &[&Path]) -> Result<Vec<Program>, Error> {
        read(&env::join_paths(paths).unwrap())
    }

    #[test]
    fn programs_are_called_what_they_say_and_numbered_when_they_say_the_same() {
        let dir = TempDir::new().unwrap();
        let redis = program(&dir, "a", "Redis server v=8.0.2 sha=0:0 malloc=libc");
        let valkey = program(&dir, "b", "Valkey server v=9.1.2 sha=0:0");
        let named = read_all(&[&redis, &valkey, &redis]).unwrap();
        let names: Vec<&str> = named.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["redis-8.0.2", "valkey-9.1.2", "redis-8.0.2#2"]);
    }

    #[test]
    fn what_is_no_server_is_an_error_that_names_it() {
        let dir = TempDir::new().unwrap();
        let missing = dir.path().join("missing");
        let other = program(&dir, "other", "ls (GNU coreutils) 9.1");
        let old = program(&dir, "old", "Redis server v=6.2.14 sha=0:0");
        for (path, why) in [
            (&missing, "No such file"),
            (&other, "it says 'ls"),
            (&old, "has no Functions"),
        ] {
            let error = read_all(&[path]).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(error.contains(path.to_str().unwrap()), "{error}");
            assert!(error.contains(PROGRAMS_VARIABLE), "{error}");
        }
    }

    #[test]
    fn an_empty_list_names_none() {
        assert_eq!(read(OsStr::new("")).unwrap(), []);
        assert_eq!(read(OsStr::new("::")).unwrap(), []);
    }
}
