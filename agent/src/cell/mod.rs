//! The cell, over Redis or over a gateway: the same calls, replies and errors.

mod call;
mod gateway;
mod redis;

use std::time::Duration;

use serde_json::Value;

pub use self::call::Call;
pub use self::gateway::{Gateway, GatewaySettings};
pub use self::redis::Redis;

/// The way to the cell.
pub enum Cell {
    /// Directly.
    Redis(Redis),
    /// By HTTP.
    Gateway(Box<Gateway>),
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The library refused: its code and its sentence.
    #[error("{code} {sentence}")]
    Library {
        /// The code, as in the contract.
        code: String,
        /// The sentence after it.
        sentence: String,
    },
    /// The cell can't be reached, or did not answer: the call may or may not have been done. It may be made again.
    #[error("{0}")]
    Away(String),
    /// The agent's settings are wrong: it is not let in, or the cell is not served there.
    #[error("{0}")]
    Refused(String),
    /// The gateway does not take this call as it is. Another one may be taken, or another gateway may take its place.
    #[error("{sentence}")]
    Unfit {
        /// Whether it would take a shorter one.
        is_too_long: bool,
        /// What it answered.
        sentence: String,
    },
}

impl Trouble {
    /// The library's code, if it was the library.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Library { code, .. } => Some(code),
            _ => None,
        }
    }

    /// Whether the same call may succeed later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Library { code, .. } => code == "CELL_MOVING",
            Self::Away(_) | Self::Refused(_) | Self::Unfit { .. } => true,
        }
    }
}

impl Cell {
    /// Makes a call. The reply is an object with the contract's names.
    pub async fn call(&self, call: &Call) -> Result<Value, Trouble> {
        match self {
            Self::Redis(redis) => redis.call(call).await,
            Self::Gateway(gateway) => gateway.call(call, None).await,
        }
    }

    /// Takes jobs, and again whenever there is news of the node, until there are some, something else is to be stopped than
    /// what is known, or the time is up.
    pub async fn take_until(
        &self,
        call: &Call,
        node: &str,
        known_stop: &Value,
        time: Duration,
    ) -> Result<Value, Trouble> {
        match self {
            Self::Redis(redis) => redis.take_until(call, node, known_stop, time).await,
            Self::Gateway(gateway) => gateway.call(call, Some(time)).await,
        }
    }
}
