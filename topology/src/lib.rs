//! Where Redis is: what a URL says, and which primaries a Cluster lists.

mod address;
mod primary;

pub use address::{Address, BadUrl, Location, Login, Way, parse};
pub use primary::{Primary, cluster_primaries, latest_epoch, slot_of_key};
