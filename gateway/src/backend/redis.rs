//! The library in a Redis server, through fred.

/// Connections to a Redis server, a Sentinel's primary or a Cluster.
pub struct Redis;
