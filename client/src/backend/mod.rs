//! What is called: functions of the library, wherever it is hosted.

mod redis;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

pub use redis::{BadSettings, Redis, RedisSettings};
pub(crate) use redis::{Link, View};

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
    /// Redis has reached `maxmemory`; nothing was done.
    #[error("Redis has no memory left: {0}")]
    Full(String),
    /// Any other error of Redis.
    #[error("Redis refused the call: {0}")]
    Refused(String),
    /// It was done, but no replica confirmed it in time.
    #[error("no replica confirmed the write in time")]
    DurabilityUnknown,
}

/// Whether calls can be made now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// They can.
    Ready,
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

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
