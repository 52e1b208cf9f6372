//! The Lockless scheduler as a Redis Functions library, and its contract as data.

pub mod api;
pub mod bundle;
pub mod reference;

/// The library as it is loaded into Redis with `FUNCTION LOAD`.
pub const LIBRARY: &str = include_str!("../lockless.lua");

/// The version of the library in [`LIBRARY`].
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The contract in [`api::Api`]'s textual form.
pub const API: &str = include_str!("../api.toml");

/// The digest that `lockless_version` of [`LIBRARY`] reports.
pub fn digest() -> Option<&'static str> {
    bundle::digest_of(LIBRARY)
}
