//! What is said about Redis.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lockless_client::backend::{Durability, RedisSettings};

const POOL: u16 = 1;
const TIMEOUT_MS: u64 = 2000;
const CONNECT_TIMEOUT_MS: u64 = 1000;
const DURABILITY_TIMEOUT_MS: u64 = 1000;

/// Redis.
#[derive(Args)]
#[command(next_help_heading = "Redis")]
pub struct Redis {
    /// redis://, rediss://, redis+sentinel://host[,host]/name or rediss+sentinel://; of a Cluster any node will do
    #[arg(
        long = "redis",
        env = "LOCKLESS_REDIS_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub url: Option<String>,
    /// The user, if the URL names none
    #[arg(long = "redis-user", env = "LOCKLESS_REDIS_USER", value_name = "USER")]
    pub user: Option<String>,
    /// The password, if the URL has none; better as a variable
    #[arg(
        long = "redis-password",
        env = "LOCKLESS_REDIS_PASSWORD",
        hide_env_values = true,
        value_name = "PASSWORD"
    )]
    pub password: Option<String>,
    /// The user at the Sentinels
    #[arg(
        long = "sentinel-user",
        env = "LOCKLESS_SENTINEL_USER",
        value_name = "USER"
    )]
    pub sentinel_user: Option<String>,
    /// The password at the Sentinels; better as a variable
    #[arg(
        long = "sentinel-password",
        env = "LOCKLESS_SENTINEL_PASSWORD",
        hide_env_values = true,
        value_name = "PASSWORD"
    )]
    pub sentinel_password: Option<String>,
    /// Load the library where it is missing or older
    #[arg(long, env = "LOCKLESS_DEPLOY")]
    pub deploy: bool,
    /// Connections for ordinary calls, of each thread to each primary
    #[arg(long = "redis-pool", env = "LOCKLESS_REDIS_POOL", default_value_t = POOL, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    pub pool: u16,
    /// The time a call may take
    #[arg(long = "redis-timeout-ms", env = "LOCKLESS_REDIS_TIMEOUT_MS", default_value_t = TIMEOUT_MS, value_parser = clap::value_parser!(u64).range(1..=600_000), value_name = "MS")]
    pub timeout_ms: u64,
    /// The time making a connection may take
    #[arg(long = "redis-connect-timeout-ms", env = "LOCKLESS_REDIS_CONNECT_TIMEOUT_MS", default_value_t = CONNECT_TIMEOUT_MS, value_parser = clap::value_parser!(u64).range(1..=600_000), value_name = "MS")]
    pub connect_timeout_ms: u64,
    /// Whose confirmation a write needs, unless the request says otherwise with Prefer: durability=...
    #[arg(long, env = "LOCKLESS_DURABILITY", value_enum, default_value_t = Wanted::Primary)]
    pub durability: Wanted,
    /// The time a replica has to confirm
    #[arg(long, env = "LOCKLESS_DURABILITY_TIMEOUT_MS", default_value_t = DURABILITY_TIMEOUT_MS, value_parser = clap::value_parser!(u64).range(1..=600_000), value_name = "MS")]
    pub durability_timeout_ms: u64,
    /// The authority to trust, as PEM, instead of the system's
    #[arg(
        id = "redis_tls_ca",
        long = "redis-tls-ca",
        env = "LOCKLESS_REDIS_TLS_CA",
        value_name = "FILE"
    )]
    pub tls_ca: Option<PathBuf>,
    /// The gateway's certificate for Redis, as PEM
    #[arg(
        id = "redis_tls_cert",
        long = "redis-tls-cert",
        requires = "redis_tls_key",
        env = "LOCKLESS_REDIS_TLS_CERT",
        value_name = "FILE"
    )]
    pub tls_cert: Option<PathBuf>,
    /// Its key, as PEM
    #[arg(
        id = "redis_tls_key",
        long = "redis-tls-key",
        requires = "redis_tls_cert",
        env = "LOCKLESS_REDIS_TLS_KEY",
        value_name = "FILE"
    )]
    pub tls_key: Option<PathBuf>,
    /// Trust any certificate of Redis
    #[arg(long = "redis-insecure", env = "LOCKLESS_REDIS_INSECURE")]
    pub insecure: bool,
}

impl std::fmt::Debug for Redis {
    // There are passwords in it.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Redis").finish_non_exhaustive()
    }
}

/// Whose confirmation a write needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wanted {
    /// The primary's
    Primary,
    /// A replica's as well
    Replica,
}

impl Redis {
    /// The first flag that was given beside the URL, if one was.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let flags = [
            ("--deploy", self.deploy),
            ("--redis-user", self.user.is_some()),
            ("--redis-password", self.password.is_some()),
            ("--sentinel-user", self.sentinel_user.is_some()),
            ("--sentinel-password", self.sentinel_password.is_some()),
            ("--redis-pool", self.pool != POOL),
            ("--redis-timeout-ms", self.timeout_ms != TIMEOUT_MS),
            (
                "--redis-connect-timeout-ms",
                self.connect_timeout_ms != CONNECT_TIMEOUT_MS,
            ),
            ("--durability", self.durability != Wanted::Primary),
            (
                "--durability-timeout-ms",
                self.durability_timeout_ms != DURABILITY_TIMEOUT_MS,
            ),
            ("--redis-tls-ca", self.tls_ca.is_some()),
            ("--redis-tls-cert", self.tls_cert.is_some()),
            ("--redis-tls-key", self.tls_key.is_some()),
            ("--redis-insecure", self.insecure),
        ];
        flags
            .iter()
            .find(|(_, given)| *given)
            .map(|(flag, _)| *flag)
    }

    /// For the connections to Redis.
    pub(super) fn settings(&self, url: &str) -> RedisSettings {
        RedisSettings {
            url: url.to_owned(),
            user: self.user.clone(),
            password: self.password.clone(),
            sentinel_user: self.sentinel_user.clone(),
            sentinel_password: self.sentinel_password.clone(),
            tls_ca: self.tls_ca.clone(),
            tls_cert: self.tls_cert.clone(),
            tls_key: self.tls_key.clone(),
            insecure: self.insecure,
            pool_size: usize::from(self.pool),
            connect_timeout: Duration::from_millis(self.connect_timeout_ms),
            call_timeout: Duration::from_millis(self.timeout_ms),
            wait_timeout: Duration::from_millis(self.durability_timeout_ms),
            deploy: self.deploy,
        }
    }
}

impl From<Wanted> for Durability {
    fn from(wanted: Wanted) -> Self {
        match wanted {
            Wanted::Primary => Self::Primary,
            Wanted::Replica => Self::Replica,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::settings::Cli;

    #[test]
    fn no_secret_is_shown() {
        let url = "redis://:hunter2@host";
        let cli = Cli::parse_from(["gateway", "--redis", url, "--redis-password", "hunter2"]);
        let settings = cli.serve.redis.settings(url);
        assert!(!format!("{cli:?} {settings:?}").contains("hunter2"));
    }
}
