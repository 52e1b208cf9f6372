//! Why a fault could not be run to its end. What it finds is not an error but part of its outcome.

use std::path::PathBuf;

/// Why a fault could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Ctrl-C, or a signal that asks to end.
    #[error("interrupted")]
    Interrupted,

    /// It took longer than it may.
    #[error("it was not done after {0} s")]
    OutOfTime(u64),

    /// Something that was waited for did not come.
    #[error("{what} did not happen within {seconds} s: {seen}")]
    Waited {
        /// What was waited for.
        what: String,
        /// How long.
        seconds: u64,
        /// What was seen last.
        seen: String,
    },

    /// It needs something that is not here; the sentence says what.
    #[error("it can't run here: {0}")]
    CannotRunHere(String),

    /// No such fault.
    #[error("--only {given}: there is no such fault; there are {known}")]
    NoSuchFault {
        /// What was given.
        given: String,
        /// What there is.
        known: String,
    },

    /// A server could not be started.
    #[error(transparent)]
    Server(#[from] lockless_servers::Error),

    /// A server ended, or did not come up.
    #[error("the server {what}; the end of its log:\n{log}")]
    ServerEnded {
        /// What it did.
        what: String,
        /// The end of its log.
        log: String,
    },

    /// A server refused a command of the test's own.
    #[error("{command}: {source}")]
    Command {
        /// The command.
        command: String,
        /// Its answer.
        source: redis::RedisError,
    },

    /// A call of the test's own was not answered as it must be.
    #[error("{call}: {said}")]
    Call {
        /// The call.
        call: String,
        /// What was said.
        said: String,
    },

    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which one.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },

    /// A program could not be run, or failed.
    #[error("`{command}`: {reason}")]
    Program {
        /// The command line.
        command: String,
        /// Why, or what it said.
        reason: String,
    },
}

impl Error {
    /// For `map_err` on files.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
