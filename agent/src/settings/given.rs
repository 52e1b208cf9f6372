//! What flags, variables and the configuration file give. All have the same names; the flag goes before the variable, and
//! that before the file.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::allow::Allowed;
use crate::deployments::Policy;

/// The library's largest weight.
pub(super) const WEIGHT_LIMIT: f64 = 1e6;

/// What the agent is told, by whichever way.
#[derive(Default, Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Given {
    /// The node's name (default: the machine's)
    #[arg(long, env = "LOCKLESS_NODE")]
    pub node: Option<String>,
    /// The cell it works in (default: scheduler:{main})
    #[arg(long, env = "LOCKLESS_CELL")]
    pub cell: Option<String>,
    /// Redis: redis://, rediss://, redis+sentinel://host[,host]/name or rediss+sentinel://; of a Cluster any node will do (default: redis://127.0.0.1:6379)
    #[arg(
        long,
        env = "LOCKLESS_REDIS_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub redis: Option<String>,
    /// The user, if the URL names none
    #[arg(long, env = "LOCKLESS_REDIS_USER", value_name = "USER")]
    pub redis_user: Option<String>,
    /// The password, if the URL has none; better as a variable
    #[arg(
        long,
        env = "LOCKLESS_REDIS_PASSWORD",
        hide_env_values = true,
        value_name = "PASSWORD"
    )]
    pub redis_password: Option<String>,
    /// The user at the Sentinels
    #[arg(long, env = "LOCKLESS_SENTINEL_USER", value_name = "USER")]
    pub sentinel_user: Option<String>,
    /// The password at the Sentinels; better as a variable
    #[arg(
        long,
        env = "LOCKLESS_SENTINEL_PASSWORD",
        hide_env_values = true,
        value_name = "PASSWORD"
    )]
    pub sentinel_password: Option<String>,
    /// The authority to trust for rediss://, as PEM, instead of the system's
    #[arg(long, env = "LOCKLESS_REDIS_TLS_CA", value_name = "FILE")]
    pub redis_tls_ca: Option<PathBuf>,
    /// The agent's certificate for Redis, as PEM
    #[arg(long, env = "LOCKLESS_REDIS_TLS_CERT", value_name = "FILE")]
    pub redis_tls_cert: Option<PathBuf>,
    /// Its key, as PEM
    #[arg(long, env = "LOCKLESS_REDIS_TLS_KEY", value_name = "FILE")]
    pub redis_tls_key: Option<PathBuf>,
    /// A gateway instead of Redis: http:// or https://, host and port
    #[arg(long, env = "LOCKLESS_GATEWAY", value_name = "URL")]
    pub gateway: Option<String>,
    /// The file with the token for the gateway
    #[arg(long, env = "LOCKLESS_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The token itself; only as a variable or in the file of --config
    #[arg(long, env = "LOCKLESS_TOKEN", hide = true, hide_env_values = true)]
    pub token: Option<String>,
    /// The authority to trust for https://, as PEM, instead of the system's
    #[arg(long, env = "LOCKLESS_GATEWAY_TLS_CA", value_name = "FILE")]
    pub gateway_tls_ca: Option<PathBuf>,
    /// How many jobs at once (default: the cell's max_jobs_default)
    #[arg(long, env = "LOCKLESS_MAX_JOBS", value_parser = clap::value_parser!(u32).range(1..=100_000), value_name = "N")]
    pub max_jobs: Option<u32>,
    /// A pool it belongs to; may be repeated (default: default)
    #[arg(
        long = "pool",
        env = "LOCKLESS_POOLS",
        value_delimiter = ',',
        value_name = "POOL"
    )]
    pub pools: Vec<String>,
    /// A language pair it serves, as src:tgt; may be repeated
    #[arg(
        long = "pair",
        env = "LOCKLESS_PAIRS",
        value_delimiter = ',',
        value_name = "SRC:TGT"
    )]
    pub pairs: Vec<String>,
    /// A label that jobs can require; may be repeated
    #[arg(
        long = "label",
        env = "LOCKLESS_LABELS",
        value_delimiter = ',',
        value_name = "LABEL"
    )]
    pub labels: Vec<String>,
    /// The region it is in
    #[arg(long, env = "LOCKLESS_REGION")]
    pub region: Option<String>,
    /// A program that jobs may run, by its path; may be repeated. In the file: [[allow]] with path = "..."
    #[arg(long, env = "LOCKLESS_ALLOW", value_delimiter = ',', value_parser = allowed, value_name = "PATH")]
    pub allow: Vec<Allowed>,
    /// Time between two ticks, which bring jobs from the queue; 0: only pushed jobs are taken (default: 1000)
    #[arg(long, env = "LOCKLESS_TICK_MS", value_parser = clap::value_parser!(u64).range(0..=600_000), value_name = "MS")]
    pub tick_ms: Option<u64>,
    /// Time between asking a job's processes to end and killing them (default: 5000)
    #[arg(long, env = "LOCKLESS_STOP_GRACE_MS", value_parser = clap::value_parser!(u64).range(0..=600_000), value_name = "MS")]
    pub stop_grace_ms: Option<u64>,
    /// Time that killed processes have to be gone, until the stop is reported as failed (default: 5000)
    #[arg(long, env = "LOCKLESS_KILL_WAIT_MS", value_parser = clap::value_parser!(u64).range(1..=600_000), value_name = "MS")]
    pub kill_wait_ms: Option<u64>,
    /// Time that running jobs have to end by themselves at SIGTERM (default: 30000)
    #[arg(long, env = "LOCKLESS_DRAIN_TIMEOUT_MS", value_parser = clap::value_parser!(u64).range(0..=86_400_000), value_name = "MS")]
    pub drain_timeout_ms: Option<u64>,
    /// Where running jobs are recorded; each agent needs its own (default: NODE in $RUNTIME_DIRECTORY or $XDG_RUNTIME_DIR/lockless-agent, or else below /tmp)
    #[arg(long, env = "LOCKLESS_STATE_DIR", value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Read samples from this JSON file (mem, used_mb, total_mb, avail_mb, swap, cpu, gpu_used_mb, gpu_total_mb) instead of taking them
    #[arg(long, env = "LOCKLESS_SAMPLE_FROM", value_name = "FILE")]
    pub sample_from: Option<PathBuf>,
    /// Start nothing: log each job, and report it as finished
    #[arg(long, env = "LOCKLESS_DRY_RUN", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub dry_run: Option<bool>,
    /// Run deployments: claim free ones, and run what the cell says that the node has
    #[arg(long, env = "LOCKLESS_DEPLOYMENTS", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub deployments: Option<bool>,
    /// Time between two claims of deployments; after one that got something the next comes after a tenth of it (default: 5000)
    #[arg(long, env = "NODE_UNIT_SCHEDULER_INTERVAL_MS", value_parser = clap::value_parser!(u64).range(100..=3_600_000), value_name = "MS")]
    pub claim_interval_ms: Option<u64>,
    /// How nodes are compared when this one claims (default: the cell's claim_policy)
    #[arg(
        long,
        env = "NODE_UNIT_CLAIM_POLICY",
        value_enum,
        value_name = "POLICY"
    )]
    pub claim_policy: Option<Policy>,
    /// What the cell's cpu_weight is set to at the start
    #[arg(long, env = "NODE_UNIT_CPU_WEIGHT", value_parser = weight, value_name = "NUMBER")]
    pub cpu_weight: Option<f64>,
    /// What the cell's mem_weight is set to at the start
    #[arg(long, env = "NODE_UNIT_MEMORY_WEIGHT", value_parser = weight, value_name = "NUMBER")]
    pub mem_weight: Option<f64>,
    /// Where deployments' output goes, a file for each (default: logs in the state directory)
    #[arg(long, env = "LOCKLESS_LOG_DIR", value_name = "DIR")]
    pub log_dir: Option<PathBuf>,
    /// When such a file is put aside and a new one begun (default: 10485760)
    #[arg(long, env = "LOCKLESS_LOG_MAX_BYTES", value_parser = clap::value_parser!(u64).range(1024..), value_name = "BYTES")]
    pub log_max_bytes: Option<u64>,
    /// How many of them are kept of each deployment (default: 5)
    #[arg(long, env = "LOCKLESS_LOG_FILES", value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "N")]
    pub log_files: Option<u32>,
    /// What to log: error, warn, info, debug, or a filter such as lockless_agent=debug (default: info)
    #[arg(long, env = "LOCKLESS_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// How to write the log, on standard error (default: text)
    #[arg(long, env = "LOCKLESS_LOG_FORMAT", value_enum)]
    pub log_format: Option<LogFormat>,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object per line
    Json,
}

fn allowed(path: &str) -> Result<Allowed, String> {
    Ok(Allowed {
        path: path.into(),
        ..Allowed::default()
    })
}

fn weight(text: &str) -> Result<f64, String> {
    let weight = text.parse::<f64>().ok();
    weight
        .filter(|weight| (0.0..=WEIGHT_LIMIT).contains(weight))
        .ok_or_else(|| format!("it takes a number from 0 to {WEIGHT_LIMIT}"))
}

macro_rules! first_of {
    ($over:ident, $under:ident, one: $($one:ident)*, many: $($many:ident)*) => {
        Given {
            $($one: $over.$one.or($under.$one),)*
            $($many: if $over.$many.is_empty() { $under.$many } else { $over.$many },)*
        }
    };
}

impl Given {
    /// What is said here, and what is said there where nothing is said here. A list replaces the other one.
    pub fn or(self, other: Self) -> Self {
        first_of!(self, other,
            one: node cell redis redis_user redis_password sentinel_user sentinel_password redis_tls_ca redis_tls_cert
                redis_tls_key gateway token_file token gateway_tls_ca max_jobs region tick_ms stop_grace_ms kill_wait_ms
                drain_timeout_ms state_dir sample_from dry_run deployments claim_interval_ms claim_policy cpu_weight
                mem_weight log_dir log_max_bytes log_files log log_format,
            many: pools pairs labels allow)
    }
}

impl std::fmt::Debug for Given {
    // There are secrets in it.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Given").finish_non_exhaustive()
    }
}
