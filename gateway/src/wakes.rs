//! Long polls: who waits for which node or job, and what wakes them.
