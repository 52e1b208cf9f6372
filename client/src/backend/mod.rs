//! What is called: functions of the library, wherever it is hosted.

#[cfg(feature = "embedded")]
mod embedded;
mod redis;

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

#[cfg(feature = "embedded")]
pub use embedded::{Embedded, EmbeddedGauges, EmbeddedSettings, NotHosted, StateGauges};
pub use redis::{BadSettings, Redis, RedisSettings};
pub(crate) use redis::{Link, View};

/// Where the library is: calls and their replies are the same.
#[derive(Clone)]
pub enum Backend {
    /// In a Redis server, behind Sentinels or in a Cluster.
    Redis(Arc<Redis>),
    /// In this process.
    #[cfg(feature = "embedded")]
    Embedded(Arc<Embedded>),
}

/// The root key of a cell, such as `scheduler:{main}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cell(Arc<str>);

/// One function call, ready to be sent.
#[derive(Debug, Clone)]
pub struct Call {
    /// The function's name, such as `lockless_dispatch`.
    pub function: &'static str,
    /// Whether the function writes. Writes may be asked to be durable.
    pub writes: bool,
    /// The cell it is called in.
    pub cell: Cell,
    /// The arguments after the cell.
    pub arguments: Vec<Bytes>,
}

/// What a function answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A number.
    Integer(i64),
    /// A string, or a status such as `OK`.
    Bytes(Bytes),
    /// A list.
    List(Vec<Reply>),
    /// Nothing.
    Nil,
}

/// How sure a write must be before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The primary has it.
    Primary,
    /// At least one replica has confirmed it.
    Replica,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The library refused: its code and its sentence.
    #[error("{code} {sentence}")]
    Library {
        /// The code, as in the contract.
        code: String,
        /// The sentence after it.
        sentence: String,
    },
    /// There is no connection; nothing was sent.
    #[error("Redis can't be reached: {0}")]
    Away(String),
    /// The connection broke after the call was sent: it may or may not have been done.
    #[error("the connection to Redis broke during the call: {0}")]
    Lost(String),
    /// No reply in time: it may or may not have been done.
    #[error("Redis did not answer in time")]
    Slow,
    /// The library is not loaded.
    #[error("the library is not loaded")]
    LibraryMissing,
    /// There is no memory left; nothing was done.
    #[error("there is no memory left: {0}")]
    Full(String),
    /// Any other error of Redis.
    #[error("Redis refused the call: {0}")]
    Refused(String),
    /// What hosted the library in this process is no more; a call under way may or may not have been done.
    #[error("the embedded scheduler has ended")]
    Ended,
    /// Too many calls wait; nothing was done.
    #[error("as many calls wait as may; nothing was done")]
    Busy,
    /// The call took too much and was undone.
    #[error("{0}; nothing was done")]
    Stopped(String),
    /// A replica's confirmation was asked for where there never is one; nothing was done.
    #[error(
        "the embedded scheduler has no replicas, so none can confirm a write; nothing was done"
    )]
    NoReplica,
    /// It was done, but no replica confirmed it in time.
    #[error("no replica confirmed the write in time")]
    DurabilityUnknown,
}

/// Whether calls can be made now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// They can.
    Ready,
    /// They can, but something is wrong, in a sentence.
    Troubled(String),
    /// They can't, for this reason, in a sentence.
    NotReady(String),
}

/// What the connections to Redis do now, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gauges {
    /// Connections that are open.
    pub connections: usize,
    /// Calls under way.
    pub in_flight: usize,
    /// Connections that were made anew.
    pub reconnects: u64,
}

impl Backend {
    /// Makes one call.
    pub async fn call(&self, call: Call, durability: Durability) -> Result<Reply, Failure> {
        match self {
            Self::Redis(redis) => redis.call(call, durability).await,
            #[cfg(feature = "embedded")]
            Self::Embedded(embedded) => embedded.call(call, durability).await,
        }
    }

    /// Makes calls, those in one cell in this order.
    pub async fn batch(
        &self,
        calls: Vec<Call>,
        durability: Durability,
    ) -> Vec<Result<Reply, Failure>> {
        match self {
            Self::Redis(redis) => redis.batch(calls, durability).await,
            #[cfg(feature = "embedded")]
            Self::Embedded(embedded) => embedded.batch(calls, durability).await,
        }
    }

    /// Whether calls can be made, as far as is known without asking.
    pub fn status(&self) -> Status {
        match self {
            Self::Redis(redis) => redis.status(),
            #[cfg(feature = "embedded")]
            Self::Embedded(embedded) => embedded.status(),
        }
    }

    /// How long a subscription may take.
    pub(crate) fn patience(&self) -> Duration {
        match self {
            Self::Redis(redis) => redis.call_timeout(),
            #[cfg(feature = "embedded")]
            Self::Embedded(_) => Duration::MAX,
        }
    }

    /// Calls under way go on to their end, later ones fail. What is kept in this process is saved; the error says why it
    /// could not be.
    pub async fn close(&self) -> Result<(), String> {
        match self {
            Self::Redis(redis) => {
                redis.close().await;
                Ok(())
            }
            #[cfg(feature = "embedded")]
            Self::Embedded(embedded) => embedded.close().await,
        }
    }
}

impl From<Arc<Redis>> for Backend {
    fn from(redis: Arc<Redis>) -> Self {
        Self::Redis(redis)
    }
}

#[cfg(feature = "embedded")]
impl From<Arc<Embedded>> for Backend {
    fn from(embedded: Arc<Embedded>) -> Self {
        Self::Embedded(embedded)
    }
}

impl Reply {
    /// A field of a flat list of names and values.
    fn field(&self, wanted: &str) -> Option<String> {
        let Self::List(values) = self else {
            return None;
        };
        let pair = values
            .chunks_exact(2)
            .find(|pair| pair[0].text().as_deref() == Some(wanted))?;
        pair[1].text()
    }

    fn text(&self) -> Option<String> {
        match self {
            Self::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Self::Integer(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

impl Failure {
    /// An error of the library's own, by its code.
    fn of_library(code: &str, sentence: &str) -> Option<Self> {
        let mut listed = lockless_functions::contract().errors.iter();
        listed
            .any(|error| error.code == code)
            .then(|| Self::Library {
                code: code.to_owned(),
                sentence: sentence.to_owned(),
            })
    }
}

impl Cell {
    /// A cell by its root key.
    pub fn new(root: &str) -> Self {
        Self(root.into())
    }

    /// The root key.
    pub fn root(&self) -> &str {
        &self.0
    }
}

// A cell is found by its root in a map of cells.
impl Borrow<str> for Cell {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
