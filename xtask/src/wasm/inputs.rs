//! Everything that decides what is in the module, and one digest of it all.

use std::fs;

use anyhow::{Context, Result};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::compile::{FLAGS, LINK_FLAGS};
use super::lua;
use crate::run;

/// The library among the repository's files.
pub(super) const LIBRARY: &str = "functions/lockless.lua";
/// The C files and the Lua file of the module itself.
const MODULE: &str = "wasm/module";

/// The inputs, each by its name.
pub(super) struct Inputs {
    /// Lua, with our changes.
    pub(super) lua: Vec<(String, String)>,
    /// Our own C files and headers.
    pub(super) own: Vec<(String, String)>,
    /// The Lua texts inside, in the order they run.
    pub(super) chunks: Vec<(String, String)>,
    /// The library of Functions.
    pub(super) library: String,
}

/// Collects them. The library is that of the committed file.
pub(super) fn collect() -> Result<Inputs> {
    let library = fs::read_to_string(run::repository().join(LIBRARY))
        .with_context(|| format!("{LIBRARY} could not be read"))?;
    with_library(library)
}

/// Collects them, for a library that may not be committed yet.
pub(super) fn with_library(library: String) -> Result<Inputs> {
    let mut own = Vec::new();
    let mut entry = None;
    let directory = run::repository().join(MODULE);
    let listed =
        fs::read_dir(&directory).with_context(|| format!("{MODULE} could not be listed"))?;
    for file in listed {
        let path = file?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path)
            .with_context(|| format!("{} could not be read", path.display()))?;
        if name == "entry.lua" {
            entry = Some(text);
        } else if name.ends_with(".c") || name.ends_with(".h") {
            own.push((name, text));
        }
    }
    own.sort();
    let model = lockless_model::REDIS.iter().chain(&lockless_model::HOST);
    let mut chunks: Vec<(String, String)> = model
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    let entry = entry.with_context(|| format!("{MODULE}/entry.lua is not there"))?;
    chunks.push(("@module/entry.lua".to_owned(), entry));
    Ok(Inputs {
        lua: lua::sources()?,
        own,
        chunks,
        library,
    })
}

impl Inputs {
    /// A digest that differs whenever one of them does, the way they are compiled included.
    pub(super) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        for (name, text) in self.lua.iter().chain(&self.own).chain(&self.chunks) {
            add(name);
            add(text);
        }
        add(&self.library);
        FLAGS.iter().chain(&LINK_FLAGS).for_each(|flag| add(flag));
        HEXLOWER.encode(&hash.finalize())
    }
}
