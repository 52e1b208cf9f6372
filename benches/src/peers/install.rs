//! Brings a peer to this machine, into `target/bench-peers/` and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Kind, Peer, Program};
use crate::{Error, failed};

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
    /// What says which versions are wanted; another one is another installation.
    versions: PathBuf,
}

impl Place {
    fn of(peer: &Peer, repository: &Path) -> Self {
        let peers = repository.join("benches/peers");
        let (sources, versions) = match peer.kind {
            Kind::Node => (peers.join(peer.id), "package.json".to_owned()),
            Kind::Python => (
                peers.join("python"),
                format!("requirements/{}.txt", peer.id),
            ),
            Kind::Cargo => (peers.join(peer.id), "Cargo.lock".to_owned()),
        };
        Place {
            versions: sources.join(versions),
            sources,
            directory: repository.join("target/bench-peers").join(peer.id),
        }
    }

    fn mark(&self) -> PathBuf {
        self.directory.join("installed.txt")
    }

    fn wanted(&self) -> Result<String, Error> {
        fs::read_to_string(&self.versions).map_err(|source| Error::File {
            path: self.versions.display().to_string(),
            source,
        })
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
        for name in ["package.json", "peer.mjs"] {
            fs::copy(self.sources.join(name), self.directory.join(name))
                .map_err(failed("a copy of a peer's program"))?;
        }
        Ok(())
    }

    fn npm(&self) -> Result<(), Error> {
        self.copy()?;
        let install = ["install", "--silent", "--no-audit", "--no-fund"];
        let mut npm = Command::new("npm");
        run(npm
            .args(install)
            .arg("--no-package-lock")
            .current_dir(&self.directory))
    }

    fn pip(&self, name: &str) -> Result<(), Error> {
        let mut python = Command::new("python3");
        run(python.args(["-m", "venv"]).arg(&self.directory))?;
        let quietly = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        let mut pip = Command::new(self.directory.join("bin/python"));
        let requirements = self.sources.join(format!("requirements/{name}.txt"));
        run(pip.args(quietly).arg("-r").arg(requirements))
    }

    fn cargo(&self) -> Result<(), Error> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build
            .args(["build", "--release", "--locked", "--quiet", "--target-dir"])
            .arg(&self.directory)
            .current_dir(&self.sources);
        run(&mut build)
    }
}

/// Runs a command, and fails with the end of what it said when it does.
fn run(command: &mut Command) -> Result<(), Error> {
    let program = PathBuf::from(command.get_program());
    let what = program
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let output = command.output().map_err(|error| Error::Failed {
        what: what.clone(),
        reason: format!("it could not be started: {error}"),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(Error::Failed {
        what,
        reason: last.unwrap_or("it said nothing").trim().to_owned(),
    })
}
