//! The Lockless scheduler as a Redis Functions library, and its contract as data.

pub mod api;
pub mod bundle;
pub mod reference;

use std::sync::LazyLock;

/// The library as it is loaded into Redis with `FUNCTION LOAD`.
pub const LIBRARY: &str = include_str!("../lockless.lua");

/// The version of the library in [`LIBRARY`].
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The contract in [`api::Api`]'s textual form.
pub const API: &str = include_str!("../api.toml");

static CONTRACT: LazyLock<api::Api> =
    LazyLock::new(|| api::Api::parse(API).expect("the contract was read when the bundle was made"));

/// The contract.
pub fn contract() -> &'static api::Api {
    &CONTRACT
}

/// The digest that `lockless_version` of [`LIBRARY`] reports.
pub fn digest() -> Option<&'static str> {
    bundle::digest_of(LIBRARY)
}
