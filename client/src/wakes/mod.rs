//! Long polls: who waits for which node or job, and what wakes them.
//!
//! The library announces on one channel per cell. A `channel` knows the waiters of a cell. In Redis, `in_redis` keeps it
//! subscribed while there are any, and a `subscriber` is the one connection to a server that all channels there share; a
//! library in this process is heard `here`.

mod channel;
#[cfg(feature = "embedded")]
mod here;
mod in_redis;
mod subscriber;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use self::channel::{Channel, Listened};
use self::in_redis::Servers;
use crate::backend::{Backend, Call, Cell, Durability, Failure, Reply};

/// A channel without waiters is given up after this.
const IDLE: Duration = Duration::from_secs(60);
/// How often a channel looks whether anyone waits.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The library forgets who listens after two minutes.
const LISTEN_EVERY: Duration = Duration::from_secs(45);

/// What someone waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Something for this node to take or to stop.
    Node(Bytes),
    /// This job's end.
    Job(Bytes),
    /// An event of the cell.
    Event,
}

/// All who wait.
pub struct Wakes {
    shared: Arc<Shared>,
}

/// One who waits, until it is dropped.
pub struct Watch {
    channel: Arc<Channel>,
    topic: Topic,
    news: Arc<Notify>,
}

type Channels = HashMap<Cell, Arc<Channel>>;

struct Shared {
    backend: Backend,
    channels: Mutex<Channels>,
    source: Source,
    idle: Duration,
}

/// Where announcements come from.
enum Source {
    Redis(Arc<Servers>),
    #[cfg(feature = "embedded")]
    Here,
}

impl Wakes {
    /// Nobody waits yet.
    pub fn new(backend: impl Into<Backend>) -> Self {
        Self::with_idle(backend, IDLE)
    }

    /// The same, with another time until channels without waiters are given up.
    pub fn with_idle(backend: impl Into<Backend>, idle: Duration) -> Self {
        let backend = backend.into();
        let source = match &backend {
            Backend::Redis(redis) => Source::Redis(Arc::new(Servers::new(redis))),
            #[cfg(feature = "embedded")]
            Backend::Embedded(_) => Source::Here,
        };
        let shared = Arc::new(Shared {
            backend,
            channels: Mutex::default(),
            source,
            idle,
        });
        #[cfg(feature = "embedded")]
        if let Backend::Embedded(embedded) = &shared.backend {
            here::hear(embedded, &shared);
        }
        Self { shared }
    }

    /// Begins to wait. When it returns, nothing that happens from now on is missed.
    pub async fn watch(&self, cell: &Cell, topic: Topic) -> Result<Watch, Failure> {
        let watch = self.shared.join(cell, topic);
        match timeout(self.shared.backend.patience(), watch.channel.subscribed()).await {
            Ok(subscribed) => subscribed?,
            Err(_) => return Err(Failure::Slow),
        }
        self.listen(cell).await?;
        Ok(watch)
    }

    /// Has the library go on announcing in this cell. Callers at the same time share one call.
    pub async fn listen(&self, cell: &Cell) -> Result<(), Failure> {
        let channel = self.shared.channel(&mut self.shared.channels(), cell);
        let asked_at = Instant::now();
        let mut listened = channel.listened.lock().await;
        let subscription = channel.subscription();
        if let Some(last) = listened
            .as_ref()
            .filter(|last| last.subscription == subscription)
        {
            // Whoever waited for someone else's call has its outcome.
            if last.at >= asked_at || (last.is_on && last.at.elapsed() < LISTEN_EVERY) {
                return last.outcome.clone();
            }
        }
        let call = Call {
            function: "lockless_listen",
            writes: true,
            cell: cell.clone(),
            arguments: Vec::new(),
        };
        let outcome = self.shared.backend.call(call, Durability::Primary).await;
        // In a cell that does not exist yet nothing is announced.
        let is_on = outcome
            .as_ref()
            .is_ok_and(|until| *until != Reply::Integer(0));
        let outcome = outcome.map(drop);
        *listened = Some(Listened {
            at: Instant::now(),
            subscription,
            is_on,
            outcome: outcome.clone(),
        });
        outcome
    }
}

impl Watch {
    /// Returns when there may be news, also when some may have been missed. News before the call counts.
    pub async fn woken(&mut self) {
        self.news.notified().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.channel.remove(&self.topic, &self.news);
    }
}

impl Shared {
    fn channels(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn channel(self: &Arc<Self>, channels: &mut Channels, cell: &Cell) -> Arc<Channel> {
        if let Some(channel) = channels.get(cell) {
            return Arc::clone(channel);
        }
        let channel = Arc::new(Channel::new(cell.clone()));
        channels.insert(cell.clone(), Arc::clone(&channel));
        let wakes = Arc::downgrade(self);
        match &self.source {
            Source::Redis(servers) => {
                let servers = Arc::downgrade(servers);
                tokio::spawn(in_redis::keep(wakes, servers, Arc::clone(&channel)));
            }
            #[cfg(feature = "embedded")]
            Source::Here => {
                channel.confirmed();
                tokio::spawn(here::keep(wakes, Arc::clone(&channel)));
            }
        }
        channel
    }

    fn join(self: &Arc<Self>, cell: &Cell, topic: Topic) -> Watch {
        // Nobody forgets a channel between its being found and its being used.
        let mut channels = self.channels();
        let channel = self.channel(&mut channels, cell);
        let news = channel.add(topic.clone());
        Watch {
            channel,
            topic,
            news,
        }
    }

    /// Forgets a channel if nobody uses it.
    fn forget(&self, channel: &Channel) -> bool {
        let mut channels = self.channels();
        let is_idle = channel.is_idle(self.idle);
        if is_idle {
            channels.remove(&channel.cell);
        }
        is_idle
    }
}
