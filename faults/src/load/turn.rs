//! Times and numbers that the load's threads share with those who judge it.

/// The lease of a session.
pub(crate) const LEASE_MS: u64 = 3000;

/// How long a reservation waits to be acknowledged.
pub(crate) const ACK_MS: u64 = 2000;

/// How long a lock is asked for.
pub(crate) const LOCK_MS: u64 = 300;
