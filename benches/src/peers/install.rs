//! Brings a peer to this machine, into `target/bench-peers/` and nowhere else.

use std::fs;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::{Kind, Peer, Program};
use crate::harness::interrupt;
use crate::{Error, failed};

/// Downloads, and for the one in Rust a build. What takes longer waits for a network that is not there.
const PATIENCE: Duration = Duration::from_secs(900);

/// A peer that can be started.
pub struct Installed {
    name: &'static str,
    words: Vec<PathBuf>,
    directory: PathBuf,
}

impl Installed {
    /// Starts its program for the server on this port.
    pub fn start(&self, port: u16) -> Result<Program, Error> {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .arg(port.to_string())
            .current_dir(&self.directory)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        Program::start(self.name, command)
    }
}

impl Peer {
    /// The peer, if it was installed before.
    pub fn find(&self, repository: &Path) -> Option<Installed> {
        let place = Place::of(self, repository);
        let is_there = place.is_ready() && (self.kind != Kind::Node || place.copy().is_ok());
        is_there.then(|| place.installed(self))
    }

    /// The peer, installed if it is not there yet.
    pub fn install(&self, repository: &Path) -> Result<Installed, Error> {
        let place = Place::of(self, repository);
        if !place.is_ready() {
            fs::create_dir_all(&place.directory).map_err(failed("a directory for a peer"))?;
            match self.kind {
                Kind::Node => place.npm()?,
                Kind::Python => place.pip(self.id)?,
                Kind::Cargo => place.cargo()?,
            }
            fs::write(place.mark(), place.wanted()?).map_err(failed("a peer's mark"))?;
        }
        Ok(place.installed(self))
    }
}

/// Where a peer's sources are, and where it is installed.
struct Place {
    sources: PathBuf,
    directory: PathBuf,
    /// What an installation is made of; when it changes, another one is made.
    made_of: Vec<PathBuf>,
}

impl Place {
    fn of(peer: &Peer, repository: &Path) -> Self {
        let peers = repository.join("benches/peers");
        let own = peers.join(peer.id);
        let (sources, made_of) = match peer.kind {
            Kind::Node => (own.clone(), vec![own.join("package.json")]),
            Kind::Python => {
                let python = peers.join("python");
                let versions = python.join(format!("requirements/{}.txt", peer.id));
                (python, vec![versions])
            }
            // Built, so its source counts as well as its versions.
            Kind::Cargo => (
                own.clone(),
                vec![own.join("Cargo.lock"), own.join("src/main.rs")],
            ),
        };
        Place {
            made_of,
            sources,
            directory: repository.join("target/bench-peers").join(peer.id),
        }
    }

    fn mark(&self) -> PathBuf {
        self.directory.join("installed.txt")
    }

    fn wanted(&self) -> Result<String, Error> {
        let mut text = String::new();
        for path in &self.made_of {
            text += &fs::read_to_string(path).map_err(|source| Error::File {
                path: path.display().to_string(),
                source,
            })?;
        }
        Ok(text)
    }

    fn is_ready(&self) -> bool {
        match (fs::read_to_string(self.mark()), self.wanted()) {
            (Ok(installed), Ok(wanted)) => installed == wanted,
            _ => false,
        }
    }

    fn installed(&self, peer: &Peer) -> Installed {
        let words = match peer.kind {
            Kind::Node => vec!["node".into(), self.directory.join("peer.mjs")],
            Kind::Python => vec![
                self.directory.join("bin/python"),
                self.sources.join("driver.py"),
                format!("peer_{}", peer.id).into(),
            ],
            Kind::Cargo => vec![self.directory.join("release/lockless-bench-apalis")],
        };
        Installed {
            name: peer.name,
            words,
            directory: self.directory.clone(),
        }
    }

    /// An ES module looks for packages beside its own file, so the program goes to where they are.
    fn copy(&self) -> Result<(), Error> {
        for name in ["package.json", "peer.mjs", "crew.mjs"] {
            fs::copy(self.sources.join(name), self.directory.join(name))
                .map_err(failed("a copy of a peer's program"))?;
        }
        Ok(())
    }

    fn npm(&self) -> Result<(), Error> {
        self.copy()?;
        let install = ["install", "--silent", "--no-audit", "--no-fund"];
        let mut npm = Command::new("npm");
        npm.args(install)
            .arg("--no-package-lock")
            .current_dir(&self.directory);
        run(npm)
    }

    fn pip(&self, name: &str) -> Result<(), Error> {
        let mut python = Command::new("python3");
        python.args(["-m", "venv"]).arg(&self.directory);
        run(python)?;
        let quietly = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        let mut pip = Command::new(self.directory.join("bin/python"));
        let requirements = self.sources.join(format!("requirements/{name}.txt"));
        pip.args(quietly).arg("-r").arg(requirements);
        run(pip)
    }

    fn cargo(&self) -> Result<(), Error> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build
            .args(["build", "--release", "--locked", "--quiet", "--target-dir"])
            .arg(&self.directory)
            .current_dir(&self.sources);
        run(build)
    }
}

/// Runs a command, and fails with the end of what it said when it does, or when it takes too long.
fn run(command: Command) -> Result<(), Error> {
    run_for(command, PATIENCE)
}

fn run_for(mut command: Command, patience: Duration) -> Result<(), Error> {
    let program = PathBuf::from(command.get_program());
    let what = program
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let failure = |reason: String| Error::Failed {
        what: what.clone(),
        reason,
    };
    // A file, because a pipe that nobody reads stops whoever writes.
    let mut said = tempfile::tempfile().map_err(failed("a file for what a program says"))?;
    let errors = said.try_clone().map_err(failed("the same file again"))?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors);
    let mut child = lockless_servers::launch(command)
        .map_err(|error| failure(format!("it could not be started: {error}")))?;
    let ended = wait(&mut child, patience);
    if !matches!(ended, Ok(Some(_))) {
        let _ = child.kill();
        let _ = child.wait();
    }
    match ended? {
        Some(status) if status.success() => return Ok(()),
        Some(_) => {}
        None => return Err(failure(format!("it did not end within {patience:?}"))),
    }
    let mut text = Vec::new();
    said.rewind()
        .and_then(|()| said.read_to_end(&mut text))
        .map_err(failed("what a program said"))?;
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    Err(failure(last.unwrap_or("it said nothing").trim().to_owned()))
}

/// How it ended; nothing when it has not within this time.
fn wait(child: &mut Child, patience: Duration) -> Result<Option<ExitStatus>, Error> {
    let begin = Instant::now();
    while begin.elapsed() < patience {
        interrupt::check()?;
        if let Some(status) = child.try_wait().map_err(failed("an installation"))? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let done = run_for(command, Duration::from_millis(400));
        done.map_or_else(|error| error.to_string(), |()| "done".to_owned())
    }

    #[test]
    fn an_installation_that_fails_says_its_last_line_and_one_that_hangs_is_ended() {
        assert_eq!(shell("exit 0"), "done");
        assert_eq!(
            shell("echo one >&2; echo no network >&2; exit 3"),
            "sh: no network"
        );
        assert!(shell("exec sleep 60").contains("did not end within"));
    }
}
