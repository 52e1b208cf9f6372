//! Between HTTP and the library: arguments in, replies out, as the contract says.

mod arguments;
mod fields;
mod reply;

pub(crate) use arguments::is_boolean;
pub use arguments::{Given, Marshalled, WAIT_MS, WAIT_MS_LIMIT, arguments};
pub use fields::{Fields, Value};
pub(crate) use reply::record;
pub use reply::reply;
