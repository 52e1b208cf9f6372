//! The gateway's sockets, driven through real ones: limits, hostile clients, TLS and shutdown.

mod limits;
mod requests;
mod running;
mod stopping;
mod tls;
