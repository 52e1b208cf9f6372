//! The server the scenarios are played on, one after the other, each in an empty cell at the same time of day.

use std::time::Duration;

use lockless_functions::contract;
use redis::{Connection, Value};

use crate::Error;
use crate::run::Run;
use crate::server::{Server, Settings};
use crate::single::clock::shim::Shim;
use crate::wire::{Answer, Said, connect, fcall};

use super::denial::Denial;
use super::scenarios::Scenario;
use super::trace::{self, Command};

/// The cell of the scenarios.
pub(super) const ROOT: &str = "scheduler:{main}";
/// When the scenarios begin: they name leases by it.
const START_MS: i64 = 1_767_225_600_000;
/// What every call reads of the cell, in order.
const STATE: [&str; 7] = [
    "clock",
    "grants",
    "finished",
    "wake",
    "generation",
    "listen",
    "configured",
];
const TIMEOUT: Duration = Duration::from_secs(20);
/// Where a key is put aside.
const ASIDE: &str = "aside";
/// More rounds than any scenario's jobs need.
const ROUNDS: usize = 6;
/// A node that every scenario's jobs fit.
const WORKER: &str = "register worker 100 POOL default POOL a POOL b LABEL gpu LABEL big LABEL a LABEL b PAIR en fr REGION eu";

pub(super) struct Stage {
    _server: Server,
    shim: Shim,
    now_ms: i64,
    admin: Connection,
    /// Everything but one command.
    caller: Connection,
    monitor: Connection,
    calls: u64,
}

impl Stage {
    pub(super) fn open(run: &Run) -> Result<Self, Error> {
        let directory = run.directory().join("errors");
        let shim = Shim::make(run, &directory)?;
        shim.stand_still_at(START_MS)?;
        let mut settings = Settings::new(&directory, "--enable-debug-command yes");
        settings.environment = shim.environment();
        let server = Server::start(run, settings)?;
        server.load_library()?;
        let open = || {
            connect(&server.url(), TIMEOUT).map_err(|source| Error::Command {
                command: "a connection".to_owned(),
                source,
            })
        };
        let mut stage = Self {
            shim,
            now_ms: START_MS,
            admin: open()?,
            caller: open()?,
            monitor: open()?,
            calls: 0,
            _server: server,
        };
        stage.command(&[
            "ACL", "SETUSER", "caller", "on", "nopass", "+@all", "~*", "&*",
        ])?;
        let login = redis::cmd("AUTH")
            .arg(&["caller", "any"])
            .exec(&mut stage.caller);
        login.map_err(|source| Error::Command {
            command: "AUTH caller".to_owned(),
            source,
        })?;
        let monitor = redis::cmd("MONITOR").exec(&mut stage.monitor);
        monitor.map_err(|source| Error::Command {
            command: "MONITOR".to_owned(),
            source,
        })?;
        Ok(stage)
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// A plain command of the test's own.
    pub(super) fn command(&mut self, words: &[&str]) -> Result<Answer, Error> {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        let answer: Result<Value, _> = command.query(&mut self.admin);
        answer
            .map(Answer::from_redis)
            .map_err(|source| Error::Command {
                command: words.join(" "),
                source,
            })
    }

    /// A call, function and arguments in one line.
    pub(super) fn say(&mut self, line: &str) -> Said {
        self.calls += 1;
        Said::from_redis(call(line).query(&mut self.admin))
    }

    fn must(&mut self, line: &str) -> Result<Answer, Error> {
        match self.say(line) {
            Said::Reply(answer) => Ok(answer),
            said => Err(Error::Call {
                call: line.to_owned(),
                said: format!("{said:?}"),
            }),
        }
    }

    /// An empty server, and what happened before.
    pub(super) fn prepare(&mut self, before: &[&str]) -> Result<(), Error> {
        self.command(&["FLUSHALL"])?;
        self.now_ms = START_MS;
        self.shim.stand_still_at(self.now_ms)?;
        for line in before {
            if let Some(ms) = line.strip_prefix("pass ") {
                self.now_ms += ms.parse::<i64>().unwrap_or(0);
                self.shim.stand_still_at(self.now_ms)?;
            } else if let Some(count) = line.strip_prefix("fill ") {
                for number in 0..count.parse().unwrap_or(0) {
                    self.must(&format!("dispatch s - - p JOB f{number}"))?;
                }
            } else if let Some(plain) = line.strip_prefix("redis ") {
                self.command(&plain.split_whitespace().collect::<Vec<_>>())?;
            } else if let Some(number) = line.strip_prefix("state ") {
                self.set_state(number)?;
            } else {
                self.must(line)?;
            }
        }
        Ok(())
    }

    /// Sets a number of what every call reads of the cell: its name, and its value.
    fn set_state(&mut self, number: &str) -> Result<(), Error> {
        let field = format!("state{}", contract().library.schema);
        let found = self.command(&["HGET", ROOT, &field])?.text();
        let mut words: Vec<&str> = found.split(' ').collect();
        let place = number.split_once(' ').and_then(|(name, value)| {
            Some((STATE.iter().position(|known| *known == name)?, value))
        });
        let Some((place, value)) = place.filter(|_| words.len() == STATE.len()) else {
            return Err(Error::Call {
                call: format!("state {number}"),
                said: format!("{field} is '{found}'"),
            });
        };
        words[place] = value;
        self.command(&["HSET", ROOT, &field, &words.join(" ")])?;
        Ok(())
    }

    /// Makes a call, which must succeed, and says which commands it sent and what it replied.
    pub(super) fn traced(&mut self, line: &str) -> Result<(Vec<Command>, Answer), Error> {
        let marks = ["trace begins", "trace ends"];
        self.command(&["ECHO", marks[0]])?;
        let reply = self.must(line)?;
        self.command(&["ECHO", marks[1]])?;
        let (mut lines, mut is_begun) = (Vec::new(), false);
        loop {
            let said = self
                .monitor
                .recv_response()
                .map_err(|source| Error::Command {
                    command: "MONITOR".to_owned(),
                    source,
                })?;
            let said = Answer::from_redis(said).text();
            if said.contains(marks[0]) {
                is_begun = true;
            } else if said.contains(marks[1]) {
                return Ok((trace::read(&lines, ROOT), reply));
            } else if is_begun {
                lines.push(said);
            }
        }
    }

    /// Comes to where the scenario's call is made and has it interrupted; whether it was, so that it has to be made again.
    pub(super) fn interrupt(
        &mut self,
        scenario: &Scenario,
        mut make: impl FnMut(&mut Self) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        self.prepare(&scenario.before)?;
        make(self)
    }

    /// Makes a call as someone who is denied something; whether it failed.
    pub(super) fn denied(&mut self, line: &str, denial: &Denial) -> Result<bool, Error> {
        let mut words = vec!["ACL", "SETUSER", "caller"];
        words.extend(denial.rules.iter().map(String::as_str));
        self.command(&words)?;
        self.calls += 1;
        let said = Said::from_redis(call(line).query(&mut self.caller));
        match said {
            Said::Refused(_) => Ok(true),
            Said::Reply(_) => Ok(false),
            other => Err(Error::Call {
                call: line.to_owned(),
                said: format!("{other:?}"),
            }),
        }
    }

    /// Makes a call while a key holds something of another type, and puts back what it held; whether the call failed, and the key is again as
    /// it was.
    pub(super) fn mistyped(&mut self, line: &str, key: &str) -> Result<bool, Error> {
        let kind = self.command(&["TYPE", key])?.text();
        if kind != "none" {
            self.command(&["RENAME", key, ASIDE])?;
        }
        let wrong = if kind == "string" { "list" } else { "string" };
        if wrong == "list" {
            self.command(&["RPUSH", key, "wrong"])?;
        } else {
            self.command(&["SET", key, "wrong"])?;
        }
        let said = self.say(line);
        // A command that takes any type may have moved or removed it: then the cell is damaged, not interrupted.
        let is_there = self.command(&["TYPE", key])?.text() == wrong;
        self.command(&["DEL", key])?;
        if kind != "none" {
            self.command(&["RENAME", ASIDE, key])?;
        }
        Ok(is_there && said.reply().is_none())
    }

    /// What was left to later calls is settled.
    pub(super) fn settle_rest(&mut self) -> Result<(), Error> {
        while self.must("sweep")?.int() != Some(0) {}
        Ok(())
    }

    /// What `lockless_check` finds.
    pub(super) fn violations(&mut self) -> Result<Vec<String>, Error> {
        Ok(self.must("check")?.texts())
    }

    /// The nodes there are.
    pub(super) fn nodes(&mut self) -> Result<Vec<String>, Error> {
        let page = self.must("nodes 0 1000")?;
        Ok(page.list().get(1).map(Answer::texts).unwrap_or_default())
    }

    /// Stops what is to stop, finishes what runs, and has a worker take what waits.
    pub(super) fn work_off(&mut self) -> Result<(), Error> {
        self.must(WORKER)?;
        for _ in 0..ROUNDS {
            for node in self.nodes()? {
                let heard = self.say(&format!("heartbeat {node}"));
                let stop = heard.reply().and_then(|reply| reply.field("stop"));
                for job in stop.map(Answer::texts).unwrap_or_default() {
                    self.say(&format!("stopped {job} {node} ok"));
                }
            }
            let running = self.must("jobs running 0 1000")?;
            for job in running.list().get(1).map(Answer::texts).unwrap_or_default() {
                let record = self.must(&format!("job {job}"))?;
                let node = record
                    .field("node_id")
                    .map(Answer::text)
                    .unwrap_or_default();
                self.say(&format!("complete {job} {node} finished"));
            }
            self.must("pull worker COUNT 256")?;
        }
        Ok(())
    }
}

fn call(line: &str) -> redis::Cmd {
    let mut words = line.split_whitespace().map(str::to_owned);
    let function = words.next().unwrap_or_default();
    fcall(ROOT, &function, &words.collect::<Vec<_>>())
}
