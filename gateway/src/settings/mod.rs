//! The command line. Every flag is an environment variable as well.

#[cfg(feature = "embedded")]
mod embedded;
mod redis;

#[cfg(feature = "embedded")]
pub use embedded::Embedded;
pub use redis::{Redis, Wanted};

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::auth::Role;
use crate::marshal::WAIT_MS_LIMIT;
use crate::transport::{TlsFiles, TransportSettings};
#[cfg(feature = "embedded")]
use lockless_client::backend::EmbeddedSettings;
use lockless_client::backend::RedisSettings;

const EXAMPLES: &str = "\
Examples:
  lockless-gateway --state lockless.state
      Serve http://127.0.0.1:8080 without a Redis; the state is kept in that file (needs the feature embedded)
  lockless-gateway --redis redis://127.0.0.1:6379 --deploy
      Serve it from the Redis on this machine, and load the library into that
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
    /// Read the pages from their sources, for working on them: gateway/pages
    #[arg(long, env = "LOCKLESS_PAGES", value_name = "DIR")]
    pub pages: Option<PathBuf>,
    /// Redis.
    #[command(flatten)]
    pub redis: Redis,
    /// Without Redis.
    #[cfg(feature = "embedded")]
    #[command(flatten)]
    pub embedded: Embedded,
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
    /// Memory for the bodies of all requests together; what does not fit is refused with TOO_BUSY
    #[arg(long, env = "LOCKLESS_BODY_MEMORY_MB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1 << 20), value_name = "MB")]
    pub body_memory_mb: u64,
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

/// Where the library is, as far as the command line says.
pub enum Hosting {
    /// In Redis.
    Redis(Box<RedisSettings>),
    /// In this process.
    #[cfg(feature = "embedded")]
    Embedded(EmbeddedSettings),
}

impl Serve {
    /// Where the library is. The error is a sentence: a flag that says nothing there is a mistake.
    pub fn hosting(&self) -> Result<Hosting, String> {
        if let Some(url) = &self.redis.url {
            #[cfg(feature = "embedded")]
            if let Some(flag) = self.embedded.first_given() {
                return Err(format!(
                    "{flag} is for the embedded scheduler: with --redis the state is in Redis"
                ));
            }
            return Ok(Hosting::Redis(Box::new(self.redis.settings(url))));
        }
        if let Some(flag) = self.redis.first_given() {
            return Err(format!(
                "{flag} is about a Redis, and none is named: add --redis URL, such as redis://127.0.0.1:6379"
            ));
        }
        #[cfg(feature = "embedded")]
        return Ok(Hosting::Embedded(self.embedded.settings()));
        #[cfg(not(feature = "embedded"))]
        Err("this gateway was built without the embedded scheduler: name a Redis with --redis URL, such as redis://127.0.0.1:6379".to_owned())
    }

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
            body_memory_bytes: limits.body_memory_mb << 20,
            shutdown_grace: ms(limits.shutdown_ms),
            ..TransportSettings::new(self.listen)
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

    fn hosting(flags: &[&str]) -> Result<Hosting, String> {
        let words = std::iter::once("gateway").chain(flags.iter().copied());
        Cli::parse_from(words).serve.hosting()
    }

    #[test]
    fn flags_that_say_nothing_about_the_chosen_host_are_refused() {
        let of_redis: &[&[&str]] = &[
            &["--deploy"],
            &["--redis-user", "u"],
            &["--redis-password", "p"],
            &["--sentinel-user", "u"],
            &["--sentinel-password", "p"],
            &["--redis-pool", "2"],
            &["--redis-timeout-ms", "5"],
            &["--redis-connect-timeout-ms", "5"],
            &["--durability", "replica"],
            &["--durability-timeout-ms", "5"],
            &["--redis-tls-ca", "f"],
            &["--redis-tls-cert", "f", "--redis-tls-key", "f"],
            &["--redis-insecure"],
        ];
        for flags in of_redis {
            let refused = hosting(flags).err().unwrap_or_default();
            assert!(refused.starts_with(flags[0]), "{flags:?}: {refused}");
            let with_redis = [*flags, &["--redis", "redis://x"]].concat();
            assert!(matches!(hosting(&with_redis), Ok(Hosting::Redis(_))));
        }
    }

    #[test]
    #[cfg(feature = "embedded")]
    fn without_a_redis_the_scheduler_is_embedded() {
        assert!(matches!(hosting(&[]), Ok(Hosting::Embedded(_))));
        for flags in [
            &["--state", "f", "--redis", "redis://x"],
            &["--embedded-memory-mb", "64", "--redis", "redis://x"],
        ] {
            let refused = hosting(flags).err().unwrap_or_default();
            assert!(refused.starts_with(flags[0]), "{flags:?}: {refused}");
        }
    }

    #[test]
    #[cfg(not(feature = "embedded"))]
    fn without_a_redis_there_is_nothing_to_serve() {
        let refused = hosting(&[]).err().unwrap_or_default();
        assert!(refused.contains("--redis URL"), "{refused}");
    }
}
