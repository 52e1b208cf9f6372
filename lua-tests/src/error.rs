use std::path::PathBuf;

/// Why a host gave no reply, or a spec file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The Lua machine of the in-process host, or of a spec, failed.
    #[error("Lua: {0}")]
    Lua(#[from] mlua::Error),
    /// The library was refused; the text is the error line of Redis.
    #[error("the library was refused: {0}")]
    Library(String),
    /// There is no machine for the WebAssembly module, or a call of it was stopped.
    #[error("WebAssembly: {0}")]
    Wasm(#[from] lockless_wasm::Error),
    /// The server could not be talked to.
    #[error("Redis: {0}")]
    Redis(#[from] redis::RedisError),
    /// A reply of a kind that RESP2 does not have.
    #[error("unexpected reply: {0}")]
    UnexpectedReply(String),
    /// A snapshot of another kind of host.
    #[error("the snapshot is another host's")]
    ForeignSnapshot,
    /// A spec file could not be read.
    #[error("{}: {source}", path.display())]
    SpecFile {
        /// The file or folder.
        path: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
}
