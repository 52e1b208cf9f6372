//! What can be set about sockets.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::{BodyLimits, Room};

/// How to listen, and what a client may take.
#[derive(Debug, Clone)]
pub struct TransportSettings {
    /// Where to listen. Port 0: any free one.
    pub listen: SocketAddr,
    /// What to serve TLS with.
    pub tls: Option<TlsFiles>,
    /// The time a request's head may take; of a new connection, from the start.
    pub header_read_timeout: Duration,
    /// The time a request's body may take.
    pub body_read_timeout: Duration,
    /// The time a handler may take, unless it asks for more.
    pub request_timeout: Duration,
    /// The time a connection may stay open between requests.
    pub idle_timeout: Duration,
    /// The time a client may take to read what is written to it.
    pub write_timeout: Duration,
    /// The time a TLS handshake may take.
    pub tls_handshake_timeout: Duration,
    /// Connections at once.
    pub max_connections: usize,
    /// Size of a body.
    pub max_body_bytes: u64,
    /// The memory that all bodies may take together.
    pub body_memory_bytes: u64,
    /// The time requests under way have at shutdown.
    pub shutdown_grace: Duration,
}

/// A certificate and its key, as PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate, and those between it and its authority.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl TransportSettings {
    /// The defaults for that address.
    pub fn new(listen: SocketAddr) -> Self {
        let seconds = Duration::from_secs;
        Self {
            listen,
            tls: None,
            header_read_timeout: seconds(10),
            body_read_timeout: seconds(10),
            request_timeout: seconds(30),
            idle_timeout: seconds(75),
            write_timeout: seconds(30),
            tls_handshake_timeout: seconds(10),
            max_connections: 10_000,
            max_body_bytes: 1 << 20,
            body_memory_bytes: 64 << 20,
            shutdown_grace: seconds(10),
        }
    }

    /// The limits of requests' bodies, with room of their own.
    pub fn body_limits(&self) -> BodyLimits {
        BodyLimits {
            max_bytes: self.max_body_bytes,
            timeout: self.body_read_timeout,
            room: Room::new(self.body_memory_bytes),
        }
    }

    /// The shortest time limit of a connection.
    pub(super) fn shortest_timeout(&self) -> Duration {
        self.header_read_timeout
            .min(self.request_timeout)
            .min(self.idle_timeout)
            .min(self.write_timeout)
    }
}
