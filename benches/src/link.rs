//! A private server, connections to it, and the server's own account of the time it spent.

use std::time::Duration;

use lockless_servers::Standalone;
use redis::{Cmd, Connection, Value};

use crate::Error;

/// How many calls are sent before their replies are read.
const PIPELINED: usize = 50;
/// Far more than any batch takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A private server with libraries loaded. It writes nothing to disk.
pub struct Server {
    server: Standalone,
    next_database: i64,
}

impl Server {
    /// Starts a server and loads these libraries.
    pub fn start(libraries: &[&str]) -> Result<Self, Error> {
        let server = Standalone::builder()
            .private()
            .args(["--save", "", "--appendonly", "no", "--databases", "64"])
            .start()?;
        let mut started = Server {
            server,
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
        self.server.port()
    }

    /// A connection to a database of its own, so that cells do not share a keyspace.
    pub fn link(&mut self) -> Result<Link, Error> {
        let open = || -> redis::RedisResult<Connection> {
            let connection = redis::Client::open(self.server.url())?.get_connection()?;
            connection.set_read_timeout(Some(PATIENCE))?;
            connection.set_write_timeout(Some(PATIENCE))?;
            Ok(connection)
        };
        let connection = open().map_err(|source| Error::Command {
            what: "a connection".to_owned(),
            source,
        })?;
        let mut link = Link { connection };
        link.one(redis::cmd("SELECT").arg(self.next_database))?;
        self.next_database += 1;
        Ok(link)
    }
}

/// A connection to one database of a private server.
pub struct Link {
    connection: Connection,
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

    /// Starts the server's statistics anew.
    pub fn reset_statistics(&mut self) -> Result<(), Error> {
        self.one(redis::cmd("CONFIG").arg("RESETSTAT")).map(drop)
    }

    /// Microseconds of server time per FCALL since the statistics were reset.
    pub fn usec_per_fcall(&mut self) -> Result<f64, Error> {
        let info = self.info("commandstats")?;
        info.lines()
            .find_map(|line| line.strip_prefix("cmdstat_fcall:"))
            .and_then(|line| field(line, "usec_per_call="))
            .ok_or_else(|| Error::unexpected("INFO commandstats", &info))
    }

    /// Seconds of processor time the server has used, in user and system mode.
    pub fn cpu_seconds(&mut self) -> Result<f64, Error> {
        let info = self.info("cpu")?;
        let of = |name: &str| {
            info.lines()
                .find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())
        };
        of("used_cpu_user:")
            .zip(of("used_cpu_sys:"))
            .map(|(user, system)| user + system)
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
