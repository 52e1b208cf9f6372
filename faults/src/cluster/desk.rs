//! One server behind a proxy, with a cell that gateways and agents share.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use super::proxy::Proxy;
use crate::Error;
use crate::outcome::Violation;
use crate::rules::cell::{ask, unsound};
use crate::run::Run;
use crate::server::{Server, Settings};
use crate::wire::{Answer, Route, Wire};

/// The cell that gateways and agents serve when they are told of none.
pub(super) const CELL: &str = "scheduler:{main}";

/// A server with the library, and a way to it that passes no proxy.
pub(super) struct Desk {
    server: Server,
    port: u16,
    wire: Box<dyn Wire>,
}

impl Desk {
    pub(super) fn start(run: &Run) -> Result<Self, Error> {
        let desk = Self::without_library(run, "server")?;
        desk.server.load_library()?;
        Ok(desk)
    }

    /// One for a control run, with a library of this text.
    pub(super) fn start_control(run: &Run, library: &str) -> Result<Self, Error> {
        let desk = Self::without_library(run, "control-server")?;
        desk.server.load(library)?;
        Ok(desk)
    }

    fn without_library(run: &Run, name: &str) -> Result<Self, Error> {
        let no_port =
            |error: std::io::Error| Error::CannotRunHere(format!("no free port: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(no_port)?;
        let port = listener.local_addr().map_err(no_port)?.port();
        drop(listener);
        let arguments = format!("--port {port} --bind 127.0.0.1 --appendonly yes");
        let server = Server::start(run, Settings::new(run.directory().join(name), &arguments))?;
        let wire = server.route().open();
        Ok(Self { server, port, wire })
    }

    /// Its address for gateways and agents, past every proxy.
    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// A proxy in front of it.
    pub(super) fn proxy(&self) -> Result<Proxy, Error> {
        Proxy::start(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)))
    }

    /// A call of the test's own.
    pub(super) fn ask(&mut self, function: &str, line: &str) -> Result<Answer, Error> {
        ask(self.wire.as_mut(), CELL, function, line)
    }

    /// The same, with words that may have spaces in them.
    pub(super) fn say(&mut self, function: &str, words: &[&str]) -> Result<Answer, Error> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let said = self.wire.call(CELL, function, &words);
        said.reply().cloned().ok_or_else(|| Error::Call {
            call: format!("{function} {}", words.join(" ")),
            said: format!("{said:?}"),
        })
    }

    /// A field of a job; none while there is no such job.
    pub(super) fn of_job(&mut self, job: &str, field: &str) -> Option<String> {
        let fields = self.ask("job", job).ok()?;
        fields.field(field).map(Answer::text)
    }

    /// A counter of the cell.
    pub(super) fn counter(&mut self, name: &str) -> Result<i64, Error> {
        let stats = self.ask("stats", "")?;
        Ok(stats.field(name).and_then(Answer::int).unwrap_or_default())
    }

    /// How often something was told of a job.
    pub(super) fn events_of(&mut self, job: &str, kind: &str) -> Result<usize, Error> {
        let mut count = 0;
        let mut after = "-".to_owned();
        loop {
            let page = self.ask("events", &format!("{after} 1000"))?;
            let [last, events] = page.list() else {
                return Ok(count);
            };
            let events = events.list();
            let is_it = |event: &&Answer| {
                let [_, is_of_kind, _, _, of_job, ..] = event.list() else {
                    return false;
                };
                is_of_kind.text() == kind && of_job.text() == job
            };
            count += events.iter().filter(is_it).count();
            if events.is_empty() {
                return Ok(count);
            }
            after = last.text();
        }
    }

    /// How often the server has answered with an error of this code.
    pub(super) fn refusals(&self, code: &str) -> Result<u64, Error> {
        let info = self.server.ask("INFO errorstats")?;
        let info = Answer::from_redis(info).text();
        let mut lines = info.lines();
        let count = lines.find_map(|line| {
            let rest = line.strip_prefix("errorstat_")?.strip_prefix(code)?;
            rest.strip_prefix(":count=")?.trim().parse().ok()
        });
        Ok(count.unwrap_or_default())
    }

    /// How many calls of functions the server has made, for whomever.
    pub(super) fn calls(&self) -> Result<u64, Error> {
        let info = Answer::from_redis(self.server.ask("INFO commandstats")?).text();
        let counts = info.lines().filter_map(|line| {
            let rest = line.strip_prefix("cmdstat_fcall")?;
            let (_, rest) = rest.split_once(":calls=")?;
            rest.split(',').next()?.parse::<u64>().ok()
        });
        Ok(counts.sum())
    }

    /// What the cell's audit finds.
    pub(super) fn unsound(&mut self) -> Result<Vec<Violation>, Error> {
        unsound(self.wire.as_mut(), CELL)
    }
}
