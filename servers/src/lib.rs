//! Private Redis servers for tests, benches and `cargo xtask up`.
//!
//! [`Standalone`] is one server, [`Cluster`] a set of primaries with all slots assigned, [`Sentinel`] a primary with
//! its replica and the sentinel that watches them. Each stops when it is dropped, and none outlives the process that
//! started it. [`find_server`] says where the server comes from.

mod client;
mod cluster;
#[cfg(feature = "docker")]
mod container;
#[cfg(not(feature = "docker"))]
#[path = "container_left_out.rs"]
mod container;
pub mod debian;
mod docker;
mod error;
mod launcher;
mod ports;
mod program;
mod sentinel;
mod server;
mod source;
mod standalone;
mod tls;

pub use cluster::{Cluster, ClusterBuilder, ClusterNode};
pub use error::Error;
pub use launcher::{launch, terminate};
pub use program::{PROGRAMS_VARIABLE, Program, named_programs};
pub use sentinel::Sentinel;
pub use source::{DEFAULT_IMAGE, IMAGE_VARIABLE, Source, URL_VARIABLE, find_server};
pub use standalone::{Standalone, StandaloneBuilder};
