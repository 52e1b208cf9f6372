//! Sockets: listening, TLS, limits and shutdown.
//!
//! One task serves one connection. All its time limits share one timer, which is not touched per request.

mod body;
mod connection;
mod exchange;
mod framing;
mod listener;
mod read;
mod room;
mod serve;
mod settings;
mod shutdown;
mod stats;
mod tls;
mod wire;

use std::future::Future;

use hyper::body::Incoming;
use hyper::{Request, Response};

pub use body::Body;
pub use exchange::Peer;
pub use listener::{Listener, bind};
pub use read::{BodyLimits, read_body};
pub use room::{Received, Room};
pub use serve::serve;
pub use settings::{TlsFiles, TransportSettings};
pub use shutdown::{Shutdown, ShutdownTrigger};
pub use stats::TransportStats;
pub use tls::TlsReloader;

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request. It is dropped when the client goes away or the time is up.
    fn handle(
        &self,
        request: Request<Incoming>,
        peer: &Peer,
    ) -> impl Future<Output = Response<Body>> + Send;
}
