//! One running server, as a process or in a container.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::container::RunningContainer;
use crate::docker::Network;
use crate::{Error, Source, client, launcher, ports};

const READY_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);
const LOG_TAIL_LINES: usize = 20;
const LOG_FILE: &str = "server.log";

/// Where a server keeps its files.
pub(crate) enum Directory {
    /// Made for this server and removed with it.
    Private(TempDir),
    /// Named by the caller, who keeps it.
    Given(PathBuf),
}

impl Directory {
    pub(crate) fn private() -> Result<Self, Error> {
        TempDir::with_prefix("lockless-server-")
            .map(Self::Private)
            .map_err(|source| Error::Directory {
                path: std::env::temp_dir(),
                source,
            })
    }

    pub(crate) fn given(path: PathBuf) -> Result<Self, Error> {
        // The server runs inside this directory, where a relative path would mean another one.
        match fs::create_dir_all(&path).and_then(|()| std::path::absolute(&path)) {
            Ok(absolute) => Ok(Self::Given(absolute)),
            Err(source) => Err(Error::Directory { path, source }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Private(dir) => dir.path(),
            Self::Given(dir) => dir,
        }
    }
}

/// A server that stops when it is dropped.
pub(crate) enum Server {
    Process(Process),
    Container(Box<RunningContainer>),
}

pub(crate) struct Process {
    child: Child,
    directory: Directory,
    port: u16,
}

impl Server {
    /// Starts a server that listens on `port` of this machine alone and keeps nothing unless the arguments say so.
    pub(crate) fn start(
        source: &Source,
        directory: Directory,
        port: u16,
        extra: &[String],
    ) -> Result<Self, Error> {
        match source {
            Source::Program(program) => {
                let port_text = port.to_string();
                let settings = [
                    ("--port", port_text.as_str()),
                    ("--bind", "127.0.0.1"),
                    ("--save", ""),
                    ("--daemonize", "no"),
                    // A replica would otherwise wait 5 s for others that want the same copy.
                    ("--repl-diskless-sync-delay", "0"),
                ];
                let mut arguments: Vec<String> = settings
                    .iter()
                    .flat_map(|(name, value)| [name, value])
                    .map(|&word| word.to_owned())
                    .collect();
                arguments.extend_from_slice(extra);
                Process::start(program, directory, port, &arguments).map(Self::Process)
            }
            Source::Docker { image } => Self::start_container(image, &Network::Host(port), extra),
            Source::External { .. } => {
                Err(Error::Invalid("A running server is not started again."))
            }
        }
    }

    /// Starts a server in a container.
    pub(crate) fn start_container(
        image: &str,
        network: &Network,
        extra: &[String],
    ) -> Result<Self, Error> {
        let mut arguments = vec!["--save".to_owned(), String::new()];
        arguments.extend_from_slice(extra);
        RunningContainer::start(image, network, &arguments)
            .map(|container| Self::Container(Box::new(container)))
    }

    pub(crate) fn port(&self) -> u16 {
        match self {
            Self::Process(process) => process.port,
            Self::Container(container) => container.port(),
        }
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Process(process) => Some(process.child.id()),
            Self::Container(_) => None,
        }
    }

    pub(crate) fn dir(&self) -> Option<&Path> {
        match self {
            Self::Process(process) => Some(process.directory.path()),
            Self::Container(_) => None,
        }
    }

    /// How the server ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<String> {
        match self {
            Self::Process(process) => match process.child.try_wait() {
                Ok(status) => status.map(|status| status.to_string()),
                Err(error) => Some(error.to_string()),
            },
            Self::Container(container) => container
                .has_ended()
                .then(|| "the container ended".to_owned()),
        }
    }

    /// Ends the process at once, as a crash would. A container is not touched.
    pub(crate) fn kill(&mut self) {
        if let Self::Process(process) = self {
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }

    /// Halts the process, or lets it go on. A container is not touched.
    pub(crate) fn freeze(&self, is_frozen: bool) {
        if let Self::Process(process) = self {
            process.signal(if is_frozen {
                libc::SIGSTOP
            } else {
                libc::SIGCONT
            });
        }
    }

    /// Waits until the server answers at `url`.
    pub(crate) fn wait_until_ready(&mut self, url: &str, ca: Option<&[u8]>) -> Result<(), Error> {
        let begin = Instant::now();
        loop {
            let reason = match client::ping(url, ca) {
                // An answer may come from another server that took the port first.
                Ok(()) if self.owns_its_port() => return Ok(()),
                Ok(()) => "another server answers there".to_owned(),
                Err(error) => error.to_string(),
            };
            if let Some(status) = self.ended() {
                return Err(Error::Ended {
                    port: self.port(),
                    status,
                    log: self.log_tail(),
                });
            }
            if begin.elapsed() > READY_TIMEOUT {
                let port = self.port();
                return Err(Error::NotReady {
                    port,
                    waited: READY_TIMEOUT,
                    reason,
                    log: self.log_tail(),
                });
            }
            sleep(POLL);
        }
    }

    fn owns_its_port(&mut self) -> bool {
        match self {
            Self::Process(process) => ports::listens(process.child.id(), process.port),
            Self::Container(_) => self.ended().is_none(),
        }
    }

    /// The last lines of the server's log.
    pub(crate) fn log_tail(&self) -> String {
        let log = match self {
            Self::Process(process) => {
                let bytes = fs::read(process.directory.path().join(LOG_FILE)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Self::Container(container) => container.log(),
        };
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }
}

impl Process {
    /// Runs the program in the directory, with its output in a log file there.
    pub(crate) fn start(
        program: &Path,
        directory: Directory,
        port: u16,
        arguments: &[String],
    ) -> Result<Self, Error> {
        let log_path = directory.path().join(LOG_FILE);
        let log = fs::File::create(&log_path).map_err(|source| Error::Directory {
            path: log_path.clone(),
            source,
        })?;
        let log_copy = log.try_clone().map_err(|source| Error::Directory {
            path: log_path,
            source,
        })?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(log_copy)
            // Ctrl-C in a terminal goes to the whole foreground group; the server ends when its owner says so.
            .process_group(0);
        let child = launcher::launch(command).map_err(|source| Error::Spawn {
            program: program.to_owned(),
            source,
        })?;
        Ok(Self {
            child,
            directory,
            port,
        })
    }

    fn signal(&self, signal: libc::c_int) {
        launcher::signal(&self.child, signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        self.signal(libc::SIGTERM);
        // A server that was stopped by SIGSTOP takes no other signal before this one.
        self.signal(libc::SIGCONT);
        let begin = Instant::now();
        while begin.elapsed() < STOP_TIMEOUT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            sleep(POLL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
