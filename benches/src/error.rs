/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The private server did not start.
    #[error(transparent)]
    Server(#[from] lockless_servers::Error),

    /// The server refused a command or went away.
    #[error("{what}: {source}")]
    Command {
        /// What was asked for.
        what: String,
        /// The client's reason.
        source: redis::RedisError,
    },

    /// The in-process host failed.
    #[error("the in-process host: {0}")]
    InProcess(#[from] lockless_lua_tests::Error),

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

    /// A file given on the command line can't be read.
    #[error("{path} can't be read: {source}")]
    File {
        /// The file.
        path: String,
        /// The operating system's reason.
        source: std::io::Error,
    },
}

impl Error {
    /// A reply that is not what the measurement rests on.
    pub fn unexpected(what: impl Into<String>, reply: &impl std::fmt::Debug) -> Self {
        Error::Unexpected {
            what: what.into(),
            reply: format!("{reply:?}").chars().take(200).collect(),
        }
    }
}

/// Makes an error of anything that says why.
pub fn failed<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> Error {
    move |error| Error::Failed {
        what: what.to_owned(),
        reason: error.to_string(),
    }
}
