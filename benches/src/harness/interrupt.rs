//! Ctrl-C: the run ends at the next call, and everything it started is stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::{Error, failed};

/// Set by the signal's handler itself, so that whoever finds a call interrupted finds this set.
static IS_INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From here on the first Ctrl-C ends the run cleanly, and a second one at once; servers die with this process either way.
pub fn listen() -> Result<(), Error> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let ask = || {
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&IS_INTERRUPTED))?;
            flag::register(signal, Arc::clone(&IS_INTERRUPTED))
        };
        ask().map_err(failed("Ctrl-C"))?;
    }
    Ok(())
}

/// Fails once the run was interrupted. Whatever takes long asks between its steps.
pub fn check() -> Result<(), Error> {
    if IS_INTERRUPTED.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    Ok(())
}

/// What fails once the run was interrupted failed by that: a call to a server that was cut short, a peer that heard Ctrl-C too.
pub fn or_else(error: Error) -> Error {
    check().err().unwrap_or(error)
}
