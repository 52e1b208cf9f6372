//! Real agents as nodes of the private cell.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tempfile::TempDir;

use crate::program::{self, Running, without_settings};

/// What jobs may run.
const PROGRAMS: [&str; 3] = ["sleep", "sha256sum", "echo"];
/// What runs when Ctrl-C comes has so long to end by itself.
const DRAIN_MS: &str = "1000";
/// More than draining, terminating, killing and the last words take.
const STOP_TIMEOUT: Duration = Duration::from_secs(40);

/// Agents named agent-1, agent-2 and so on.
pub(super) struct Agents {
    running: Vec<Running>,
    // Keeps their records until they have ended.
    _state: TempDir,
}

/// Builds the agent and says where it is.
pub(super) fn build() -> Result<PathBuf> {
    program::build("lockless-agent")
}

impl Agents {
    /// Starts so many, and waits until they are registered. They speak to the gateway; where there is a Redis, every other
    /// one speaks to that.
    pub(super) fn start(
        program: &Path,
        count: u16,
        redis_url: Option<&str>,
        gateway: &str,
    ) -> Result<Self> {
        allow_a_busy_machine(gateway).context("the cell could not be set up")?;
        let state = TempDir::with_prefix("lockless-up-").context("no directory for the agents")?;
        let allowed = PROGRAMS.map(find).into_iter().collect::<Result<Vec<_>>>()?;
        let mut running = Vec::new();
        for number in 1..=count {
            let node = format!("agent-{number}");
            let mut command = Command::new(program);
            without_settings(&mut command);
            match redis_url {
                Some(url) if number % 2 == 1 => command.args(["--redis", url]),
                _ => command.args(["--gateway", gateway]),
            };
            command
                .args(["--node", &node, "--drain-timeout-ms", DRAIN_MS])
                .arg("--deployments")
                .arg("--state-dir")
                .arg(state.path().join(&node));
            for path in &allowed {
                command.arg("--allow").arg(path);
            }
            let (agent, _) = Running::start(command, STOP_TIMEOUT)?;
            running.push(agent);
        }
        Ok(Self {
            running,
            _state: state,
        })
    }

    /// How one of them ended, if one has.
    pub(super) fn ended(&mut self) -> Option<String> {
        self.running.iter_mut().find_map(Running::ended)
    }

    /// Ends all of them, at the same time.
    pub(super) fn stop(&mut self) {
        for agent in &mut self.running {
            if agent.ended().is_none() {
                agent.terminate();
            }
        }
        for agent in &mut self.running {
            agent.wait_or_kill();
        }
        self.running.clear();
    }
}

/// Whoever tries things out wants to see jobs run, also while the machine is busy with a build.
fn allow_a_busy_machine(gateway: &str) -> Result<()> {
    let settings = json!({
        "cpu_hard_pct": 1000,
        "cpu_high_pct": 100,
        "resource_threshold_pct": 100,
    });
    ureq::patch(format!("{gateway}/v1/config"))
        .content_type("application/json")
        .send(settings.to_string())?;
    Ok(())
}

/// Where a program of this machine is.
fn find(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|path| path.is_absolute() && path.is_file());
    match found {
        Some(path) => Ok(path),
        None => bail!("{name} is not on the PATH: install it, or start with --agents 0"),
    }
}
