//! A primary, its replica, and the sentinel that watches them.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use redis::cmd;

use crate::server::{Directory, Process, Server};
use crate::source::find_program;
use crate::{Error, Standalone, client, ports};

const NAME: &str = "mymaster";
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
const PORT_TRIES: usize = 3;

/// A primary with one replica under the watch of one sentinel; all stop when it is dropped.
pub struct Sentinel {
    // Fields are dropped in this order: a sentinel that goes first does not see the others go.
    sentinel: Server,
    replica: Standalone,
    primary: Standalone,
}

impl Sentinel {
    /// Starts the three and waits until the sentinel knows the primary and its replica.
    pub fn start() -> Result<Self, Error> {
        let program = find_program("A sentinel")?;
        let primary = Standalone::builder().private().start()?;
        let replica = Standalone::builder().replica_of(primary.port()).start()?;
        wait_for(replica.port(), "its link to the primary is not up", || {
            let mut connection = client::connect_local(replica.port())?;
            Ok(
                client::info_field(&mut connection, replica.port(), "master_link_status")?
                    .as_deref()
                    == Some("up"),
            )
        })?;
        let mut tries_left = PORT_TRIES;
        let sentinel = loop {
            tries_left -= 1;
            match start_sentinel(&program, primary.port()) {
                Err(error) if error.is_port_taken() && tries_left > 0 => {}
                other => break other?,
            }
        };
        let port = sentinel.port();
        wait_for(port, "it does not know the replica yet", || {
            let mut connection = client::connect_local(port)?;
            let replicas: Vec<redis::Value> = client::ask(
                &mut connection,
                port,
                "SENTINEL REPLICAS",
                cmd("SENTINEL").arg("REPLICAS").arg(NAME),
            )?;
            Ok(replicas.len() == 1)
        })?;
        Ok(Self {
            sentinel,
            replica,
            primary,
        })
    }

    /// The name the sentinel has for the primary.
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// The sentinel's port.
    pub fn port(&self) -> u16 {
        self.sentinel.port()
    }

    /// The address through the sentinel, such as `redis+sentinel://127.0.0.1:40123/mymaster`.
    pub fn url(&self) -> String {
        format!("redis+sentinel://127.0.0.1:{}/{NAME}", self.port())
    }

    /// The server that began as the primary.
    pub fn primary(&self) -> &Standalone {
        &self.primary
    }

    /// The same, to be ended.
    pub fn primary_mut(&mut self) -> &mut Standalone {
        &mut self.primary
    }

    /// The server that began as the replica.
    pub fn replica(&self) -> &Standalone {
        &self.replica
    }
}

fn start_sentinel(program: &std::path::Path, primary_port: u16) -> Result<Server, Error> {
    let port = ports::free_port()?;
    let directory = Directory::private()?;
    // A sentinel rewrites its own configuration, so it takes a file and not arguments.
    let file = directory.path().join("sentinel.conf");
    let settings = format!(
        "port {port}\nbind 127.0.0.1\ndaemonize no\nsentinel monitor {NAME} 127.0.0.1 {primary_port} 1\n\
         sentinel down-after-milliseconds {NAME} 2000\nsentinel failover-timeout {NAME} 5000\n"
    );
    fs::write(&file, settings).map_err(|source| Error::Directory {
        path: file.clone(),
        source,
    })?;
    let arguments = [file.display().to_string(), "--sentinel".to_owned()];
    let mut server = Server::Process(Process::start(program, directory, port, &arguments)?);
    server.wait_until_ready(&format!("redis://127.0.0.1:{port}"), None)?;
    Ok(server)
}

fn wait_for(
    port: u16,
    what: &str,
    is_there: impl Fn() -> Result<bool, Error>,
) -> Result<(), Error> {
    let begin = Instant::now();
    while !is_there()? {
        if begin.elapsed() > SETTLE_TIMEOUT {
            return Err(Error::NotReady {
                port,
                waited: SETTLE_TIMEOUT,
                reason: what.to_owned(),
                log: String::new(),
            });
        }
        sleep(POLL);
    }
    Ok(())
}
