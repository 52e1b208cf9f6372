//! The wish to stop, and those who wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
struct Wish {
    requested: AtomicBool,
    news: Notify,
}

/// Tells whether a shutdown was requested.
#[derive(Debug, Clone)]
pub struct Shutdown(Arc<Wish>);

/// Requests a shutdown.
#[derive(Debug)]
pub struct ShutdownTrigger(Arc<Wish>);

impl Shutdown {
    /// The one who asks, and the one who is asked.
    pub fn new() -> (ShutdownTrigger, Self) {
        let wish = Arc::new(Wish::default());
        (ShutdownTrigger(Arc::clone(&wish)), Self(wish))
    }

    /// Whether it was requested.
    pub fn is_requested(&self) -> bool {
        self.0.requested.load(Ordering::Acquire)
    }

    /// Waits until it is requested.
    pub async fn requested(&self) {
        // Whoever listens before looking misses nothing.
        let news = self.0.news.notified();
        if !self.is_requested() {
            news.await;
        }
    }
}

impl ShutdownTrigger {
    /// Requests it. It can't be taken back.
    pub fn request(&self) {
        self.0.requested.store(true, Ordering::Release);
        self.0.news.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everyone_hears_of_it_before_and_after() {
        let (trigger, shutdown) = Shutdown::new();
        let early = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.requested().await }
        });
        tokio::task::yield_now().await;
        assert!(!shutdown.is_requested() && !early.is_finished());
        trigger.request();
        early.await.expect("heard");
        shutdown.requested().await;
        assert!(shutdown.is_requested());
    }
}
