//! Everything that can go wrong while a private server starts, each as one sentence.

use std::path::PathBuf;
use std::time::Duration;

/// Why a private server could not be started or used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// None of the places a server may come from has one.
    #[error(
        "No Redis server was found: install redis-server 7.0 or later (Debian: apt-get install redis-server), \
         or start Docker, or set LOCKLESS_TEST_REDIS_URL to a running server."
    )]
    NoServer,

    /// What `LOCKLESS_TEST_SERVERS` names is no server.
    #[error("LOCKLESS_TEST_SERVERS names {path}, which is no server to test on: {reason}.")]
    NoServerProgram {
        /// What it names.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// Only Docker is there, and what was asked for needs the program itself.
    #[error(
        "{what} needs the program redis-server on PATH, and only Docker was found: install redis-server 7.0 or later."
    )]
    NeedsProgram {
        /// What was asked for.
        what: &'static str,
    },

    /// The package manager failed.
    #[error("Installing {packages} from Debian failed at `{command}`: {reason}")]
    Install {
        /// What was to be installed.
        packages: String,
        /// The command that failed.
        command: String,
        /// Its last output, or why it could not run.
        reason: String,
    },

    /// A directory or file for the server could not be made.
    #[error("The server's directory {path} could not be prepared: {source}")]
    Directory {
        /// Which directory or file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },

    /// No free port could be had from the operating system.
    #[error("No free port could be found on 127.0.0.1: {0}")]
    NoPort(std::io::Error),

    /// The program could not be run at all.
    #[error("{program} could not be started: {source}")]
    Spawn {
        /// The program's path.
        program: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },

    /// The server ended before it answered.
    #[error(
        "The server on port {port} ended before it answered ({status}); the end of its log:\n{log}"
    )]
    Ended {
        /// The port it should have listened on.
        port: u16,
        /// How it ended.
        status: String,
        /// The last lines of its log.
        log: String,
    },

    /// The server did not become ready in time.
    #[error(
        "The server on port {port} was not ready after {waited:?} ({reason}); the end of its log:\n{log}"
    )]
    NotReady {
        /// The port it listens on.
        port: u16,
        /// How long it was given.
        waited: Duration,
        /// What it last answered.
        reason: String,
        /// The last lines of its log.
        log: String,
    },

    /// A container could not be started.
    #[error("Docker could not start {image}: {reason}")]
    Container {
        /// The image.
        image: String,
        /// What Docker said.
        reason: String,
    },

    /// Docker is there, but this build cannot use it.
    #[error(
        "Only Docker was found, and this build leaves it out: build lockless-servers with its feature docker, or install redis-server 7.0 or later."
    )]
    DockerLeftOut,

    /// `LOCKLESS_TEST_REDIS_URL` does not lead to a server that answers.
    #[error("LOCKLESS_TEST_REDIS_URL does not lead to a server that answers: {0}")]
    External(redis::RedisError),

    /// A server refused a command of the set-up.
    #[error("The server on port {port} refused {command}: {source}")]
    Command {
        /// Its port.
        port: u16,
        /// The command.
        command: &'static str,
        /// Its answer.
        source: redis::RedisError,
    },

    /// Certificates for a TLS server could not be made.
    #[error("The certificates for a TLS server could not be made: {0}")]
    Certificate(#[from] rcgen::Error),

    /// What was asked for makes no sense.
    #[error("{0}")]
    Invalid(&'static str),
}

impl Error {
    /// Whether another port may help: someone else took this one between the choice and the start.
    pub(crate) fn is_port_taken(&self) -> bool {
        match self {
            Self::Ended { log, .. } => {
                log.contains("Address already in use") || log.contains("Failed listening")
            }
            Self::Container { reason, .. } => {
                reason.contains("already allocated") || reason.contains("in use")
            }
            _ => false,
        }
    }
}
