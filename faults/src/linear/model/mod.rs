//! The contract as a state machine: what each call does to a small cell, and what it may reply.
//!
//! It is written from the contract, not from the library, and knows no keys, indexes or deadlines: histories end long before anything is due.
//! Where the contract leaves a choice, such as which of the nodes with room is taken, every choice is right.

mod fleet;
mod handing;
mod jobs;
mod limit;
mod locks;
mod nodes;
mod sessions;
mod words;

pub use fleet::Fleet;
pub use limit::Limit;
pub use locks::Locks;
