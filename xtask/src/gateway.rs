//! The gateway as a child process.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::run;

const PACKAGE: &str = "lockless-gateway";
/// A little more than the gateway gives requests that are under way.
const STOP_TIMEOUT: Duration = Duration::from_secs(12);

/// Builds the gateway and says where it is.
pub(crate) fn build() -> Result<PathBuf> {
    run::visibly(run::cargo().args(["build", "--package", PACKAGE, "--bin", PACKAGE]))?;
    let own = std::env::current_exe().context("this program's own place is unknown")?;
    // Both are built with the same profile into the same directory.
    let program = own.with_file_name(PACKAGE);
    if !program.is_file() {
        bail!("{} is not where it was built", program.display());
    }
    Ok(program)
}

/// A running gateway.
pub(crate) struct Gateway {
    child: Child,
    address: String,
}

impl Gateway {
    /// Starts it and waits until it listens. Port 0 is any free one.
    pub(crate) fn start(program: &Path, redis_url: &str, port: u16, more: &[&str]) -> Result<Self> {
        let mut command = Command::new(program);
        command
            .args([
                "--redis",
                redis_url,
                "--listen",
                &format!("127.0.0.1:{port}"),
            ])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = lockless_servers::launch(command)
            .with_context(|| format!("{} could not be started", program.display()))?;
        let mut said = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut said)?;
        }
        // "lockless-gateway 0.1.0 listens on http://127.0.0.1:8080"
        let address = said
            .trim()
            .split(' ')
            .find(|word| word.starts_with("http://"));
        let Some(address) = address.map(str::to_owned) else {
            let status = child.wait()?;
            bail!("the gateway did not start ({status})");
        };
        Ok(Self { child, address })
    }

    /// Where it listens, such as `http://127.0.0.1:8080`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(status) => status.map(|status| status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Lets it finish what is under way, and ends it.
    pub(crate) fn stop(&mut self) {
        if self.ended().is_some() {
            return;
        }
        lockless_servers::terminate(&self.child);
        let begin = Instant::now();
        while begin.elapsed() < STOP_TIMEOUT {
            if self.ended().is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stop();
    }
}
