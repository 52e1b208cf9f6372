//! What is said about the scheduler in this process.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lockless_client::backend::EmbeddedSettings;

const EVERY_MS: u64 = 5000;
const MEMORY_MB: u32 = 256;
/// The module's memory ends at 4 GiB, and a save needs room for the state beside what it is made of, which may be a quarter above the limit.
const MEMORY_MB_MAX: i64 = 1536;
const MIB: u32 = 1 << 20;

/// Without Redis.
#[derive(Debug, Args)]
#[command(next_help_heading = "Embedded scheduler (without --redis: one process, no replicas)")]
pub struct Embedded {
    /// Keep the state in this file, saved every few seconds and at the end; a crash loses what came after the last save.
    /// Without it nothing is kept
    #[arg(long, env = "LOCKLESS_STATE", value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// The time between two saves of what changed
    #[arg(long = "state-every-ms", env = "LOCKLESS_STATE_EVERY_MS", requires = "state", default_value_t = EVERY_MS, value_parser = clap::value_parser!(u64).range(100..=600_000), value_name = "MS")]
    pub every_ms: u64,
    /// The memory that nodes, jobs and events may take, at most 1536: a save makes the state in the same 4 GiB. Beyond it
    /// no new work is taken in; the process takes two to four times as much
    #[arg(long = "embedded-memory-mb", env = "LOCKLESS_EMBEDDED_MEMORY_MB", default_value_t = MEMORY_MB, value_parser = clap::value_parser!(u32).range(8..=MEMORY_MB_MAX), value_name = "MB")]
    pub memory_mb: u32,
}

impl Embedded {
    /// The first flag that was given, if one was.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let flags = [
            ("--state", self.state.is_some()),
            ("--state-every-ms", self.every_ms != EVERY_MS),
            ("--embedded-memory-mb", self.memory_mb != MEMORY_MB),
        ];
        flags
            .iter()
            .find(|(_, given)| *given)
            .map(|(flag, _)| *flag)
    }

    pub(super) fn settings(&self) -> EmbeddedSettings {
        EmbeddedSettings {
            memory_bytes: self.memory_mb.saturating_mul(MIB),
            state: self.state.clone(),
            save_every: Duration::from_millis(self.every_ms),
        }
    }
}
