//! The library with all it needs as one WebAssembly module, and its host.
//!
//! [`MODULE`] is `lockless.wasm`: Lua, a model of Redis, its host of Functions, and the library. A [`Machine`] runs it:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use lockless_wasm::{Limits, Machine, Reply};
//!
//! let mut machine = Machine::start(Limits::default(), 1_767_225_600_000_000)?;
//! let ping: [&[u8]; 4] = [b"FCALL", b"lockless_sweep", b"1", b"scheduler:{main}"];
//! assert_eq!(machine.call(&ping, 1_767_225_600_000_001)?, Reply::Int(0));
//! # Ok(())
//! # }
//! ```
//!
//! Everything a call depends on is given: the arguments, the clock, and the limits. There is no file, no network and no other clock in
//! it, so the same calls always give the same replies.
//!
//! A call that runs away, recurses without end or eats up the memory is stopped, and the next one finds the state as it was before.

mod code;
mod config;
mod error;
mod instance;
mod journal;
mod machine;
mod reading;
mod resp;
mod snapshot;

pub use error::{Error, Stopped};
pub use machine::{Limits, Machine, Published};
pub use resp::Reply;
pub use snapshot::Snapshot;

/// `lockless.wasm`, for other hosts.
pub const MODULE: &[u8] = include_bytes!("../lockless.wasm");
