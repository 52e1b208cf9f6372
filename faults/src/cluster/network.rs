//! Private networks: each member in a network namespace of its own, joined by a switch that can be parted in two.
//!
//! A namespace lives as long as the process that holds it, and that dies with this one: nothing is left behind, however
//! the run ends. Nothing of it is in the machine's own network.

use std::fs;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lockless_servers::launch;
use nix::sched::{CloneFlags, setns};

use super::node::line;
use crate::Error;
use crate::run::Run;

const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(2);
/// Where members are joined while the network is whole, and where those go that are cut off.
const WHOLE: &str = "whole";
const CUT_OFF: &str = "cut-off";

/// A network namespace.
pub(super) struct Namespace {
    holder: Child,
}

/// Members that reach each other, until some of them are cut off.
pub(super) struct Network {
    switch: Namespace,
    members: Vec<Namespace>,
}

impl Namespace {
    /// A namespace without any link but its own loopback.
    pub(super) fn new(run: &Run) -> Result<Self, Error> {
        let mut command = Command::new("unshare");
        command
            .args(["--net", "sleep", "infinity"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        run.say_command(line(&command));
        let holder = launch(command).map_err(|error| {
            Error::CannotRunHere(format!(
                "unshare (of util-linux) could not be started: {error}"
            ))
        })?;
        let mut namespace = Self { holder };
        let own = fs::read_link("/proc/self/ns/net").map_err(Error::file("/proc/self/ns/net"))?;
        let begin = Instant::now();
        while fs::read_link(namespace.path()).is_ok_and(|theirs| theirs == own) {
            if namespace.has_ended() || begin.elapsed() > PATIENCE {
                break;
            }
            sleep(POLL);
        }
        if namespace.has_ended() {
            return Err(Error::CannotRunHere(
                "no network namespace can be made: that takes root (CAP_SYS_ADMIN)".to_owned(),
            ));
        }
        namespace.configure(run, "link set lo up\n")?;
        Ok(namespace)
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.holder.try_wait(), Ok(None))
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.holder.id()))
    }

    /// A program that is to run in it.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net={}", self.path().display()))
            .arg("--")
            .arg(program);
        command
    }

    /// The calling thread opens its sockets in it from now on.
    pub(super) fn enter(&self) -> Result<(), Error> {
        let file = fs::File::open(self.path()).map_err(Error::file(self.path()))?;
        setns(file, CloneFlags::CLONE_NEWNET)
            .map_err(|error| Error::file(self.path())(error.into()))
    }

    /// Has `ip` do these lines.
    fn configure(&self, run: &Run, lines: &str) -> Result<(), Error> {
        let mut command = self.command(Path::new("ip"));
        command
            .args(["-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let shown = lines.trim_end().replace('\n', "\\n");
        run.say_command(format_args!("printf '{shown}\\n' | {}", line(&command)));
        let failed = |reason: String| Error::Program {
            command: format!("ip -batch:\n{lines}"),
            reason,
        };
        let mut child = command.spawn().map_err(|error| {
            Error::CannotRunHere(format!(
                "nsenter (of util-linux) could not be started: {error}"
            ))
        })?;
        if let Some(mut input) = child.stdin.take() {
            let written = input.write_all(lines.as_bytes());
            written.map_err(|error| failed(error.to_string()))?;
        }
        let output = child
            .wait_with_output()
            .map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(
                String::from_utf8_lossy(&output.stderr)
                    .trim_end()
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

impl Network {
    /// A network of so many members that all reach each other.
    pub(super) fn new(run: &Run, count: u8) -> Result<Self, Error> {
        let switch = Namespace::new(run)?;
        switch.configure(run, &format!(
            "link add {WHOLE} type bridge\nlink add {CUT_OFF} type bridge\nlink set {WHOLE} up\nlink set {CUT_OFF} up\n"
        ))?;
        let mut members = Vec::new();
        for at in 0..count {
            let member = Namespace::new(run)?;
            let holder = member.holder.id();
            switch.configure(run, &format!(
                "link add port{at} type veth peer name eth0 netns {holder}\nlink set port{at} master {WHOLE}\nlink set port{at} up\n"
            ))?;
            let address = Self::address(at);
            member.configure(
                run,
                &format!("address add {address}/24 dev eth0\nlink set eth0 up\n"),
            )?;
            members.push(member);
        }
        Ok(Self { switch, members })
    }

    /// The address of a member.
    pub(super) fn address(at: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 83, 0, at + 1)
    }

    /// A member's namespace.
    pub(super) fn member(&self, at: u8) -> &Namespace {
        &self.members[usize::from(at)]
    }

    /// From now on these reach each other and nobody else. What they send elsewhere gets lost without a word.
    pub(super) fn cut_off(&self, run: &Run, members: &[u8]) -> Result<(), Error> {
        self.join(run, members.iter().copied(), CUT_OFF)
    }

    /// All reach all again.
    pub(super) fn heal(&self, run: &Run) -> Result<(), Error> {
        let all = 0..u8::try_from(self.members.len()).unwrap_or(u8::MAX);
        self.join(run, all, WHOLE)
    }

    fn join(
        &self,
        run: &Run,
        members: impl Iterator<Item = u8>,
        bridge: &str,
    ) -> Result<(), Error> {
        let lines = members.map(|at| format!("link set port{at} master {bridge}\n"));
        self.switch.configure(run, &lines.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::channel;

    use super::*;

    /// Whether one member can connect to the other's listener.
    fn reaches(network: &Network, from: u8, to: u8) -> bool {
        std::thread::scope(|scope| {
            let (listens, listening) = channel();
            let (done, is_done) = channel::<()>();
            scope.spawn(move || {
                network.member(to).enter().expect("a namespace");
                let listener = TcpListener::bind((Network::address(to), 0)).expect("a listener");
                listens
                    .send(listener.local_addr().expect("an address"))
                    .expect("a receiver");
                let _ = is_done.recv();
            });
            let address = listening.recv().expect("an address");
            let connecting = scope.spawn(move || {
                network.member(from).enter().expect("a namespace");
                TcpStream::connect_timeout(&address, Duration::from_millis(1500)).is_ok()
            });
            let is_reached = connecting.join().expect("an answer");
            drop(done);
            is_reached
        })
    }

    #[test]
    fn those_who_are_cut_off_reach_each_other_and_nobody_else() {
        let directory = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(60);
        let run = Run::new("test", 1, true, false, limit, directory.path().to_owned());
        let network = match Network::new(&run, 3) {
            Ok(network) => network,
            Err(Error::CannotRunHere(why)) => return eprintln!("not tested here: {why}"),
            Err(error) => panic!("{error}"),
        };
        assert!(reaches(&network, 0, 1) && reaches(&network, 2, 0));
        network.cut_off(&run, &[0, 2]).expect("a cut");
        assert!(reaches(&network, 2, 0));
        assert!(!reaches(&network, 0, 1));
        network.heal(&run).expect("healing");
        assert!(reaches(&network, 0, 1));
    }
}
