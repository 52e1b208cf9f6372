//! The gateway as a child process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::program::{self, Running, without_settings};

/// A little more than the gateway gives requests that are under way.
const STOP_TIMEOUT: Duration = Duration::from_secs(12);

/// More than it takes to find the servers.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// Builds the gateway and says where it is.
pub(crate) fn build() -> Result<PathBuf> {
    program::build("lockless-gateway")
}

/// A running gateway.
pub(crate) struct Gateway {
    running: Running,
    address: String,
}

impl Gateway {
    /// Starts it and waits until it is ready. Without a Redis its scheduler is embedded; port 0 is any free one.
    pub(crate) fn start(
        program: &Path,
        redis_url: Option<&str>,
        port: u16,
        more: &[&str],
    ) -> Result<Self> {
        let mut command = Command::new(program);
        without_settings(&mut command);
        if let Some(url) = redis_url {
            command.args(["--redis", url]);
        }
        command
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .args(more);
        let (running, said) = Running::start(command, STOP_TIMEOUT)?;
        // "lockless-gateway 0.1.0 listens on http://127.0.0.1:8080 with an embedded scheduler"
        let address = said
            .trim()
            .split(' ')
            .find(|word| word.starts_with("http://"))
            .with_context(|| format!("the gateway said '{}'", said.trim()))?;
        let gateway = Self {
            address: address.to_owned(),
            running,
        };
        gateway.wait_until_ready()?;
        Ok(gateway)
    }

    fn wait_until_ready(&self) -> Result<()> {
        let begin = Instant::now();
        loop {
            match ureq::get(format!("{}/readyz", self.address)).call() {
                Ok(_) => return Ok(()),
                Err(error) if begin.elapsed() > READY_TIMEOUT => {
                    return Err(error).context("the gateway is not ready");
                }
                Err(_) => std::thread::sleep(POLL),
            }
        }
    }

    /// Where it listens, such as `http://127.0.0.1:8080`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<String> {
        self.running.ended()
    }

    /// Lets it finish what is under way, and ends it.
    pub(crate) fn stop(&mut self) {
        self.running.stop();
    }
}
