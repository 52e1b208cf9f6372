//! Breaks real deployments under load, and shows what was lost.
//!
//! A fault ([`fault`]) starts what it breaks, puts a [`load`] on it whose every call is recorded in a [`history`], breaks it, heals it, and
//! has the history and what the cells say in the end judged by [`rules`]. It does the same without what protects it, the control run: there
//! the rules must find something, or they are blind.
//!
//! [`single`] has the faults of a single server, [`cluster`] those of a Cluster, the network, gateway and agent. [`linear`] plays short
//! histories and holds them to a model of the contract.

pub mod cluster;
mod error;
pub mod fault;
pub mod history;
pub mod interrupt;
pub mod linear;
pub mod load;
mod mistake;
pub mod outcome;
pub mod report;
pub mod rules;
pub mod run;
pub mod server;
pub mod single;
pub mod wire;

pub use error::Error;
