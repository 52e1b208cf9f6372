//! Libraries with one mistake each, for control runs.

use lockless_functions::LIBRARY;

use crate::Error;

/// The library with `wrong` in the place of `right`, which it has once.
pub(crate) fn library_in_which(summary: &str, right: &str, wrong: &str) -> Result<String, Error> {
    if LIBRARY.matches(right).count() != 1 {
        return Err(Error::CannotRunHere(format!(
            "the library has not exactly one place for the mistake '{summary}': give the control the lines as they are now"
        )));
    }
    Ok(LIBRARY.replacen(right, wrong, 1))
}
