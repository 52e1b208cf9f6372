//! Lockless in Redis: calls of its functions, and what wakes those who wait for news.
//!
//! One URL finds a server, the primary behind Sentinels, or a Cluster. Connections are kept, found again after an
//! outage, and follow a cell that moves.

pub mod backend;
pub mod reply;
pub mod wakes;
pub mod workers;
