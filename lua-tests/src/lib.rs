//! The library's hosts for tests, behind one trait: on a model of Redis written in Lua, and on real servers.
//!
//! [`InProcess`] runs the library in a Lua 5.1 machine with the model of Redis behind `redis.call`. [`Wasm`] runs the same in the
//! WebAssembly module. [`Real`] talks to a server or a Cluster. The specs under `specs/` are written once and run on all of them by
//! [`spec`].

mod error;
mod in_process;
mod model;
mod real;
mod reply;
pub mod spec;
mod stack;
mod wasm;

pub use error::Error;
pub use in_process::{InProcess, Published};
pub use model::{Model, Snapshot, TracedCall};
pub use real::Real;
pub use reply::Reply;
pub use wasm::Wasm;

/// When a model's clock starts, in ms since 1970: 2026-01-01, fixed so that runs repeat.
const START_MS: u64 = 1_767_225_600_000;

/// Something that runs the library's functions and plain commands.
///
/// What the server refuses is a [`Reply::Error`]; an [`Error`] means that there was no reply at all.
pub trait Host {
    /// The name of the host as it stands in test names.
    fn name(&self) -> &str;

    /// Calls a function with FCALL.
    fn fcall(&mut self, function: &str, keys: &[&[u8]], args: &[Vec<u8>]) -> Result<Reply, Error>;

    /// Calls a function with `FCALL_RO`.
    fn fcall_ro(
        &mut self,
        function: &str,
        keys: &[&[u8]],
        args: &[Vec<u8>],
    ) -> Result<Reply, Error>;

    /// Runs a plain command; its name is the first argument.
    fn command(&mut self, args: &[Vec<u8>]) -> Result<Reply, Error>;

    /// Lets time pass on the host's clock: the model moves it, a real server is waited for.
    fn pass_time(&mut self, ms: u64) -> Result<(), Error>;

    /// Hears what is said on a sharded channel from now on, and no longer what is said on another.
    fn hear(&mut self, channel: &[u8]) -> Result<(), Error>;

    /// What was said on the channel since this was asked last, all of it, in order.
    fn heard(&mut self) -> Result<Vec<Vec<u8>>, Error>;

    /// This host as a model, for what only a model can do.
    fn as_model(&mut self) -> Option<&mut dyn Model> {
        None
    }
}
