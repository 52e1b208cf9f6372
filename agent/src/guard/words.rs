//! What the agent and a guardian say to each other: one line of JSON each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What to run. Another byte after it, or the end of the stream, says that it is to be stopped.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// The program's path.
    pub program: PathBuf,
    /// What follows its name.
    pub arguments: Vec<String>,
    /// All its variables.
    pub env: BTreeMap<String, String>,
    /// Where it runs.
    pub cwd: Option<String>,
    /// How long it has between being asked to end and being killed.
    pub grace_ms: u64,
    /// How long what was killed has to be gone, where the agent itself has to kill it.
    pub kill_wait_ms: u64,
}

/// What a guardian tells.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// The command runs.
    Started {
        /// Its number, and that of its group.
        pid: i32,
    },
    /// It does not.
    NotStarted {
        /// In a sentence.
        why: String,
    },
    /// It has ended, and nothing that it started is left.
    Ended {
        /// What it ended with, unless by a signal.
        exit_code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
}
