//! A private server, connections to it, and the server's own account of the time it spent.

use std::sync::Arc;
use std::time::Duration;

use lockless_servers::Standalone;
use redis::{Cmd, Connection, Value};

use crate::Error;
use crate::callgrind::{CountedServer, Counter};
use crate::harness::interrupt;
use crate::rounds::Cost;

/// How many calls are sent before their replies are read.
const PIPELINED: usize = 50;
/// Far more than any batch takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// It writes nothing to disk, and has room for many cells.
const SETTINGS: [&str; 6] = ["--save", "", "--appendonly", "no", "--databases", "64"];

/// A private server with libraries loaded.
pub struct Server {
    process: Process,
    next_database: i64,
}

enum Process {
    Timed(Standalone),
    Counted(CountedServer),
}

impl Server {
    /// Starts a server and loads these libraries.
    pub fn start(libraries: &[&str]) -> Result<Self, Error> {
        let server = Standalone::builder().private().args(SETTINGS).start()?;
        Self::with(Process::Timed(server), libraries)
    }

    /// The same with its instructions counted: costs are those, and everything takes some fifty times as long.
    pub fn counted(libraries: &[&str]) -> Result<Self, Error> {
        let server = CountedServer::start(&SETTINGS)?;
        Self::with(Process::Counted(server), libraries)
    }

    fn with(process: Process, libraries: &[&str]) -> Result<Self, Error> {
        let mut started = Server {
            process,
            next_database: 0,
        };
        let mut link = started.link()?;
        for library in libraries {
            link.one(redis::cmd("FUNCTION").arg("LOAD").arg(*library))?;
        }
        Ok(started)
    }

    /// Its port on this machine.
    pub fn port(&self) -> u16 {
        match &self.process {
            Process::Timed(server) => server.port(),
            Process::Counted(server) => server.port,
        }
    }

    /// A connection to a database of its own, so that cells do not share a keyspace.
    pub fn link(&mut self) -> Result<Link, Error> {
        let url = format!("redis://127.0.0.1:{}", self.port());
        let open = || -> redis::RedisResult<Connection> {
            let connection = redis::Client::open(url.as_str())?.get_connection()?;
            connection.set_read_timeout(Some(PATIENCE))?;
            connection.set_write_timeout(Some(PATIENCE))?;
            Ok(connection)
        };
        let connection = open().map_err(|source| Error::Command {
            what: "a connection".to_owned(),
            source,
        })?;
        let counter = match &self.process {
            Process::Timed(_) => None,
            Process::Counted(server) => Some(server.counter()),
        };
        let mut link = Link {
            connection,
            counter,
        };
        link.one(redis::cmd("SELECT").arg(self.next_database))?;
        self.next_database += 1;
        Ok(link)
    }
}

/// A connection to one database of a private server.
pub struct Link {
    connection: Connection,
    counter: Option<Arc<Counter>>,
}

impl Link {
    /// Sends one command.
    pub fn one(&mut self, command: &Cmd) -> Result<Value, Error> {
        command
            .query(&mut self.connection)
            .map_err(|source| Error::Command {
                what: shown(command),
                source,
            })
    }

    /// Sends commands in pipelines; an error reply ends it.
    pub fn all(&mut self, commands: &[Cmd]) -> Result<Vec<Value>, Error> {
        self.in_chunks(commands, PIPELINED)
    }

    /// Sends commands in pipelines of so many.
    pub fn in_chunks(&mut self, commands: &[Cmd], size: usize) -> Result<Vec<Value>, Error> {
        let mut replies = Vec::with_capacity(commands.len());
        for chunk in commands.chunks(size) {
            interrupt::check()?;
            let mut pipeline = redis::Pipeline::with_capacity(chunk.len());
            for command in chunk {
                pipeline.add_command(command.clone());
            }
            let part: Vec<Value> =
                pipeline
                    .query(&mut self.connection)
                    .map_err(|source| Error::Command {
                        what: format!("a pipeline of {}", shown(&chunk[0])),
                        source,
                    })?;
            replies.extend(part);
        }
        Ok(replies)
    }

    /// Sends commands that are all to be refused with this code.
    pub fn all_refused(&mut self, commands: &[Cmd], code: &str) -> Result<(), Error> {
        for chunk in commands.chunks(PIPELINED) {
            let mut pipeline = redis::Pipeline::with_capacity(chunk.len());
            for command in chunk {
                pipeline.add_command(command.clone());
            }
            let replies: Vec<redis::RedisResult<Value>> = pipeline
                .ignore_errors()
                .query(&mut self.connection)
                .map_err(|source| Error::Command {
                    what: format!("a pipeline of {}", shown(&chunk[0])),
                    source,
                })?;
            for reply in replies {
                match reply {
                    Err(refusal) if refusal.code() == Some(code) => {}
                    other => return Err(Error::unexpected(shown(&chunk[0]), &other)),
                }
            }
        }
        Ok(())
    }

    /// From here on costs count.
    pub fn begin(&mut self) -> Result<(), Error> {
        self.one(redis::cmd("CONFIG").arg("RESETSTAT"))?;
        match &self.counter {
            Some(counter) => counter.spent().map(drop),
            None => Ok(()),
        }
    }

    /// What an FCALL cost on average since then: the server's own account of its time, or the instructions it ran.
    pub fn cost_per_fcall(&mut self) -> Result<Cost, Error> {
        let instructions = match &self.counter {
            Some(counter) => Some(counter.spent()?),
            None => None,
        };
        let info = self.info("commandstats")?;
        let fcall = info
            .lines()
            .find_map(|line| line.strip_prefix("cmdstat_fcall:"))
            .ok_or_else(|| Error::unexpected("INFO commandstats", &info))?;
        let calls = field(fcall, "calls=");
        let micros = field(fcall, "usec=");
        instructions
            .or(micros)
            .zip(calls)
            .map(|(spent, calls)| spent / calls)
            .ok_or_else(|| Error::unexpected("INFO commandstats", &info))
    }

    /// How many FCALLs ended with an error since the beginning; at least one must have been made.
    pub fn failed_fcalls(&mut self) -> Result<f64, Error> {
        let info = self.info("commandstats")?;
        info.lines()
            .find_map(|line| line.strip_prefix("cmdstat_fcall:"))
            .and_then(|fcall| {
                Some(field(fcall, "failed_calls=")? + field(fcall, "rejected_calls=")?)
            })
            .ok_or_else(|| Error::unexpected("INFO commandstats", &info))
    }

    /// Microseconds that the server spent on commands of all kinds since the beginning, but for those that measure.
    pub fn micros_of_all(&mut self) -> Result<Cost, Error> {
        let info = self.info("commandstats")?;
        Ok(info
            .lines()
            .filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(':'))
            .filter(|(name, _)| !name.starts_with("config") && !name.starts_with("info"))
            .filter_map(|(_, fields)| field(fields, "usec="))
            .sum())
    }

    /// Microseconds that the server spent on these commands since the beginning. What a script or a function calls inside is part of its own
    /// time, and the server counts it once more under the inner command's name.
    pub fn micros_of(&mut self, commands: &[&str]) -> Result<Cost, Error> {
        let info = self.info("commandstats")?;
        Ok(info
            .lines()
            .filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(':'))
            .filter(|(name, _)| commands.contains(name))
            .filter_map(|(_, fields)| field(fields, "usec="))
            .sum())
    }

    /// Microseconds of processor time the server has used, in user and system mode; instructions where it counts those.
    pub fn processor(&mut self) -> Result<Cost, Error> {
        if let Some(counter) = &self.counter {
            return counter.total();
        }
        let info = self.info("cpu")?;
        let of = |name: &str| {
            info.lines()
                .find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())
        };
        of("used_cpu_user:")
            .zip(of("used_cpu_sys:"))
            .map(|(user, system)| (user + system) * 1e6)
            .ok_or_else(|| Error::unexpected("INFO cpu", &info))
    }

    fn info(&mut self, section: &str) -> Result<String, Error> {
        match self.one(redis::cmd("INFO").arg(section))? {
            Value::BulkString(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Value::VerbatimString { text, .. } => Ok(text),
            other => Err(Error::unexpected("INFO", &other)),
        }
    }
}

fn field(line: &str, name: &str) -> Option<f64> {
    line.split(',')
        .find_map(|part| part.strip_prefix(name)?.trim().parse().ok())
}

/// The first words of a command, for an error.
fn shown(command: &Cmd) -> String {
    command
        .args_iter()
        .take(4)
        .map(|arg| match arg {
            redis::Arg::Simple(bytes) => {
                String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned()
            }
            _ => String::new(),
        })
        .collect::<Vec<_>>()
        .join(" ")
}
