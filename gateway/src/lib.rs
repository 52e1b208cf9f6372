//! HTTP for Lockless: one request, one FCALL.
//!
//! The gateway knows the contract (`functions/api.toml`), not scheduling: a request is matched to a function, its
//! arguments are marshalled, the function is called, and the reply is marshalled back.

pub mod assets;
pub mod auth;
pub mod caretaker;
pub mod cells;
pub mod contract;
pub mod gateway;
pub mod marshal;
pub mod metrics;
pub mod openapi;
pub mod page;
pub mod problem;
pub mod program;
pub mod service;
pub mod settings;
pub mod transport;
