//! Ctrl-C: the run ends at the next call, and everything it started is stopped.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, failed};

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From here on the first Ctrl-C ends the run cleanly, and a second one at once; servers die with this process either way.
pub fn listen() -> Result<(), Error> {
    ctrlc::set_handler(|| {
        if IS_INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\nStopping; once more to end at once.");
    })
    .map_err(failed("Ctrl-C"))
}

/// Fails once the run was interrupted. Whatever takes long asks between its steps.
pub fn check() -> Result<(), Error> {
    if IS_INTERRUPTED.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    Ok(())
}
