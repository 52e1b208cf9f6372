//! Where, when and of what a group was measured.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// A machine with more processes per core that want to run than this has other things to do.
const BUSY_LOAD_PER_CORE: f64 = 0.5;

/// The machine, as far as it explains figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// How many of its cores this process may use.
    pub cores: usize,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// The operating system and its kernel.
    pub system: String,
    /// The server that was measured.
    pub redis: String,
}

/// Where, when and of what a group was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// When it ended, in UTC.
    pub at: String,
    /// The command that made it.
    pub command: String,
    /// How much was measured: `full`, `quick` or `smoke`.
    pub effort: String,
    /// How long it took.
    pub took_s: f64,
    /// The commit, with `+` when files differed from it.
    pub commit: String,
    /// How busy the machine was when the run began: processes that wanted to run, over the last minute.
    pub load_at_begin: f64,
    /// The machine.
    pub machine: Machine,
}

impl Machine {
    /// Whether this load takes so much of it that figures suffer.
    pub fn is_busy(&self, load: f64) -> bool {
        load > BUSY_LOAD_PER_CORE * self.cores as f64
    }

    /// This one.
    pub fn here() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str, separator: char| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.split_once(separator))
                .map(|(_, value)| value.trim().trim_matches('"').to_owned())
        };
        let memory_kib = field(&text("/proc/meminfo"), "MemTotal", ':')
            .and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok());
        let system = field(&text("/etc/os-release"), "PRETTY_NAME", '=');
        let kernel = text("/proc/sys/kernel/osrelease");
        Machine {
            processor: field(&text("/proc/cpuinfo"), "model name", ':')
                .unwrap_or_else(|| "unknown".to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: memory_kib.unwrap_or(0) / 1024,
            system: format!(
                "{}, kernel {}",
                system.unwrap_or_else(|| std::env::consts::OS.to_owned()),
                kernel.trim()
            ),
            redis: said(Command::new("redis-server").arg("--version"))
                .and_then(|line| Some(line.split_once(" sha=")?.0.to_owned()))
                .unwrap_or_else(|| "in a container".to_owned()),
        }
    }
}

/// The commit of the repository, with `+` when files differ from it.
pub fn commit(repository: &Path) -> String {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        said(command.current_dir(repository).args(arguments))
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    let is_changed = changed.is_some_and(|files| !files.is_empty());
    commit + if is_changed { "+" } else { "" }
}

/// How many processes wanted to run, over the last minute.
pub fn load() -> f64 {
    fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(0.0)
}

fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|it| it.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
