//! A private server at a Unix socket, that can be killed and started again on the same files.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lockless_functions::LIBRARY;
use redis::Connection;

use crate::Error;
use crate::run::Run;
use crate::wire::{Direct, connect};

/// Names a file to load instead of the built-in library, for trying a change, or a deliberate mistake.
const LIBRARY_VARIABLE: &str = "LOCKLESS_TEST_LIBRARY";
const READY: Duration = Duration::from_secs(20);
const STOP: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(2);
const LOG_LINES: usize = 20;
/// How long a caller waits for a reply.
const REPLY: Duration = Duration::from_secs(2);
/// How long the test itself does.
const OWN_REPLY: Duration = Duration::from_secs(60);

/// Settings of a server.
#[derive(Clone)]
pub struct Settings {
    /// Words before `redis-server`, such as those that enter a namespace.
    pub before: Vec<String>,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Arguments of `redis-server`.
    pub arguments: Vec<String>,
    /// Where it runs; its socket and its log are there.
    pub directory: PathBuf,
}

impl Settings {
    /// In this directory, which is made, with these arguments in one line.
    pub fn new(directory: impl Into<PathBuf>, arguments: &str) -> Self {
        Self {
            before: Vec::new(),
            environment: Vec::new(),
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
            directory: directory.into(),
        }
    }
}

/// What the program `redis-server` says it is: its name and version.
pub fn version() -> Result<String, Error> {
    let failed = |reason: String| Error::Program {
        command: "redis-server --version".to_owned(),
        reason,
    };
    let output = Command::new("redis-server").arg("--version").output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // `Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=...`
    let mut words = said.split_whitespace();
    let name = words.next().map(str::to_lowercase);
    let version = words.find_map(|word| word.strip_prefix("v="));
    match (name, version) {
        (Some(name), Some(version)) => Ok(format!("{name} {version}")),
        _ => Err(failed(format!("it says {said:?}"))),
    }
}

/// A server, killed when dropped.
pub struct Server {
    settings: Settings,
    child: Option<Child>,
}

impl Server {
    /// Starts it and waits until it answers. The command is said once.
    pub fn start(run: &Run, settings: Settings) -> Result<Self, Error> {
        let mut server = Self {
            settings,
            child: None,
        };
        run.say_command(server.line());
        server.start_again(run)?;
        Ok(server)
    }

    /// The command that starts it, as one would type it.
    pub fn line(&self) -> String {
        let environment = self.settings.environment.iter();
        let environment = environment.map(|(name, value)| format!("{name}={value}"));
        environment
            .chain(self.words())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn words(&self) -> Vec<String> {
        let socket = self.socket().display().to_string();
        let own = ["redis-server", "--port", "0", "--unixsocket", &socket];
        let mut words = self.settings.before.clone();
        words.extend(own.map(str::to_owned));
        if !self.settings.arguments.iter().any(|word| word == "--save") {
            words.extend(["--save", "''"].map(str::to_owned));
        }
        words.extend(self.settings.arguments.iter().cloned());
        words
    }

    fn socket(&self) -> PathBuf {
        self.settings.directory.join("s")
    }

    /// Its settings, for the next start.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.settings.directory
    }

    /// Where it is reached.
    pub fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// The way to it for a load.
    pub fn route(&self) -> std::sync::Arc<Direct> {
        std::sync::Arc::new(Direct::new(self.url(), REPLY))
    }

    /// A connection for the test itself.
    pub fn connect(&self) -> Result<Connection, Error> {
        connect(&self.url(), OWN_REPLY).map_err(|source| Error::Command {
            command: format!("connecting to {}", self.url()),
            source,
        })
    }

    /// A command of the test itself, in one line.
    pub fn ask(&self, line: &str) -> Result<redis::Value, Error> {
        let mut words = line.split_whitespace();
        let mut command = redis::cmd(words.next().unwrap_or_default());
        command.arg(words.collect::<Vec<_>>());
        command
            .query(&mut self.connect()?)
            .map_err(|source| Error::Command {
                command: line.to_owned(),
                source,
            })
    }

    /// The same of what breaks or mends something: it is said as one would type it.
    pub fn order(&self, run: &Run, line: &str) -> Result<redis::Value, Error> {
        let socket = self.socket();
        run.say_command(format_args!("redis-cli -s {} {line}", socket.display()));
        self.ask(line)
    }

    /// Loads the library.
    pub fn load_library(&self) -> Result<(), Error> {
        match std::env::var_os(LIBRARY_VARIABLE) {
            Some(path) => {
                let library = fs::read_to_string(&path).map_err(Error::file(&path))?;
                self.load(&library)
            }
            None => self.load(LIBRARY),
        }
    }

    /// Loads a library of this text.
    pub fn load(&self, library: &str) -> Result<(), Error> {
        redis::cmd("FUNCTION")
            .arg(&["LOAD", "REPLACE", library])
            .exec(&mut self.connect()?)
            .map_err(|source| Error::Command {
                command: "FUNCTION LOAD".to_owned(),
                source,
            })
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// How it ended, if it has by itself.
    pub fn ended(&mut self) -> Option<String> {
        let ended = self.child.as_mut()?.try_wait();
        ended.ok().flatten().map(|status| status.to_string())
    }

    /// Ends it at once, and says so: this is the fault.
    pub fn crash(&mut self, run: &Run) {
        let pid = self.pid().unwrap_or_default();
        run.say_command(format_args!("kill -9 {pid}"));
        self.kill();
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Has it end by itself, and waits.
    pub fn shut_down(&mut self) {
        let Some(child) = &mut self.child else { return };
        lockless_servers::terminate(child);
        let begin = Instant::now();
        while begin.elapsed() < STOP && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(POLL);
        }
        self.kill();
    }

    /// Starts it on the files it left, and waits until it answers. Returns how long that took.
    pub fn start_again(&mut self, run: &Run) -> Result<Duration, Error> {
        self.launch()?;
        self.wait_until_ready(run)
    }

    /// Starts it without waiting.
    pub fn launch(&mut self) -> Result<(), Error> {
        self.kill();
        let directory = &self.settings.directory;
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
        let log_path = directory.join("log");
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(&log_path)
            .map_err(Error::file(&log_path))?;
        let log_copy = log.try_clone().map_err(Error::file(&log_path))?;
        let words = self.words();
        let mut command = Command::new(&words[0]);
        command
            .args(
                words[1..]
                    .iter()
                    .map(|word| if word == "''" { "" } else { word }),
            )
            .envs(self.settings.environment.iter().cloned())
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(log_copy)
            // Ctrl-C goes to the whole foreground group; the server ends when its owner says so.
            .process_group(0);
        let line = words.join(" ");
        self.child = Some(
            lockless_servers::launch(command).map_err(|source| Error::Program {
                command: line,
                reason: source.to_string(),
            })?,
        );
        Ok(())
    }

    /// Waits until it answers. Returns how long that took.
    pub fn wait_until_ready(&mut self, run: &Run) -> Result<Duration, Error> {
        let begin = Instant::now();
        loop {
            let seen = connect(&self.url(), REPLY)
                .and_then(|mut connection| redis::cmd("PING").exec(&mut connection));
            let Err(seen) = seen else {
                return Ok(begin.elapsed());
            };
            run.check()?;
            let ended = self.ended();
            if ended.is_some() || begin.elapsed() > READY {
                return Err(Error::ServerEnded {
                    what: ended.unwrap_or_else(|| format!("does not answer: {seen}")),
                    log: self.log_tail(),
                });
            }
            std::thread::sleep(POLL);
        }
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        let bytes = fs::read(self.settings.directory.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&bytes).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
