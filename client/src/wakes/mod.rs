//! Long polls: who waits for which node or job, and what wakes them.
//!
//! The library announces on one sharded channel per cell. A `channel` knows the waiters of a cell and is subscribed
//! while there are any; a `subscriber` is the one connection to a server that all channels there share.

mod channel;
mod subscriber;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use lockless_topology::Address;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

use self::channel::{Channel, Listened};
use self::subscriber::Subscriber;
use crate::backend::{Call, Cell, Durability, Failure, Redis, Reply, View};

/// A channel without waiters is given up after this.
const IDLE: Duration = Duration::from_secs(60);
/// How often a channel looks whether anyone waits.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Until a subscription that failed is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(100);
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
    redis: Arc<Redis>,
    channels: Mutex<Channels>,
    /// They live as long as a channel uses them.
    subscribers: Mutex<HashMap<Address, Weak<Subscriber>>>,
    idle: Duration,
}

impl Wakes {
    /// Nobody waits yet.
    pub fn new(redis: Arc<Redis>) -> Self {
        Self::with_idle(redis, IDLE)
    }

    /// The same, with another time until channels without waiters are given up.
    pub fn with_idle(redis: Arc<Redis>, idle: Duration) -> Self {
        let shared = Shared {
            redis,
            channels: Mutex::default(),
            subscribers: Mutex::default(),
            idle,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Begins to wait. When it returns, nothing that happens from now on is missed.
    pub async fn watch(&self, cell: &Cell, topic: Topic) -> Result<Watch, Failure> {
        let watch = self.shared.join(cell, topic);
        match timeout(self.shared.redis.call_timeout(), watch.channel.subscribed()).await {
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
        let outcome = self.shared.redis.call(call, Durability::Primary).await;
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
        tokio::spawn(keep(Arc::downgrade(self), Arc::clone(&channel)));
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

    fn subscriber(&self, address: &Address) -> Arc<Subscriber> {
        let mut subscribers = self
            .subscribers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(subscriber) = subscribers.get(address).and_then(Weak::upgrade) {
            return subscriber;
        }
        subscribers.retain(|_, subscriber| subscriber.strong_count() > 0);
        let subscriber = Subscriber::start(&self.redis, address);
        subscribers.insert(address.clone(), Arc::downgrade(&subscriber));
        subscriber
    }
}

/// Keeps a channel subscribed where its cell is, until nobody has waited for a while.
async fn keep(wakes: Weak<Shared>, channel: Arc<Channel>) {
    // It is kept while the server is away: another one would try, and complain, from the beginning each time.
    let mut last = None;
    while let Some(shared) = wakes.upgrade() {
        let mut views = shared.redis.views();
        let subscribed = match shared.redis.primary_of(&channel.cell).await {
            Some(address) => {
                let subscriber = Arc::clone(last.insert(shared.subscriber(&address)));
                let outcome = subscriber
                    .subscribe(&channel, shared.redis.call_timeout())
                    .await;
                outcome.map(|()| (address, subscriber))
            }
            None => Err(Failure::Away(
                "nobody knows yet who has the cell".to_owned(),
            )),
        };
        match subscribed {
            Ok((address, subscriber)) => {
                channel.confirmed();
                drop(shared);
                until_over(&wakes, &channel, &mut views, &address).await;
                // Whoever comes now waits for the next one.
                channel.starting();
                subscriber.unsubscribe(&channel).await;
            }
            Err(failure) => {
                let may_be_elsewhere = matches!(failure, Failure::Away(_));
                channel.failed(failure);
                if may_be_elsewhere {
                    shared.redis.look_again().await;
                }
                sleep(TRY_AGAIN).await;
            }
        }
        if wakes.upgrade().is_none_or(|shared| shared.forget(&channel)) {
            return;
        }
    }
}

/// Returns when the subscription has lapsed, the cell is elsewhere, or nobody has waited for a while.
async fn until_over(
    wakes: &Weak<Shared>,
    channel: &Channel,
    views: &mut watch::Receiver<View>,
    address: &Address,
) {
    loop {
        tokio::select! {
            () = channel.lapsed() => return,
            changed = views.changed() => {
                let now = views.borrow_and_update().primary_of(&channel.cell);
                if changed.is_err() || now.is_some_and(|now| now != *address) {
                    return;
                }
            }
            () = sleep(LOOK_EVERY) => {}
        }
        if wakes
            .upgrade()
            .is_none_or(|shared| channel.is_idle(shared.idle))
        {
            return;
        }
    }
}
