//! The files of a run: one JSON file per group, so that groups can be measured one by one.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{GroupResult, Provenance};
use crate::{Error, failed};

/// A directory with `RESULTS.md`, and `results/` beside it for what it is made of.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

/// What a group's file holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The group's name.
    pub group: String,
    /// Where, when and of what it was measured.
    pub provenance: Provenance,
    /// What it measured.
    pub result: GroupResult,
}

impl Store {
    /// In this directory, which is made when it is missing.
    pub fn in_directory(directory: &Path) -> Result<Self, Error> {
        let store = Store {
            directory: directory.to_owned(),
        };
        fs::create_dir_all(store.results()).map_err(failed("the directory for results"))?;
        Ok(store)
    }

    /// Where the raw figures and the plots are.
    pub fn results(&self) -> PathBuf {
        self.directory.join("results")
    }

    /// The page with everything.
    pub fn page(&self) -> PathBuf {
        self.directory.join("RESULTS.md")
    }

    /// Keeps what a group measured, in place of what it measured before.
    pub fn keep(&self, kept: &Kept) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(kept).map_err(failed("a result as JSON"))?;
        text.push('\n');
        self.write(&self.file(&kept.group), &text)
    }

    /// What a group measured last, if it ever did.
    pub fn read(&self, group: &str) -> Result<Option<Kept>, Error> {
        let path = self.file(group);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                let path = path.display().to_string();
                return Err(Error::File { path, source });
            }
        };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| Error::Failed {
                what: format!("{} (delete it to measure anew)", path.display()),
                reason: error.to_string(),
            })
    }

    /// Writes one file whole: a reader sees the old one or the new one.
    pub fn write(&self, path: &Path, text: &str) -> Result<(), Error> {
        let draft = path.with_extension("part");
        fs::write(&draft, text)
            .and_then(|()| fs::rename(&draft, path))
            .map_err(|source| Error::Write {
                path: path.display().to_string(),
                source,
            })
    }

    fn file(&self, group: &str) -> PathBuf {
        self.results().join(format!("{group}.json"))
    }
}
