use lockless_wasm::Machine;
use mlua::Table;

use crate::{Error, Host};

/// What only a model can do: look inside, fail on purpose, go back to where it was, have its clock set.
pub trait Model: Host {
    /// Loads a library, in place of one with the same name. A refused one leaves the old one as it was.
    fn load_library(&mut self, source: &str) -> Result<(), Error>;

    /// How many `redis.call` and `redis.pcall` the last function call made.
    fn call_count(&mut self) -> Result<usize, Error>;

    /// The commands the last function call made, in order.
    fn call_trace(&mut self) -> Result<Vec<TracedCall>, Error>;

    /// Makes the n-th `redis.call` of the next function call fail without running it.
    fn fail_at(&mut self, n: usize) -> Result<(), Error>;

    /// The same with an error line of the caller's choice.
    fn fail_at_with(&mut self, n: usize, line: &str) -> Result<(), Error>;

    /// Every key with its type, value and whether it expires, as text. Equal states give equal text.
    fn dump(&mut self) -> Result<String, Error>;

    /// A copy of the state, clock included.
    fn snapshot(&mut self) -> Result<Snapshot, Error>;

    /// Goes back to a snapshot, which can be used again.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Error>;

    /// Sets the model's clock.
    fn set_time_ms(&mut self, ms: u64) -> Result<(), Error>;
}

/// A copy of a host's whole state. It belongs to the host that made it.
pub struct Snapshot(pub(crate) Kept);

pub(crate) enum Kept {
    Table(Table),
    Machine { machine: Box<Machine>, now_us: u64 },
}

/// One `redis.call` or `redis.pcall` that a function made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedCall {
    /// The command in lower case.
    pub command: String,
    /// Its first argument, usually the key.
    pub key: Vec<u8>,
}
