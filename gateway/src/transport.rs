//! Sockets: listening, TLS, limits and shutdown.
