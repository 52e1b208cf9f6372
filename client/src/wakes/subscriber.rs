//! The one connection to a server over which all channels there are subscribed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use lockless_topology::Address;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::channel::Channel;
use crate::backend::{Failure, Link, Redis};

/// Subscriptions on one server.
pub(super) struct Subscriber {
    link: Link,
    routes: Arc<Routes>,
    /// A server may end a subscription unasked, which the client takes for the answer to whatever is under way. So one
    /// command is under way at a time, and what counts is the confirmation that names the channel.
    one_at_a_time: tokio::sync::Mutex<()>,
}

/// Where messages go, by the channel's name.
#[derive(Default)]
struct Routes(Mutex<HashMap<Vec<u8>, Route>>);

struct Route {
    channel: Weak<Channel>,
    confirmed: Arc<Notify>,
}

impl Subscriber {
    pub(super) fn start(redis: &Redis, address: &Address) -> Arc<Self> {
        let routes = Arc::new(Routes::default());
        let pushed = Arc::clone(&routes);
        Arc::new(Self {
            link: redis.link(address, Arc::new(move |push| pushed.take(push))),
            routes,
            one_at_a_time: tokio::sync::Mutex::default(),
        })
    }

    /// Returns when the server has confirmed the subscription.
    pub(super) async fn subscribe(
        &self,
        channel: &Arc<Channel>,
        within: Duration,
    ) -> Result<(), Failure> {
        let name = channel.name();
        let _turn = self.one_at_a_time.lock().await;
        let mut opened = self.link.opened().await.map_err(Failure::Away)?;
        let confirmed = self.routes.add(&name, channel);
        let mut subscribe = redis::cmd("SSUBSCRIBE");
        subscribe.arg(&name);
        let asking = async {
            let answer = opened.connection.send_packed_command(&subscribe).await;
            match answer {
                Ok(Value::ServerError(error))
                    if ["MOVED", "CLUSTERDOWN", "LOADING", "ASK"].contains(&error.code()) =>
                {
                    Err(Failure::Away(error.to_string()))
                }
                Ok(Value::ServerError(error)) => Err(Failure::Refused(error.to_string())),
                Err(error) => Err(Failure::Away(error.to_string())),
                Ok(_) => {
                    confirmed.notified().await;
                    Ok(())
                }
            }
        };
        let outcome = timeout(within, asking).await.unwrap_or(Err(Failure::Slow));
        if outcome.is_err() {
            self.routes.remove(&name);
        }
        outcome
    }

    /// Ends a subscription, if it has not ended by itself.
    pub(super) async fn unsubscribe(&self, channel: &Channel) {
        let name = channel.name();
        let _turn = self.one_at_a_time.lock().await;
        if !self.routes.remove(&name) {
            return;
        }
        if let Ok(mut opened) = self.link.opened().await {
            let mut unsubscribe = redis::cmd("SUNSUBSCRIBE");
            unsubscribe.arg(&name);
            // One that can't be ended ends with the connection.
            let _ = timeout(
                Duration::from_secs(1),
                opened.connection.send_packed_command(&unsubscribe),
            )
            .await;
        }
    }
}

impl Routes {
    fn add(&self, name: &str, channel: &Arc<Channel>) -> Arc<Notify> {
        let confirmed = Arc::new(Notify::new());
        let route = Route {
            channel: Arc::downgrade(channel),
            confirmed: Arc::clone(&confirmed),
        };
        self.all().insert(name.as_bytes().to_vec(), route);
        confirmed
    }

    fn remove(&self, name: &str) -> bool {
        self.all().remove(name.as_bytes()).is_some()
    }

    fn take(&self, push: PushInfo) {
        if push.kind == PushKind::Disconnection {
            let ended: Vec<Route> = self.all().drain().map(|(_, route)| route).collect();
            ended
                .iter()
                .filter_map(|route| route.channel.upgrade())
                .for_each(|channel| channel.lapse());
            return;
        }
        let mut data = push.data.into_iter();
        let (Some(Value::BulkString(name)), Some(value)) = (data.next(), data.next()) else {
            return;
        };
        match (push.kind, value) {
            (PushKind::SMessage, Value::BulkString(message)) => {
                let channel = self
                    .all()
                    .get(&name)
                    .and_then(|route| route.channel.upgrade());
                if let Some(channel) = channel {
                    channel.announce(message);
                }
            }
            (PushKind::SSubscribe, _) => {
                if let Some(route) = self.all().get(&name) {
                    route.confirmed.notify_one();
                }
            }
            // The slot has moved to another server.
            (PushKind::SUnsubscribe, _) => {
                let ended = self.all().remove(&name);
                if let Some(channel) = ended.and_then(|route| route.channel.upgrade()) {
                    channel.lapse();
                }
            }
            _ => {}
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Route>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
