//! A real agent beside a real Redis, and in between a real gateway where that is wanted.

mod cell;
mod gateway;
mod processes;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lockless_servers::{Standalone, launch, terminate};
use tempfile::TempDir;

pub(crate) use cell::Cell;
pub(crate) use gateway::start_gateway;
pub(crate) use processes::{alive, pid_of, signal, token};

/// Far more than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How the agent reaches the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Redis,
    Gateway,
}

/// A test for each way.
macro_rules! both_ways {
    ($($(#[$meta:meta])* fn $name:ident($way:ident: Way) $body:block)*) => {
        mod by_redis {
            use super::*;
            $(#[test] $(#[$meta])* fn $name() { super::$name(Way::Redis); })*
        }
        mod by_gateway {
            use super::*;
            $(#[test] $(#[$meta])* fn $name() { super::$name(Way::Gateway); })*
        }
        $(fn $name($way: Way) $body)*
    };
}
pub(crate) use both_ways;

/// A server with the library, and a directory. Agents are started in it.
pub(crate) struct World {
    pub(crate) server: Standalone,
    pub(crate) cell: Cell,
    gateway: Option<String>,
    dir: TempDir,
}

/// A running agent; dropping it kills it, and its guardians end their jobs.
pub(crate) struct Agent {
    child: Child,
    log: PathBuf,
}

impl World {
    pub(crate) fn new(way: Way) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("redis");
        let server = Standalone::builder()
            .private()
            .dir(data)
            .args(["--appendonly", "yes"])
            .start()
            .unwrap();
        let cell = Cell::new(&server.url());
        cell.load();
        let gateway = (way == Way::Gateway).then(|| start_gateway(&server.url(), &[]));
        let world = Self {
            server,
            cell,
            gateway,
            dir,
        };
        world.write_sample(10.0);
        world
    }

    /// A world whose gateway has these settings.
    pub(crate) fn by_gateway_with(more: &[&str]) -> Self {
        let mut world = Self::new(Way::Redis);
        world.gateway = Some(start_gateway(&world.server.url(), more));
        world
    }

    /// Ends the server as a crash would, and starts it again where it was.
    pub(crate) fn restart_server(&mut self, away: impl FnOnce()) {
        let port = self.server.port();
        self.server.kill();
        away();
        self.server = Standalone::builder()
            .private()
            .port(port)
            .dir(self.dir.path().join("redis"))
            .args(["--appendonly", "yes"])
            .start()
            .unwrap();
        self.cell = Cell::new(&self.server.url());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A machine of 10,000 MB, so much of which is in use, in percent.
    pub(crate) fn write_sample(&self, mem: f64) {
        let used = mem * 100.0;
        let text = format!(
            r#"{{"mem": {mem}, "used_mb": {used:.0}, "total_mb": 10000, "avail_mb": {:.0}, "swap": 0, "cpu": 1}}"#,
            10000.0 - used
        );
        let fresh = self.path("sample.fresh");
        fs::write(&fresh, text).unwrap();
        fs::rename(fresh, self.path("sample.json")).unwrap();
    }

    /// The program with settings for this world; programs that jobs may run are sh and sleep.
    pub(crate) fn command(&self, node: &str) -> Command {
        self.command_in(node, &format!("state-{node}"))
    }

    /// The same, with that state directory.
    pub(crate) fn command_in(&self, node: &str, state: &str) -> Command {
        let mut command = bare_command();
        match &self.gateway {
            Some(address) => command.args(["--gateway", address]),
            None => command.args(["--redis", &self.server.url()]),
        };
        command
            .args([
                "--node",
                node,
                "--allow",
                "/bin/sh",
                "--allow",
                "/bin/sleep",
            ])
            .args(["--log", "debug"])
            .env("LOCKLESS_STOP_GRACE_MS", "300")
            .env("LOCKLESS_TICK_MS", "50")
            .env("NODE_UNIT_SCHEDULER_INTERVAL_MS", "500")
            .arg("--state-dir")
            .arg(self.path(state))
            .arg("--sample-from")
            .arg(self.path("sample.json"));
        command
    }

    /// An agent that is registered.
    pub(crate) fn agent(&self, node: &str) -> Agent {
        self.agent_with(node, &[])
    }

    /// An agent that runs deployments, and claims every half second.
    pub(crate) fn deploying(&self, node: &str, arguments: &[&str]) -> Agent {
        let mut all = vec!["--deployments"];
        all.extend(arguments);
        self.agent_with(node, &all)
    }

    pub(crate) fn agent_with(&self, node: &str, arguments: &[&str]) -> Agent {
        let mut command = self.command(node);
        command.args(arguments);
        Agent::start(command, self.path(&format!("log-{node}")))
    }
}

/// The program, without the environment's settings.
pub(crate) fn bare_command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockless-agent"));
    for (name, _) in std::env::vars()
        .filter(|(name, _)| name.starts_with("LOCKLESS_") || name.starts_with("NODE_UNIT_"))
    {
        command.env_remove(name);
    }
    command
}

impl Agent {
    pub(crate) fn start(command: Command, log: PathBuf) -> Self {
        let (agent, said) = Self::spawn(command, log);
        assert!(
            said.contains(" is node "),
            "it said '{said}': {}",
            agent.log()
        );
        agent
    }

    /// An agent that has said something, or has ended.
    pub(crate) fn spawn(mut command: Command, log: PathBuf) -> (Self, String) {
        let file = fs::File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file);
        let mut child = launch(command).unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        (Self { child, log }, said)
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        terminate(&self.child);
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has ended, and says whether it ended well.
    #[track_caller]
    pub(crate) fn wait_for_end(&mut self) -> bool {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            assert!(begin.elapsed() < PATIENCE, "it did not end: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the agent's log:\n{}", self.log());
        }
    }
}

/// Waits for a condition.
#[track_caller]
pub(crate) fn eventually(what: &str, is_so: impl FnMut() -> bool) {
    assert!(within(PATIENCE, is_so), "not so: {what}");
}

/// Whether a condition comes true in that time.
pub(crate) fn within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// The files of a directory.
pub(crate) fn names_in(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}
