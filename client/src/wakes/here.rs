//! Channels in this process: what is said is heard at once, and nothing is ever missed.

use std::sync::{Arc, Weak};

use tokio::time::sleep;

use super::channel::Channel;
use super::{LOOK_EVERY, Shared};
use crate::backend::Embedded;

/// Has what is published told to those who wait, for as long as there is anyone.
pub(super) fn hear(embedded: &Embedded, shared: &Arc<Shared>) {
    let wakes = Arc::downgrade(shared);
    embedded.hear(Box::new(move |root, message| {
        let Some(shared) = wakes.upgrade() else {
            return;
        };
        let channel = shared.channels().get(root).map(Arc::clone);
        if let Some(channel) = channel {
            channel.announce(message);
        }
    }));
}

/// Keeps a channel until nobody has waited for a while.
pub(super) async fn keep(wakes: Weak<Shared>, channel: Arc<Channel>) {
    loop {
        sleep(LOOK_EVERY).await;
        if wakes.upgrade().is_none_or(|shared| shared.forget(&channel)) {
            return;
        }
    }
}
