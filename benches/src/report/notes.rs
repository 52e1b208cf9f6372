//! What people have to say about figures: what was tried where a target is missed.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{Error, failed};

/// Sentences by the id of the figure they are about.
#[derive(Debug, Default)]
pub struct Notes(BTreeMap<String, String>);

impl Notes {
    /// From a file of `"group/figure" = "what was tried"`; none when there is no file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(source) => {
                let path = path.display().to_string();
                return Err(Error::File { path, source });
            }
        };
        Self::from_text(&text)
    }

    /// From the text of such a file.
    pub fn from_text(text: &str) -> Result<Self, Error> {
        toml::from_str(text)
            .map(Notes)
            .map_err(failed("benches/notes.toml"))
    }

    /// What is said about a figure.
    pub fn about(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(|text| text.trim())
    }
}
