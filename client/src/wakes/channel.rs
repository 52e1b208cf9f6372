//! The waiters of one cell, and whether its channel is subscribed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::Topic;
use crate::backend::{Cell, Failure};

/// What an announcement of a job's end begins with; ids have no spaces.
const ENDED: &[u8] = b"ended ";
/// What is announced when there are events.
const EVENT: &[u8] = b"event";

/// The last call of `lockless_listen`.
pub(super) struct Listened {
    pub(super) at: Instant,
    /// During which subscription it was called. After a failover the new primary may not know of it.
    pub(super) subscription: u64,
    /// Whether the cell announces from then on.
    pub(super) is_on: bool,
    pub(super) outcome: Result<(), Failure>,
}

/// The channel of one cell.
pub(super) struct Channel {
    pub(super) cell: Cell,
    /// Whoever holds it calls `lockless_listen` for all.
    pub(super) listened: tokio::sync::Mutex<Option<Listened>>,
    waiters: Mutex<Waiters>,
    state: watch::Sender<State>,
    subscriptions: AtomicU64,
    lapsed: Notify,
}

#[derive(Clone)]
enum State {
    Starting,
    Subscribed,
    Failed(Failure),
}

struct Waiters {
    by_topic: HashMap<Topic, Vec<Arc<Notify>>>,
    /// Since when there are none.
    none_since: Instant,
}

impl Channel {
    pub(super) fn new(cell: Cell) -> Self {
        Self {
            cell,
            listened: tokio::sync::Mutex::default(),
            waiters: Mutex::new(Waiters {
                by_topic: HashMap::new(),
                none_since: Instant::now(),
            }),
            state: watch::Sender::new(State::Starting),
            subscriptions: AtomicU64::new(0),
            lapsed: Notify::new(),
        }
    }

    /// Its name in Redis.
    pub(super) fn name(&self) -> String {
        format!("{}:wake", self.cell)
    }

    pub(super) fn add(&self, topic: Topic) -> Arc<Notify> {
        let news = Arc::new(Notify::new());
        let mut waiters = self.waiters();
        waiters
            .by_topic
            .entry(topic)
            .or_default()
            .push(Arc::clone(&news));
        news
    }

    pub(super) fn remove(&self, topic: &Topic, news: &Arc<Notify>) {
        let mut waiters = self.waiters();
        let Some(all) = waiters.by_topic.get_mut(topic) else {
            return;
        };
        if let Some(at) = all.iter().position(|one| Arc::ptr_eq(one, news)) {
            all.swap_remove(at);
        }
        if all.is_empty() {
            waiters.by_topic.remove(topic);
        }
        if waiters.by_topic.is_empty() {
            waiters.none_since = Instant::now();
        }
    }

    /// Whether nobody has waited for so long.
    pub(super) fn is_idle(&self, time: Duration) -> bool {
        let waiters = self.waiters();
        waiters.by_topic.is_empty() && waiters.none_since.elapsed() >= time
    }

    /// Waits for the subscription, or for the reason why there is none.
    pub(super) async fn subscribed(&self) -> Result<(), Failure> {
        let mut receiver = self.state.subscribe();
        match receiver
            .wait_for(|state| !matches!(state, State::Starting))
            .await
        {
            Ok(state) => match &*state {
                State::Failed(failure) => Err(failure.clone()),
                _ => Ok(()),
            },
            Err(_) => Err(Failure::Away("it is being closed".to_owned())),
        }
    }

    /// The server has confirmed the subscription. What was announced since the last one is lost, so everyone looks again;
    /// before the first one nobody has looked yet.
    pub(super) fn confirmed(&self) {
        let earlier = self.subscriptions.fetch_add(1, Ordering::Relaxed);
        self.state.send_replace(State::Subscribed);
        if earlier == 0 {
            return;
        }
        for news in self.waiters().by_topic.values().flatten() {
            news.notify_one();
        }
    }

    /// Which subscription this is.
    pub(super) fn subscription(&self) -> u64 {
        self.subscriptions.load(Ordering::Relaxed)
    }

    /// There is no subscription now, for this reason.
    pub(super) fn failed(&self, failure: Failure) {
        self.state.send_replace(State::Failed(failure));
    }

    /// Another subscription is about to be made; that the one before lapsed is of no interest any more.
    pub(super) fn starting(&self) {
        self.state.send_replace(State::Starting);
        let _ = self.lapsed.notified().now_or_never();
    }

    /// The server ended the subscription, or the connection broke.
    pub(super) fn lapse(&self) {
        self.lapsed.notify_one();
    }

    pub(super) async fn lapsed(&self) {
        self.lapsed.notified().await;
    }

    /// Wakes those whom a message concerns.
    pub(super) fn announce(&self, message: Vec<u8>) {
        let topic = match message.strip_prefix(ENDED) {
            Some(job) => Topic::Job(Bytes::copy_from_slice(job)),
            None => Topic::Node(Bytes::from(message)),
        };
        // A node may be called so as well.
        let event = (topic == Topic::Node(Bytes::from_static(EVENT))).then_some(Topic::Event);
        let waiters = self.waiters();
        for topic in [Some(topic), event].into_iter().flatten() {
            for news in waiters.by_topic.get(&topic).into_iter().flatten() {
                news.notify_one();
            }
        }
    }

    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
