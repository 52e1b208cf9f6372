//! Channels in Redis: each is subscribed where its cell is, for as long as someone waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use lockless_topology::Address;
use tokio::sync::watch;
use tokio::time::sleep;

use super::channel::Channel;
use super::subscriber::Subscriber;
use super::{LOOK_EVERY, Shared};
use crate::backend::{Failure, Redis, View};

/// Until a subscription that failed is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// The connections over which channels are subscribed, one to each server.
pub(super) struct Servers {
    redis: Arc<Redis>,
    /// They live as long as a channel uses them.
    subscribers: Mutex<HashMap<Address, Weak<Subscriber>>>,
}

impl Servers {
    pub(super) fn new(redis: &Arc<Redis>) -> Self {
        Self {
            redis: Arc::clone(redis),
            subscribers: Mutex::default(),
        }
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
pub(super) async fn keep(wakes: Weak<Shared>, servers: Weak<Servers>, channel: Arc<Channel>) {
    // It is kept while the server is away: another one would try, and complain, from the beginning each time.
    let mut last = None;
    while let Some(servers) = servers.upgrade() {
        let redis = &servers.redis;
        let mut views = redis.views();
        let subscribed = match redis.primary_of(&channel.cell).await {
            Some(address) => {
                let subscriber = Arc::clone(last.insert(servers.subscriber(&address)));
                let outcome = subscriber.subscribe(&channel, redis.call_timeout()).await;
                outcome.map(|()| (address, subscriber))
            }
            None => Err(Failure::Away(
                "nobody knows yet who has the cell".to_owned(),
            )),
        };
        match subscribed {
            Ok((address, subscriber)) => {
                channel.confirmed();
                drop(servers);
                until_over(&wakes, &channel, &mut views, &address).await;
                // Whoever comes now waits for the next one.
                channel.starting();
                subscriber.unsubscribe(&channel).await;
            }
            Err(failure) => {
                let may_be_elsewhere = matches!(failure, Failure::Away(_));
                channel.failed(failure);
                if may_be_elsewhere {
                    redis.look_again().await;
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
