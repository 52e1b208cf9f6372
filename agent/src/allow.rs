//! Which programs jobs may run.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One program, as the configuration names it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// Where it is, from the root of the file system.
    pub path: PathBuf,
}

/// The programs that jobs may run, by the names that a payload may call them.
#[derive(Debug, Default)]
pub struct AllowList {
    by_name: BTreeMap<String, PathBuf>,
}

impl AllowList {
    /// Checks each entry: it must be there, and its name must be its own.
    pub fn new(entries: &[Allowed]) -> Result<Self, String> {
        let mut by_name: BTreeMap<String, PathBuf> = BTreeMap::new();
        for Allowed { path } in entries {
            let shown = path.display();
            if !path.is_absolute() {
                return Err(format!(
                    "allow: {shown} is not a path from the root: write it as /usr/bin/..."
                ));
            }
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                return Err(format!("allow: {shown} does not end in the name of a file"));
            };
            let is_program = path
                .metadata()
                .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
            if !is_program {
                return Err(format!(
                    "allow: {shown} is no file that can be run: remove the entry or install the program"
                ));
            }
            match by_name.insert(name.to_owned(), path.clone()) {
                Some(other) if other != *path => {
                    return Err(format!(
                        "allow: {} and {shown} have the same name: keep one of them",
                        other.display()
                    ));
                }
                _ => {}
            }
        }
        Ok(Self { by_name })
    }

    /// The program that a payload's first word stands for: its name, or its whole path.
    pub fn find(&self, word: &str) -> Result<&Path, String> {
        let found = match word.rsplit_once('/') {
            None => self.by_name.get(word),
            Some((_, name)) => self
                .by_name
                .get(name)
                .filter(|path| path.as_path() == Path::new(word)),
        };
        found
            .map(PathBuf::as_path)
            .ok_or_else(|| format!("argv[0] '{word}' is not on this node's allow-list of programs"))
    }

    /// The names of all programs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Whether nothing may run.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(paths: &[&str]) -> Result<AllowList, String> {
        let entries: Vec<Allowed> = paths
            .iter()
            .map(|path| Allowed { path: path.into() })
            .collect();
        AllowList::new(&entries)
    }

    #[test]
    fn a_program_is_found_by_its_name_and_by_its_path() {
        let list = list(&["/bin/sh"]).expect("a list");
        assert_eq!(list.find("sh"), Ok(Path::new("/bin/sh")));
        assert_eq!(list.find("/bin/sh"), Ok(Path::new("/bin/sh")));
    }

    #[test]
    fn nothing_else_is_found() {
        let list = list(&["/bin/sh"]).expect("a list");
        for word in [
            "",
            "bash",
            "./sh",
            "/usr/local/bin/sh",
            "bin/sh",
            "/bin/../bin/sh",
            "/bin/sh/",
            "sh ",
            "SH",
        ] {
            assert!(list.find(word).is_err(), "{word}");
        }
        assert!(AllowList::default().find("sh").is_err());
    }

    #[test]
    fn an_entry_that_can_not_be_run_is_refused() {
        for (path, word) in [
            ("sh", "from the root"),
            ("/no/such/program", "no file"),
            ("/etc/passwd", "no file"),
            ("/tmp", "no file"),
            ("/", "name of a file"),
        ] {
            let refusal = list(&[path]).expect_err(path);
            assert!(refusal.contains(word), "{refusal}");
        }
    }

    #[test]
    fn two_programs_of_one_name_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let other = dir.path().join("sh");
        std::fs::copy("/bin/sh", &other).expect("a copy");
        let refusal = list(&["/bin/sh", other.to_str().expect("text")]).expect_err("two");
        assert!(refusal.contains("the same name"), "{refusal}");
    }
}
