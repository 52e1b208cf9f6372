//! Gateways and agents as processes, anywhere in a network.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lockless_servers::launch;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::network::Namespace;
use super::node::line;
use crate::Error;
use crate::run::Run;

const IDLE: &str = r#"{"mem":10,"used_mb":1000,"total_mb":10000,"avail_mb":9000,"swap":0,"cpu":1}"#;

/// A program of this workspace that runs; dropping it kills it.
pub(super) struct Program {
    child: Child,
    /// Its first line.
    said: String,
    log: PathBuf,
}

impl Program {
    /// Starts a gateway with these arguments, and waits until it listens.
    pub(super) fn gateway(
        run: &Run,
        within: Option<&Namespace>,
        name: &str,
        arguments: &[&str],
    ) -> Result<Self, Error> {
        let mut command = command("lockless-gateway", within)?;
        command.args(["--listen", "127.0.0.1:0"]).args(arguments);
        Self::start(run, command, name)
    }

    /// Starts an agent with these arguments, and waits until it is registered.
    pub(super) fn agent(run: &Run, name: &str, arguments: &[&str]) -> Result<Self, Error> {
        let mut command = command("lockless-agent", None)?;
        command
            .arg("--state-dir")
            .arg(run.directory().join(format!("state-{name}")))
            .args(arguments);
        Self::start(run, command, name)
    }

    /// A file that has agents find a machine that nothing else keeps busy.
    pub(super) fn idle_sample(run: &Run) -> Result<String, Error> {
        let path = run.directory().join("sample.json");
        fs::write(&path, IDLE).map_err(Error::file(&path))?;
        Ok(path.display().to_string())
    }

    fn start(run: &Run, mut command: Command, name: &str) -> Result<Self, Error> {
        let path = run.directory().join(format!("{name}.log"));
        let log = fs::File::options().create(true).append(true).open(&path);
        let log = log.map_err(Error::file(&path))?;
        run.say_command(line(&command));
        let shown = line(&command);
        let failed = |reason: String| Error::Program {
            command: shown.clone(),
            reason,
        };
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            // Ctrl-C goes to the whole foreground group; a program ends when its owner says so.
            .process_group(0);
        let mut child = launch(command).map_err(|error| failed(error.to_string()))?;
        let mut said = String::new();
        if let Some(output) = child.stdout.take() {
            let read = BufReader::new(output).read_line(&mut said);
            read.map_err(|error| failed(error.to_string()))?;
        }
        let program = Self {
            child,
            said,
            log: path,
        };
        if program.said.is_empty() {
            return Err(failed(format!("it did not start:\n{}", program.log())));
        }
        Ok(program)
    }

    /// Where a gateway listens, as a URL.
    pub(super) fn address(&self) -> &str {
        let mut words = self.said.split_whitespace();
        words
            .find(|word| word.starts_with("http"))
            .unwrap_or_default()
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The memory it has, in bytes.
    pub(super) fn memory_bytes(&self) -> Result<u64, Error> {
        let path = format!("/proc/{}/status", self.pid());
        let status = fs::read_to_string(&path).map_err(Error::file(&path))?;
        let mut lines = status
            .lines()
            .filter_map(|line| line.strip_prefix("VmRSS:"));
        let kib = lines
            .next()
            .and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        Ok(kib.unwrap_or_default() * 1024)
    }

    /// Ends it at once, as a crash would.
    pub(super) fn kill(&mut self, run: &Run) {
        self.say_kill(run, "-9");
        self.end();
    }

    fn say_kill(&self, run: &Run, signal: &str) {
        let log = self.log.file_stem().unwrap_or_default().display();
        run.say_command(format_args!("kill {signal} {}    # {log}", self.pid()));
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Halts it.
    pub(super) fn freeze(&self, run: &Run) {
        self.say_kill(run, "-STOP");
        self.signal(Signal::SIGSTOP);
    }

    /// Lets it go on.
    pub(super) fn thaw(&self, run: &Run) {
        self.say_kill(run, "-CONT");
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        if let Ok(pid) = i32::try_from(self.pid()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Everything it has logged.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}

fn command(name: &str, within: Option<&Namespace>) -> Result<Command, Error> {
    let program = built(name)?;
    let mut command = match within {
        Some(namespace) => namespace.command(&program),
        None => Command::new(&program),
    };
    // What the caller has set for a gateway of his own is not meant for these.
    for (name, _) in std::env::vars() {
        if name.starts_with("LOCKLESS_") || name.starts_with("NODE_UNIT_") {
            command.env_remove(name);
        }
    }
    Ok(command)
}

/// A program that was built with this one.
fn built(name: &str) -> Result<PathBuf, Error> {
    let own = std::env::current_exe().map_err(Error::file("/proc/self/exe"))?;
    let beside = own.with_file_name(name);
    // Tests are one directory further down.
    let above = own
        .parent()
        .and_then(Path::parent)
        .map(|dir| dir.join(name));
    let mut places = [Some(beside), above].into_iter().flatten();
    places.find(|place| place.is_file()).ok_or_else(|| {
        Error::CannotRunHere(format!(
            "{name} is not beside {}: cargo xtask faults builds it, and so does cargo build -p {name}",
            own.display()
        ))
    })
}
