//! Which programs jobs may run.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One program, as the configuration names it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// Where it is, from the root of the file system.
    pub path: PathBuf,
    /// Variables that a payload may set for it although they can make a program run something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
}

/// The programs that jobs may run, by the names that a payload may call them.
#[derive(Debug, Default)]
pub struct AllowList {
    by_name: BTreeMap<String, PathBuf>,
    variables: BTreeMap<PathBuf, BTreeSet<String>>,
}

impl AllowList {
    /// Checks each entry: it must be there, and its name must be its own.
    pub fn new(entries: &[Allowed]) -> Result<Self, String> {
        let mut by_name: BTreeMap<String, PathBuf> = BTreeMap::new();
        let mut variables: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for Allowed { path, env } in entries {
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
            if let Some(variable) = env.iter().find(|name| name.starts_with("LOCKLESS_")) {
                return Err(format!(
                    "allow: {shown} has {variable} in env, which the agent sets itself: remove it"
                ));
            }
            let own = variables.entry(path.clone()).or_default();
            own.extend(env.iter().cloned());
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
        Ok(Self { by_name, variables })
    }

    /// Whether the program's entry lists that variable.
    pub fn lists_variable(&self, program: &Path, name: &str) -> bool {
        let listed = self.variables.get(program);
        listed.is_some_and(|names| names.contains(name))
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
            .map(|path| Allowed {
                path: path.into(),
                ..Allowed::default()
            })
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
    fn a_variable_is_listed_for_its_program_alone() {
        let entry = |path: &str, name: &str| Allowed {
            path: path.into(),
            env: vec![name.to_owned()],
        };
        let list = AllowList::new(&[entry("/bin/sh", "PATH"), entry("/bin/sleep", "LD_DEBUG")]);
        let list = list.expect("a list");
        assert!(list.lists_variable(Path::new("/bin/sh"), "PATH"));
        assert!(!list.lists_variable(Path::new("/bin/sleep"), "PATH"));
        let refusal = AllowList::new(&[entry("/bin/sh", "LOCKLESS_RUN")]).expect_err("its own");
        assert!(refusal.contains("LOCKLESS_RUN"), "{refusal}");
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
