//! The command line. Every flag is an environment variable as well.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::auth::Role;
use crate::marshal::WAIT_MS_LIMIT;
use crate::transport::{TlsFiles, TransportSettings};
use lockless_client::backend::{Durability, RedisSettings};

const EXAMPLES: &str = "\
Examples:
  lockless-gateway --deploy
      Serve http://127.0.0.1:8080 from the Redis on this machine, and load the library into it
  lockless-gateway --redis rediss://user:password@redis.internal:6380 --redis-tls-ca ca.pem
  lockless-gateway --redis redis+sentinel://s1,s2,s3/mymaster
  lockless-gateway --listen 0.0.0.0:8443 --tokens tokens.txt --tls-cert cert.pem --tls-key key.pem
  lockless-gateway token --role node --name worker-7 --node worker-7
      Make a token for one node, and the line for tokens.txt";

/// What the gateway is started with.
#[derive(Debug, Parser)]
#[command(
    name = "lockless-gateway",
    version,
    about = "HTTP for Lockless, the scheduler that lives inside Redis",
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    /// Something else than serving.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to serve.
    #[command(flatten)]
    pub serve: Serve,
}

/// Something else than serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a bearer token, and the line for the token file
    Token(Token),
}

/// A token to be made.
#[derive(Debug, Args)]
pub struct Token {
    /// What its holder may do
    #[arg(long, value_parser = role)]
    pub role: Role,
    /// A name for the log
    #[arg(long)]
    pub name: String,
    /// Limit a node's token to this node
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
}

/// How to serve.
#[derive(Debug, Args)]
pub struct Serve {
    /// Where to listen; without tokens only on loopback. Port 0: any free one
    #[arg(
        long,
        env = "LOCKLESS_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS"
    )]
    pub listen: SocketAddr,
    /// The cell of requests that name none; further ones may be named by requests, with * for any text: 'tenant:{*}'
    #[arg(
        long = "cell",
        env = "LOCKLESS_CELLS",
        value_delimiter = ',',
        default_value = "scheduler:{main}",
        value_name = "CELL"
    )]
    pub cells: Vec<String>,
    /// Threads that serve (default: one per core)
    #[arg(long, env = "LOCKLESS_THREADS", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Redis.
    #[command(flatten)]
    pub redis: Redis,
    /// Callers.
    #[command(flatten)]
    pub callers: Callers,
    /// Limits.
    #[command(flatten)]
    pub limits: Limits,
    /// The log.
    #[command(flatten)]
    pub log: Log,
}

/// Redis.
#[derive(Args)]
#[command(next_help_heading = "Redis")]
pub struct Redis {
    /// redis://, rediss://, redis+sentinel://host[,host]/name or rediss+sentinel://; of a Cluster any node will do
    #[arg(
        long = "redis",
        env = "LOCKLESS_REDIS_URL",
        hide_env_values = true,
        default_value = "redis://127.0.0.1:6379",
        value_name = "URL"
    )]
    pub url: String,
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
    #[arg(long = "redis-pool", env = "LOCKLESS_REDIS_POOL", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    pub pool: u16,
    /// The time a call may take
    #[arg(long = "redis-timeout-ms", env = "LOCKLESS_REDIS_TIMEOUT_MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=600_000), value_name = "MS")]
    pub timeout_ms: u64,
    /// The time making a connection may take
    #[arg(long = "redis-connect-timeout-ms", env = "LOCKLESS_REDIS_CONNECT_TIMEOUT_MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=600_000), value_name = "MS")]
    pub connect_timeout_ms: u64,
    /// Whose confirmation a write needs, unless the request says otherwise with Prefer: durability=...
    #[arg(long, env = "LOCKLESS_DURABILITY", value_enum, default_value_t = Wanted::Primary)]
    pub durability: Wanted,
    /// The time a replica has to confirm
    #[arg(long, env = "LOCKLESS_DURABILITY_TIMEOUT_MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=600_000), value_name = "MS")]
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

/// Callers.
#[derive(Args)]
#[command(next_help_heading = "Callers")]
pub struct Callers {
    /// The tokens that are accepted; read again on SIGHUP
    #[arg(long = "tokens", env = "LOCKLESS_TOKENS_FILE", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The same, as text
    #[arg(
        long = "tokens-text",
        env = "LOCKLESS_TOKENS",
        hide = true,
        hide_env_values = true,
        conflicts_with = "file"
    )]
    pub text: Option<String>,
    /// The certificate to serve TLS with, as PEM; read again on SIGHUP
    #[arg(
        long,
        env = "LOCKLESS_TLS_CERT",
        requires = "tls_key",
        value_name = "FILE"
    )]
    pub tls_cert: Option<PathBuf>,
    /// Its key, as PEM
    #[arg(
        long,
        env = "LOCKLESS_TLS_KEY",
        requires = "tls_cert",
        value_name = "FILE"
    )]
    pub tls_key: Option<PathBuf>,
}

impl std::fmt::Debug for Callers {
    // There may be tokens in it.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Callers").finish_non_exhaustive()
    }
}

/// Limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Connections at once
    #[arg(long, env = "LOCKLESS_MAX_CONNECTIONS", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub max_connections: u32,
    /// Size of a body
    #[arg(long, env = "LOCKLESS_MAX_BODY_BYTES", default_value_t = 1024 * 1024 + 64 * 1024, value_parser = clap::value_parser!(u64).range(1024..=1 << 30), value_name = "BYTES")]
    pub max_body_bytes: u64,
    /// The time a request's head may take
    #[arg(long, env = "LOCKLESS_HEADER_TIMEOUT_MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=600_000), value_name = "MS")]
    pub header_timeout_ms: u64,
    /// The time a request's body may take
    #[arg(long, env = "LOCKLESS_BODY_TIMEOUT_MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=600_000), value_name = "MS")]
    pub body_timeout_ms: u64,
    /// The time a request may take in all, its wait_ms aside
    #[arg(long, env = "LOCKLESS_REQUEST_TIMEOUT_MS", default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..=600_000), value_name = "MS")]
    pub request_timeout_ms: u64,
    /// The longest wait_ms; keep it below the time-out of a proxy in front
    #[arg(long, env = "LOCKLESS_MAX_WAIT_MS", default_value_t = WAIT_MS_LIMIT, value_parser = clap::value_parser!(u64).range(0..=WAIT_MS_LIMIT), value_name = "MS")]
    pub max_wait_ms: u64,
    /// The time a connection may stay open between requests
    #[arg(long, env = "LOCKLESS_IDLE_TIMEOUT_MS", default_value_t = 75_000, value_parser = clap::value_parser!(u64).range(1..=3_600_000), value_name = "MS")]
    pub idle_timeout_ms: u64,
    /// The time requests under way have at shutdown
    #[arg(long, env = "LOCKLESS_SHUTDOWN_MS", default_value_t = 9_000, value_parser = clap::value_parser!(u64).range(0..=600_000), value_name = "MS")]
    pub shutdown_ms: u64,
}

/// The log.
#[derive(Debug, Args)]
#[command(next_help_heading = "Log")]
pub struct Log {
    /// What to log: error, warn, info, debug (every request), or a filter such as lockless_gateway=debug
    #[arg(
        long = "log",
        env = "LOCKLESS_LOG",
        default_value = "info",
        value_name = "FILTER"
    )]
    pub filter: String,
    /// How to write it, on standard error
    #[arg(long, env = "LOCKLESS_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object per line
    Json,
}

fn role(word: &str) -> Result<Role, String> {
    Role::from_word(word).ok_or_else(|| "takes node, client or operator".to_owned())
}

impl Serve {
    /// For the sockets.
    pub fn transport(&self) -> TransportSettings {
        let ms = Duration::from_millis;
        let limits = &self.limits;
        let files = self
            .callers
            .tls_cert
            .clone()
            .zip(self.callers.tls_key.clone());
        TransportSettings {
            tls: files.map(|(cert, key)| TlsFiles { cert, key }),
            header_read_timeout: ms(limits.header_timeout_ms),
            body_read_timeout: ms(limits.body_timeout_ms),
            request_timeout: ms(limits.request_timeout_ms),
            idle_timeout: ms(limits.idle_timeout_ms),
            max_connections: usize::try_from(limits.max_connections).unwrap_or(usize::MAX),
            max_body_bytes: limits.max_body_bytes,
            shutdown_grace: ms(limits.shutdown_ms),
            ..TransportSettings::new(self.listen)
        }
    }
}

impl Redis {
    /// For the connections to Redis.
    pub fn settings(&self) -> RedisSettings {
        RedisSettings {
            url: self.url.clone(),
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
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_is_a_variable_too() {
        for argument in Cli::command().get_arguments() {
            let name = argument.get_id().as_str();
            if !["help", "version"].contains(&name) {
                assert!(argument.get_env().is_some(), "{name} has no variable");
            }
        }
    }

    #[test]
    fn no_secret_is_shown() {
        let cli = Cli::parse_from([
            "gateway",
            "--redis",
            "redis://:hunter2@host",
            "--redis-password",
            "hunter2",
        ]);
        assert!(!format!("{cli:?} {:?}", cli.serve.redis.settings()).contains("hunter2"));
    }
}
