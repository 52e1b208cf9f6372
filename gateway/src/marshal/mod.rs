//! Between HTTP and the library: arguments in, as the contract says.
//!
//! Types are checked here, because JSON has types and Redis has none; limits are checked by the library alone.

mod arguments;
mod fields;
mod values;

pub use arguments::{Given, Marshalled, WAIT_MS, WAIT_MS_LIMIT, arguments};
pub use fields::{Fields, Value};
pub(crate) use values::is_boolean;
