/// How much of an error is shown.
const SHOWN_CHARS: usize = 200;

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The private server did not start.
    #[error(transparent)]
    Server(#[from] lockless_servers::Error),

    /// The server refused a command or went away.
    #[error("{what}: {}", shortened(source))]
    Command {
        /// What was asked for.
        what: String,
        /// The client's reason.
        source: redis::RedisError,
    },

    /// The in-process host failed; in words, because its own error stays on its thread.
    #[error("the in-process host: {0}")]
    InProcess(String),

    /// A reply is not what the measurement rests on.
    #[error("{what} replied {reply}")]
    Unexpected {
        /// What was asked for.
        what: String,
        /// The reply, shortened.
        reply: String,
    },

    /// Something else that the measurement needs is not there.
    #[error("{what}: {reason}")]
    Failed {
        /// What was needed.
        what: String,
        /// Why it is not there.
        reason: String,
    },

    /// A file can't be read.
    #[error("{path} can't be read: {source}")]
    File {
        /// The file.
        path: String,
        /// The operating system's reason.
        source: std::io::Error,
    },

    /// A file of the results can't be written.
    #[error("{path} can't be written: {source}")]
    Write {
        /// The file.
        path: String,
        /// The operating system's reason.
        source: std::io::Error,
    },

    /// Ctrl-C.
    #[error("interrupted; what was measured before is kept")]
    Interrupted,

    /// Groups that gave no figures; the others are kept.
    #[error("not measured: {0}")]
    Groups(String),

    /// A word on the command line.
    #[error("{0}")]
    Argument(String),
}

impl From<lockless_lua_tests::Error> for Error {
    fn from(error: lockless_lua_tests::Error) -> Self {
        Error::InProcess(error.to_string())
    }
}

impl Error {
    /// A reply that is not what the measurement rests on.
    pub fn unexpected(what: impl Into<String>, reply: &impl std::fmt::Debug) -> Self {
        Error::Unexpected {
            what: what.into(),
            reply: format!("{reply:?}").chars().take(SHOWN_CHARS).collect(),
        }
    }
}

/// A pipeline tells of every command that failed in it; the first ones say enough.
fn shortened(error: &redis::RedisError) -> String {
    let text = error.to_string();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

/// Makes an error of anything that says why.
pub fn failed<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> Error {
    move |error| Error::Failed {
        what: what.to_owned(),
        reason: error.to_string(),
    }
}
