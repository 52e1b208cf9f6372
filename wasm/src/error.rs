/// Why there is no machine, or no state.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The machine code that this program brings can not be used on this computer.
    #[error("the module's code can not be used here: {0}")]
    Code(String),
    /// The module did not start.
    #[error("the module did not start: {0}")]
    Start(String),
    /// The state that was to be loaded was refused; the one that was there is untouched.
    #[error("the state was refused: {0}")]
    State(String),
    /// The call was stopped; the state is as it was.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Why a call was stopped. The state is as it was before the call, and the machine goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// It ran for more instructions than the limits allow.
    #[error("the call was stopped: it ran for too long")]
    Budget,
    /// It needed more memory than the limits allow.
    #[error("the call was stopped: it needed too much memory")]
    Memory,
    /// It went too deep: a recursion, or a pattern that is matched by one.
    #[error("the call was stopped: it went too deep")]
    Stack,
    /// Anything else that ends an instance.
    #[error("the call was stopped: {0}")]
    Other(String),
    /// The state could not be rebuilt after a call that was stopped. It is not lost: the next call tries again.
    #[error("the state could not be rebuilt after a call that was stopped: {0}")]
    Rebuilding(String),
}
