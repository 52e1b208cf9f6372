//! What is counted about connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Counts of connections.
#[derive(Debug, Default)]
pub struct TransportStats {
    open: AtomicUsize,
    accepted: AtomicU64,
    refused: AtomicU64,
    tls_failures: AtomicU64,
}

impl TransportStats {
    /// Connections that are open now.
    pub fn open(&self) -> usize {
        self.open.load(Relaxed)
    }

    /// Connections that were accepted.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Relaxed)
    }

    /// Connections that were refused because there were too many.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// TLS handshakes that failed.
    pub fn tls_failures(&self) -> u64 {
        self.tls_failures.load(Relaxed)
    }

    /// Counts a connection for as long as what is returned lives.
    pub(super) fn accept(self: &Arc<Self>) -> Open {
        self.accepted.fetch_add(1, Relaxed);
        self.open.fetch_add(1, Relaxed);
        Open(Arc::clone(self))
    }

    pub(super) fn refuse(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    pub(super) fn tls_failed(&self) {
        self.tls_failures.fetch_add(1, Relaxed);
    }
}

/// One open connection.
pub(super) struct Open(Arc<TransportStats>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}
