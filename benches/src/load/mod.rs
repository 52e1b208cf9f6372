//! A load from real clients: callers that place jobs, or take them through their whole life, on their own or through a gateway.
//!
//! [`fleet`] is the nodes of a cell and what is held on them, as the callers see it; [`caller`] is one caller; [`run`] has many of them
//! call at the same time, and [`stage`] is where they come to.

pub mod caller;
pub mod fleet;
pub mod run;
pub mod stage;

pub use caller::{Caller, Door};
pub use fleet::Fleet;
pub use run::{Ran, Until, Work, run};
pub use stage::{Spent, Stage};
