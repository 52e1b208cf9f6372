//! Ctrl-C: the run ends at its next step, and everything it started ends with it. A second one ends it at once; what it started dies with it.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens from now on.
pub fn listen() {
    // An error means that someone listens already.
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        eprintln!("\nstopping; once more ends it at once");
    });
}

/// Whether the run was asked to end.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
