//! Programs of this workspace as child processes.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::run;

/// Builds the program of that name, and says where it is.
pub(crate) fn build(name: &str) -> Result<PathBuf> {
    // Of a package alone the dependencies would have other features than in a test of all, and be built once more.
    run::visibly(run::cargo().args(["build", "--workspace", "--bin", name]))?;
    let own = std::env::current_exe().context("this program's own place is unknown")?;
    // Both are built with the same profile into the same directory.
    let program = own.with_file_name(name);
    if !program.is_file() {
        bail!("{} is not where it was built", program.display());
    }
    Ok(program)
}

/// Takes the settings of these programs out of a command's environment: whoever tries things out means none of them.
pub(crate) fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"LOCKLESS_") {
            command.env_remove(name);
        }
    }
}

/// A program that runs, until this is dropped.
pub(crate) struct Running {
    child: Child,
    stop_timeout: Duration,
}

impl Running {
    /// Starts it and waits for its first line. Ctrl-C does not reach it: it is stopped in its turn.
    pub(crate) fn start(mut command: Command, stop_timeout: Duration) -> Result<(Self, String)> {
        let name = PathBuf::from(command.get_program());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0);
        let mut child = lockless_servers::launch(command)
            .with_context(|| format!("{} could not be started", name.display()))?;
        let mut said = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut said)?;
        }
        if said.is_empty() {
            let status = child.wait()?;
            bail!("{} did not start ({status})", name.display());
        }
        let running = Self {
            child,
            stop_timeout,
        };
        Ok((running, said))
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(status) => status.map(|status| status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Asks it to end, without waiting.
    pub(crate) fn terminate(&self) {
        lockless_servers::terminate(&self.child);
    }

    /// Lets it finish what is under way, and ends it.
    pub(crate) fn stop(&mut self) {
        if self.ended().is_some() {
            return;
        }
        self.terminate();
        self.wait_or_kill();
    }

    /// Waits until it has ended, or ends it when its time is up.
    pub(crate) fn wait_or_kill(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < self.stop_timeout {
            if self.ended().is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}
