//! The agent's settings: what is given, with defaults for the rest, checked.

mod deploying;
mod given;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use lockless_client::backend::RedisSettings;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

pub use self::given::{Given, LogFormat};
use crate::allow::AllowList;
use crate::cell::GatewaySettings;
use crate::deployments::Deploying;

const EXAMPLES: &str = "\
Examples:
  lockless-agent --allow /bin/sleep --allow /usr/bin/sha256sum
      Be a node of the cell in the Redis on this machine, whose jobs may run these two programs
  lockless-agent --gateway https://gateway.internal:8443 --token-file token.txt --config agent.toml
  lockless-agent --config agent.toml --print-config
      Show what it would run with

A job's payload names its command: {\"argv\": [\"sleep\", \"5\"], \"env\": {}, \"cwd\": \"/tmp\", \"timeout_ms\": 60000}
A deployment's SPEC as well: {\"argv\": [\"sleep\", \"5\"], \"restart\": \"always\", \"restart_backoff_ms\": 1000}";

/// What the agent is started with.
#[derive(Debug, Parser)]
#[command(
    name = "lockless-agent",
    version,
    about = "The node side of Lockless: heartbeats, runs and stops jobs and deployments, samples the machine",
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    /// Something else than being a node.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// A TOML file with the same names as the flags, '-' written as '_' and lists in the plural; flags go first
    #[arg(long, env = "LOCKLESS_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print the settings as such a file, without secrets, and end
    #[arg(long)]
    pub print_config: bool,
    /// The settings.
    #[command(flatten)]
    pub given: Given,
}

/// Something else than being a node.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Guards one job; the agent starts this by itself
    #[command(hide = true)]
    Guard,
}

/// The settings, whole and checked.
pub struct Settings {
    /// The node's name.
    pub node: String,
    /// The cell's root key.
    pub cell: String,
    /// How the cell is reached.
    pub way: Way,
    /// Slots; none for the cell's default.
    pub max_jobs: Option<u32>,
    /// Pools.
    pub pools: Vec<String>,
    /// Language pairs, source and target in turn.
    pub languages: Vec<String>,
    /// Labels.
    pub labels: Vec<String>,
    /// Region.
    pub region: Option<String>,
    /// What may run.
    pub allow: AllowList,
    /// Time between ticks; none: no ticks.
    pub tick: Option<Duration>,
    /// Between terminating and killing.
    pub stop_grace: Duration,
    /// Between killing and giving up.
    pub kill_wait: Duration,
    /// For jobs to end by themselves.
    pub drain_timeout: Duration,
    /// Where runs are recorded.
    pub state_dir: PathBuf,
    /// Samples from a file.
    pub sample_from: Option<PathBuf>,
    /// Start nothing.
    pub dry_run: bool,
    /// How it runs deployments; none: it does not.
    pub deploying: Option<Deploying>,
}

/// How the cell is reached.
pub enum Way {
    /// Directly.
    Redis(Box<RedisSettings>),
    /// By a gateway.
    Gateway(GatewaySettings),
}

impl Cli {
    /// Reads the command line, the program's name first, and the variables.
    pub fn from_words<Word: Into<OsString> + Clone>(
        words: impl IntoIterator<Item = Word>,
    ) -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches_from(words)?;
        if matches.value_source("token") == Some(ValueSource::CommandLine) {
            return Err(Self::command().error(
                ErrorKind::ArgumentConflict,
                "--token is not taken as a flag, because everyone on the machine can read those: use --token-file or LOCKLESS_TOKEN",
            ));
        }
        Self::from_arg_matches(&matches)
    }

    /// What flags, variables and the file say together.
    pub fn read(self) -> Result<Given, String> {
        let Some(path) = &self.config else {
            return Ok(self.given);
        };
        let cannot = |why: String| format!("--config {} can't be used: {why}", path.display());
        let text = fs::read_to_string(path).map_err(|error| cannot(error.to_string()))?;
        let file = toml::from_str(&text).map_err(|error| cannot(mistake(&text, &error)))?;
        Ok(self.given.or(file))
    }
}

/// What is wrong and where, without the line itself, which may hold a secret.
fn mistake(text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|one| *one != '\n').count() + 1;
    format!("line {line}, column {column}: {}", error.message())
}

impl Settings {
    /// Checks what was given. The error is a sentence for the user.
    pub fn new(given: &Given) -> Result<Self, String> {
        let ms = |given: Option<u64>, default| Duration::from_millis(given.unwrap_or(default));
        let node = given.node.clone().map_or_else(machine_name, Ok)?;
        let mut languages = Vec::new();
        for pair in &given.pairs {
            let (source, target) = pair
                .split_once(':')
                .ok_or_else(|| format!("--pair takes two languages as src:tgt, given '{pair}'"))?;
            languages.extend([source.to_owned(), target.to_owned()]);
        }
        let state_dir = given
            .state_dir
            .clone()
            .unwrap_or_else(|| default_state_dir(&node));
        Ok(Self {
            deploying: deploying::read(given, &state_dir)?,
            cell: given
                .cell
                .clone()
                .unwrap_or_else(|| "scheduler:{main}".to_owned()),
            way: way(given)?,
            max_jobs: given.max_jobs,
            pools: given.pools.clone(),
            languages,
            labels: given.labels.clone(),
            region: given.region.clone(),
            allow: AllowList::new(&given.allow)?,
            tick: Some(ms(given.tick_ms, 1000)).filter(|tick| !tick.is_zero()),
            stop_grace: ms(given.stop_grace_ms, 5000),
            kill_wait: ms(given.kill_wait_ms, 5000),
            drain_timeout: ms(given.drain_timeout_ms, 30_000),
            state_dir,
            sample_from: given.sample_from.clone(),
            dry_run: given.dry_run.unwrap_or(false),
            node,
        })
    }
}

/// What was given and what follows from it, as a file, without secrets.
pub fn shown(given: Given, settings: &Settings) -> Result<String, String> {
    let hidden = |secret: Option<String>| secret.map(|_| "(hidden)".to_owned());
    let millis = |time: Duration| u64::try_from(time.as_millis()).ok();
    let gateway = given.gateway.clone();
    let url = given.redis.clone().filter(|_| gateway.is_none());
    let shown = Given {
        node: Some(settings.node.clone()),
        cell: Some(settings.cell.clone()),
        redis: url.map(|url| without_password(&url)),
        redis_password: hidden(given.redis_password.clone()),
        sentinel_password: hidden(given.sentinel_password.clone()),
        token: hidden(given.token.clone()),
        tick_ms: Some(settings.tick.and_then(millis).unwrap_or(0)),
        stop_grace_ms: millis(settings.stop_grace),
        kill_wait_ms: millis(settings.kill_wait),
        drain_timeout_ms: millis(settings.drain_timeout),
        state_dir: Some(settings.state_dir.clone()),
        dry_run: Some(settings.dry_run),
        deployments: Some(settings.deploying.is_some()),
        ..given
    };
    let shown = deploying::shown(shown, settings.deploying.as_ref());
    toml::to_string(&shown).map_err(|error| format!("the settings can't be written: {error}"))
}

fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://(hidden)@{place}"),
        _ => url.to_owned(),
    }
}

fn way(given: &Given) -> Result<Way, String> {
    let Some(url) = &given.gateway else {
        let url = given.redis.as_deref().unwrap_or("redis://127.0.0.1:6379");
        return Ok(Way::Redis(Box::new(RedisSettings {
            user: given.redis_user.clone(),
            password: given.redis_password.clone(),
            sentinel_user: given.sentinel_user.clone(),
            sentinel_password: given.sentinel_password.clone(),
            tls_ca: given.redis_tls_ca.clone(),
            tls_cert: given.redis_tls_cert.clone(),
            tls_key: given.redis_tls_key.clone(),
            ..RedisSettings::new(url)
        })));
    };
    if given.redis.is_some() {
        return Err(
            "--redis and --gateway are both given: the agent speaks to one of them".to_owned(),
        );
    }
    let token = match (&given.token_file, &given.token) {
        (Some(path), _) => {
            let text = fs::read_to_string(path).map_err(|error| {
                format!("--token-file {} can't be read: {error}", path.display())
            })?;
            Some(text.trim().to_owned())
        }
        (None, token) => token.clone(),
    };
    Ok(Way::Gateway(GatewaySettings {
        url: url.clone(),
        token,
        tls_ca: given.gateway_tls_ca.clone(),
    }))
}

fn machine_name() -> Result<String, String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => Err("--node is missing, and the machine has no name".to_owned()),
        name => Ok(name.to_owned()),
    }
}

fn default_state_dir(node: &str) -> PathBuf {
    let name = utf8_percent_encode(node, NON_ALPHANUMERIC).to_string();
    let usable = |variable: &str| {
        let dir = PathBuf::from(std::env::var_os(variable)?);
        dir.is_absolute().then_some(dir).filter(|dir| dir.is_dir())
    };
    // The service manager's own directory for this service goes before the one of the user.
    if let Some(dir) = usable("RUNTIME_DIRECTORY") {
        return dir.join(name);
    }
    if let Some(dir) = usable("XDG_RUNTIME_DIR") {
        return dir.join("lockless-agent").join(name);
    }
    let user = rustix::process::geteuid().as_raw();
    PathBuf::from(format!("/tmp/lockless-agent-{user}")).join(name)
}

#[cfg(test)]
mod tests;
