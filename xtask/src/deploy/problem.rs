//! What can keep the library from being deployed, each as one sentence that says what to do.

use std::path::PathBuf;

use lockless_topology::Address;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error(transparent)]
    Url(#[from] lockless_topology::BadUrl),

    #[error("{option} {path} could not be read: {source}.")]
    TlsFile {
        option: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },

    #[error("--tls-cert and --tls-key belong together: give both.")]
    HalfClientCertificate,

    #[error("{0} is for TLS: give a URL that begins with rediss://.")]
    TlsOptionWithoutTls(&'static str),

    #[error("There is no server at {address}: {reason}.")]
    Unreachable { address: Address, reason: String },

    #[error(
        "{address} closed the connection; a server that expects TLS does so, and its URL begins with rediss://."
    )]
    Closed { address: Address },

    #[error("{address} did not answer within {seconds} s.")]
    NoAnswer { address: Address, seconds: u64 },

    #[error(
        "No TLS connection to {address} could be made: {reason}; --tls-ca names the authority to trust."
    )]
    Tls { address: Address, reason: String },

    #[error("{address} asks for a password: put it into the URL or into LOCKLESS_REDIS_PASSWORD.")]
    PasswordNeeded { address: Address },

    #[error("The Sentinel {address} asks for a password: put it into LOCKLESS_SENTINEL_PASSWORD.")]
    SentinelPasswordNeeded { address: Address },

    #[error("{address} refused the user or the password.")]
    WrongPassword { address: Address },

    #[error("The user is not allowed to do this on {address}, whose answer was: {answer}.")]
    NoPermission { address: Address, answer: String },

    #[error("{address} runs Redis {version}, and Functions need 7.0 or later.")]
    TooOld { address: Address, version: String },

    #[error("{address} has no Redis Functions: it does not know the command FUNCTION.")]
    NoFunctions { address: Address },

    #[error("{address} is a read-only replica: deploy to its primary, {primary}.")]
    Replica { address: Address, primary: String },

    #[error(
        "{address} is a Sentinel: give its address as redis+sentinel://{address}/<name of the primary>."
    )]
    IsSentinel { address: Address },

    #[error("{address} is part of a Cluster that has no primaries.")]
    NoPrimaries { address: Address },

    #[error("No Sentinel answered: {0}")]
    NoSentinel(String),

    #[error("The Sentinels know no primary called {0}.")]
    UnknownPrimary(String),

    #[error(
        "{address} has the newer version {installed}, and this is {own}: --force replaces it all the same."
    )]
    Newer {
        address: Address,
        installed: String,
        own: &'static str,
    },

    #[error("{address} has another library called lockless: --force replaces it all the same.")]
    Foreign { address: Address },

    #[error("{address} refused {command}: {answer}.")]
    Refused {
        address: Address,
        command: &'static str,
        answer: String,
    },

    #[error("{address} took the library, but then {found} was there.")]
    NotVerified { address: Address, found: String },

    #[error("The backup {path} could not be {action}: {source}.")]
    Backup {
        path: PathBuf,
        action: &'static str,
        source: std::io::Error,
    },

    #[error("The backup {0} is incomplete and was not used.")]
    BrokenBackup(PathBuf),

    #[error("{} has no backup for {primaries}.", dir.display())]
    NoBackup { dir: PathBuf, primaries: String },

    #[error("{0}")]
    Several(String),
}
