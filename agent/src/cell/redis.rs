//! The cell in Redis itself.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lockless_client::backend::{self, Durability, Failure, RedisSettings};
use lockless_client::reply::reply;
use lockless_client::wakes::{Topic, Wakes};
use lockless_client::workers::Workers;
use lockless_functions::api::Mode;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{Call, Trouble};

/// A look without news, should an announcement have got lost.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Connections to Redis.
pub struct Redis {
    redis: Arc<backend::Redis>,
    wakes: Wakes,
    cell: backend::Cell,
}

impl Redis {
    /// Begins to connect. It fails for settings that can't be right, in a sentence.
    pub fn start(settings: RedisSettings, cell: &str) -> Result<Self, String> {
        let redis =
            backend::Redis::start(settings, &Workers::none()).map_err(|error| error.to_string())?;
        Ok(Self {
            wakes: Wakes::new(Arc::clone(&redis)),
            redis,
            cell: backend::Cell::new(cell),
        })
    }

    pub(super) async fn call(&self, call: &Call) -> Result<Value, Trouble> {
        let sent = backend::Call {
            function: &call.function.name,
            writes: call.function.mode == Mode::Write,
            cell: self.cell.clone(),
            arguments: call.arguments(),
        };
        let answer = self.redis.call(sent, Durability::Primary).await?;
        let json =
            reply(call.function, answer).map_err(|error| Trouble::Refused(error.to_string()))?;
        serde_json::from_slice(&json).map_err(|error| Trouble::Refused(error.to_string()))
    }

    pub(super) async fn take_until(
        &self,
        call: &Call,
        node: &str,
        known_stop: &Value,
        time: Duration,
    ) -> Result<Value, Trouble> {
        let deadline = Instant::now() + time;
        let topic = Topic::Node(Bytes::copy_from_slice(node.as_bytes()));
        // Whoever watches before looking misses nothing.
        let mut watch = self.wakes.watch(&self.cell, topic).await?;
        loop {
            self.wakes.listen(&self.cell).await?;
            let answer = self.call(call).await?;
            let has = |list: &Value| list.as_array().is_some_and(|items| !items.is_empty());
            let stop = &answer["stop"];
            if has(&answer["jobs"])
                || (has(stop) && stop != known_stop)
                || Instant::now() >= deadline
            {
                return Ok(answer);
            }
            let look_again = deadline.min(Instant::now() + LOOK_AGAIN);
            let _ = timeout_at(look_again, watch.woken()).await;
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Library { code, sentence } => Self::Library { code, sentence },
            Failure::Refused(_) | Failure::LibraryMissing => Self::Refused(failure.to_string()),
            other => Self::Away(other.to_string()),
        }
    }
}
