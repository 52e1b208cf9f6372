//! The gateway as a child process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::program::{self, Running};

/// A little more than the gateway gives requests that are under way.
const STOP_TIMEOUT: Duration = Duration::from_secs(12);

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
    /// Starts it and waits until it listens. Port 0 is any free one.
    pub(crate) fn start(program: &Path, redis_url: &str, port: u16, more: &[&str]) -> Result<Self> {
        let mut command = Command::new(program);
        let address = format!("127.0.0.1:{port}");
        command
            .args(["--redis", redis_url, "--listen", &address])
            .args(more);
        let (running, said) = Running::start(command, STOP_TIMEOUT)?;
        // "lockless-gateway 0.1.0 listens on http://127.0.0.1:8080"
        let address = said
            .trim()
            .split(' ')
            .find(|word| word.starts_with("http://"))
            .with_context(|| format!("the gateway said '{}'", said.trim()))?;
        Ok(Self {
            address: address.to_owned(),
            running,
        })
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
