//! One server of a Cluster: its process, which can be killed, started again, halted and continued.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use lockless_servers::launch;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use redis::{Cmd, Connection, FromRedisValue};

use super::network::Namespace;
use super::promotions::promotions;
use crate::Error;
use crate::run::Run;
use crate::wire::connect;

const READY_WITHIN: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);
/// How long a server may take to answer a question of the test's own.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// One server. It is spoken to through a socket in the file system, which no cut of the network reaches.
pub(super) struct Node {
    program: PathBuf,
    /// None while it is killed.
    child: Mutex<Option<Child>>,
    is_halted: AtomicBool,
    directory: PathBuf,
    pub(super) ip: Ipv4Addr,
    pub(super) port: u16,
    bus_port: u16,
    pub(super) id: String,
}

/// How a server sees itself.
#[derive(Debug, Clone)]
pub(super) struct SelfView {
    pub(super) is_primary: bool,
    pub(super) primary_id: String,
    pub(super) epoch: u64,
    pub(super) slots: Vec<(u16, u16)>,
}

impl Node {
    pub(super) fn new(
        program: &Path,
        directory: PathBuf,
        ip: Ipv4Addr,
        port: u16,
        bus_port: u16,
    ) -> Result<Self, Error> {
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        Ok(Self {
            program: program.to_owned(),
            child: Mutex::new(None),
            is_halted: AtomicBool::new(false),
            directory,
            ip,
            port,
            bus_port,
            id: String::new(),
        })
    }

    /// Starts it, also again after it was killed: it finds its own files.
    pub(super) fn start(
        &self,
        run: &Run,
        within: Option<&Namespace>,
        settings: &[&str],
    ) -> Result<(), Error> {
        let mut command = match within {
            Some(namespace) => namespace.command(&self.program),
            None => Command::new(&self.program),
        };
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.directory.join("log"))
            .map_err(Error::file(&self.directory))?;
        command
            .args(["--port", &self.port.to_string()])
            .args(["--bind", &self.ip.to_string()])
            .args(["--protected-mode", "no", "--save", ""])
            .args(["--cluster-enabled", "yes"])
            .args(["--cluster-port", &self.bus_port.to_string()])
            .args(["--repl-diskless-sync-delay", "0"])
            .arg("--unixsocket")
            .arg(self.socket())
            .args(settings)
            .current_dir(&self.directory)
            // Its log says the time so.
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(Error::file(&self.directory))?)
            .stderr(log);
        // Ctrl-C in a terminal goes to the whole foreground group; a server ends when its owner says so.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        if self.id.is_empty() {
            run.say_command(line(&command));
        }
        let child = launch(command).map_err(|error| Error::Program {
            command: self.program.display().to_string(),
            reason: error.to_string(),
        })?;
        *self.child() = Some(child);
        let begin = Instant::now();
        while self.ask::<String>(&redis::cmd("PING")).is_err() {
            run.check()?;
            let has_ended = !matches!(self.child().as_mut().map(Child::try_wait), Some(Ok(None)));
            if has_ended || begin.elapsed() > READY_WITHIN {
                return Err(Error::ServerEnded {
                    what: format!("{self} did not start"),
                    log: self.log(),
                });
            }
            sleep(POLL);
        }
        Ok(())
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn socket(&self) -> PathBuf {
        self.directory.join("socket")
    }

    /// Its address, as clients in its network know it.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.ip, self.port)
    }

    /// Its address, as a URL.
    pub(super) fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// A connection to it, wherever it is. A reply may take so long.
    pub(super) fn connect(&self, patience: Duration) -> redis::RedisResult<Connection> {
        connect(
            &format!("redis+unix://{}", self.socket().display()),
            patience,
        )
    }

    /// Asks one thing over a connection of its own.
    pub(super) fn ask<T: FromRedisValue>(&self, command: &Cmd) -> redis::RedisResult<T> {
        command.query(&mut self.connect(ANSWER_WITHIN)?)
    }

    /// The same, in words.
    pub(super) fn say<T: FromRedisValue>(&self, words: &[&str]) -> Result<T, Error> {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        self.ask(&command).map_err(|source| Error::Command {
            command: format!("{self}: {:.200}", words.join(" ")),
            source,
        })
    }

    /// How it sees itself.
    pub(super) fn view(&self) -> Result<SelfView, Error> {
        if !self.is_answering() {
            return Err(Error::Call {
                call: format!("{self}: CLUSTER NODES"),
                said: "it is killed or halted".to_owned(),
            });
        }
        let nodes: String = self.say(&["CLUSTER", "NODES"])?;
        let own = nodes.lines().find(|line| line.contains("myself"));
        own.and_then(self_view).ok_or_else(|| Error::Call {
            call: format!("{self}: CLUSTER NODES"),
            said: nodes,
        })
    }

    /// Whether it can answer: it is there, and not halted.
    pub(super) fn is_answering(&self) -> bool {
        self.child().is_some() && !self.is_halted.load(Ordering::Relaxed)
    }

    /// The same of what breaks or mends something: it is said as one would type it.
    pub(super) fn order(&self, run: &Run, words: &[&str]) -> Result<(), Error> {
        self.say_order(run, &words.join(" "));
        self.say(words)
    }

    /// Says a command that it is given, as one would type it.
    pub(super) fn say_order(&self, run: &Run, line: &str) {
        let socket = self.socket();
        run.say_command(format_args!("redis-cli -s {} {line}", socket.display()));
    }

    /// Ends it at once, as a crash would.
    pub(super) fn kill(&self, run: &Run) {
        self.say_kill(run, "-9");
        self.end();
    }

    fn say_kill(&self, run: &Run, signal: &str) {
        let pid = self.child().as_ref().map(Child::id).unwrap_or_default();
        run.say_command(format_args!("kill {signal} {pid}    # {self}"));
    }

    fn end(&self) {
        let child = self.child().take();
        if let Some(mut child) = child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Halts it: it keeps its connections and answers nobody until [`Self::thaw`].
    pub(super) fn freeze(&self, run: &Run) {
        self.say_kill(run, "-STOP");
        self.is_halted.store(true, Ordering::Relaxed);
        self.signal(Signal::SIGSTOP);
    }

    /// Lets it go on.
    pub(super) fn thaw(&self, run: &Run) {
        self.say_kill(run, "-CONT");
        self.signal(Signal::SIGCONT);
        self.is_halted.store(false, Ordering::Relaxed);
    }

    fn signal(&self, signal: Signal) {
        let pid = self.child().as_ref().map(Child::id);
        if let Some(pid) = pid.and_then(|pid| i32::try_from(pid).ok()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    fn whole_log(&self) -> String {
        let log = fs::read(self.directory.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// When it took its primary's place, by its log.
    pub(super) fn promotions(&self) -> Vec<SystemTime> {
        promotions(&self.whole_log(), SystemTime::now())
    }

    /// The end of its log.
    pub(super) fn log(&self) -> String {
        let log = self.whole_log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    pub(super) fn bus_port(&self) -> u16 {
        self.bus_port
    }
}

impl std::fmt::Display for Node {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.address())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end();
    }
}

/// A command as one would type it.
pub(super) fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let shown = words.map(|word| match word.to_string_lossy() {
        word if word.is_empty() => "''".into(),
        word => word,
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// `id host:port@bus flags primary ping pong epoch state slot...`
fn self_view(line: &str) -> Option<SelfView> {
    let fields: Vec<&str> = line.split(' ').collect();
    let slots = fields.iter().skip(8).filter_map(|field| {
        let (first, last) = field.split_once('-').unwrap_or((field, field));
        Some((first.parse().ok()?, last.parse().ok()?))
    });
    Some(SelfView {
        is_primary: fields.get(2)?.split(',').any(|flag| flag == "master"),
        primary_id: (*fields.get(3)?).to_owned(),
        epoch: fields.get(6)?.parse().ok()?,
        slots: slots.collect(),
    })
}

impl SelfView {
    pub(super) fn has_slot(&self, slot: u16) -> bool {
        let mut slots = self.slots.iter();
        slots.any(|(first, last)| (*first..=*last).contains(&slot))
    }
}
