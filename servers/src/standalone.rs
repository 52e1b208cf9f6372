//! One server.

use std::path::{Path, PathBuf};

use redis::{ConnectionAddr, IntoConnectionInfo};

use crate::docker::Network;
use crate::server::{Directory, Server};
use crate::source::{find_program, find_startable};
use crate::tls::Certificates;
use crate::{Error, Source, client, find_server, ports};

/// How often a server is started anew because someone else took its port first.
const PORT_TRIES: usize = 5;

/// One server, stopped when dropped.
pub struct Standalone {
    /// `None` for a running server that was named by `LOCKLESS_TEST_REDIS_URL`.
    server: Option<Server>,
    url: String,
    port: u16,
    certificates: Option<Certificates>,
}

impl Standalone {
    /// A server with default settings on a free port, or the running one that `LOCKLESS_TEST_REDIS_URL` names.
    pub fn start() -> Result<Self, Error> {
        Self::builder().start()
    }

    /// A server with settings of its own.
    pub fn builder() -> StandaloneBuilder {
        StandaloneBuilder::default()
    }

    /// Its address, such as `redis://127.0.0.1:40123`; a password given as an argument is not part of it.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Its port on this machine.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process id; a container or a named server has none here.
    pub fn pid(&self) -> Option<u32> {
        self.server.as_ref().and_then(Server::pid)
    }

    /// Its directory; a container or a named server has none here.
    pub fn dir(&self) -> Option<&Path> {
        self.server.as_ref().and_then(Server::dir)
    }

    /// The authority's certificate, for clients of a TLS server.
    pub fn ca_file(&self) -> Option<&Path> {
        self.certificates
            .as_ref()
            .map(|certificates| certificates.authority.as_path())
    }

    /// A certificate of that authority and its key, for clients that have to show one.
    pub fn client_files(&self) -> Option<(&Path, &Path)> {
        let made = self.certificates.as_ref()?;
        Some((&made.certificate, &made.key))
    }

    /// How the server ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        self.server.as_mut().and_then(Server::ended)
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        self.server
            .as_ref()
            .map(Server::log_tail)
            .unwrap_or_default()
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        if let Some(server) = &mut self.server {
            server.kill();
        }
    }

    /// Halts it: it keeps its connections and answers nobody until [`Self::thaw`].
    pub fn freeze(&self) {
        if let Some(server) = &self.server {
            server.freeze(true);
        }
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        if let Some(server) = &self.server {
            server.freeze(false);
        }
    }

    /// Stops it, as dropping does.
    pub fn stop(self) {
        drop(self);
    }

    fn external(url: String) -> Result<Self, Error> {
        client::ping(&url, None).map_err(Error::External)?;
        let info = url
            .as_str()
            .into_connection_info()
            .map_err(Error::External)?;
        let port = match *info.addr() {
            ConnectionAddr::Tcp(_, port) | ConnectionAddr::TcpTls { port, .. } => port,
            _ => 0,
        };
        Ok(Self {
            server: None,
            url,
            port,
            certificates: None,
        })
    }
}

/// Settings of a server that is yet to start.
#[derive(Debug, Default, Clone)]
pub struct StandaloneBuilder {
    arguments: Vec<String>,
    port: Option<u16>,
    dir: Option<PathBuf>,
    tls: bool,
    private: bool,
    is_replica: bool,
    program: Option<PathBuf>,
}

impl StandaloneBuilder {
    /// A server of its own even where `LOCKLESS_TEST_REDIS_URL` names a running one.
    pub fn private(mut self) -> Self {
        self.private = true;
        self
    }

    /// One more argument for redis-server, such as `--requirepass`, and its value.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// More arguments for redis-server.
    pub fn args<T: Into<String>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// This port, and no other.
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// This directory, which is made if need be and stays behind.
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// TLS alone, with a certificate for 127.0.0.1 by an authority that [`Standalone::ca_file`] gives.
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// A read-only replica of the server on this port of this machine.
    pub fn replica_of(mut self, primary_port: u16) -> Self {
        self.is_replica = true;
        self.args(["--replicaof", "127.0.0.1", &primary_port.to_string()])
    }

    /// This program instead of the one that is found.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Starts the server and waits until it answers.
    ///
    /// The server that `LOCKLESS_TEST_REDIS_URL` names cannot take settings, so it is used only where none are made.
    pub fn start(self) -> Result<Standalone, Error> {
        let source = match &self.program {
            Some(program) => Source::Program(program.clone()),
            None if self.has_settings() => find_startable()?,
            None => find_server()?,
        };
        if let Source::External { url } = source {
            return Standalone::external(url);
        }
        let mut tries_left = if self.port.is_some() { 1 } else { PORT_TRIES };
        loop {
            tries_left -= 1;
            match self.start_once(&source) {
                Err(error) if error.is_port_taken() && tries_left > 0 => {}
                other => return other,
            }
        }
    }

    fn has_settings(&self) -> bool {
        self.private
            || self.tls
            || self.port.is_some()
            || self.dir.is_some()
            || !self.arguments.is_empty()
    }

    fn start_once(&self, source: &Source) -> Result<Standalone, Error> {
        // A container has its own files and its own 127.0.0.1.
        let needs_program = [
            (self.tls, "A TLS server"),
            (self.is_replica, "A replica"),
            (
                self.dir.is_some(),
                "A server with a directory of this machine",
            ),
        ]
        .into_iter()
        .find_map(|(is_asked_for, what)| is_asked_for.then_some(what));
        let source = match (needs_program, source) {
            (Some(what), Source::External { .. } | Source::Docker { .. }) => {
                Source::Program(find_program(what)?)
            }
            _ => source.clone(),
        };
        let mut certificates = None;
        let mut server = match &source {
            Source::Docker { image } => {
                Server::start_container(image, &Network::Mapped(self.port), &self.arguments)?
            }
            _ => {
                let directory = match &self.dir {
                    Some(dir) => Directory::given(dir.clone())?,
                    None => Directory::private()?,
                };
                let port = self.port.map_or_else(ports::free_port, Ok)?;
                let mut arguments = self.arguments.clone();
                if self.tls {
                    let made = Certificates::make_in(directory.path())?;
                    arguments.extend(made.arguments(port));
                    certificates = Some(made);
                }
                Server::start(&source, directory, port, &arguments)?
            }
        };
        let port = server.port();
        let scheme = if self.tls { "rediss" } else { "redis" };
        let url = format!("{scheme}://127.0.0.1:{port}");
        let authority = certificates
            .as_ref()
            .map(|made| made.authority_pem.as_slice());
        server.wait_until_ready(&url, authority)?;
        Ok(Standalone {
            server: Some(server),
            url,
            port,
            certificates,
        })
    }
}
