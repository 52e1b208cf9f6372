//! Connections to servers, and what their refusals mean.

use std::time::Duration;

use lockless_topology::{Address, Login};
use redis::{
    Client, ClientTlsConfig, Cmd, Connection, ConnectionAddr, ErrorKind, FromRedisValue,
    IntoConnectionInfo, RedisConnectionInfo, RedisError, ServerErrorKind, TlsCertificates,
};

use super::problem::Problem;

const TIMEOUT_SECONDS: u64 = 5;
const TIMEOUT: Duration = Duration::from_secs(TIMEOUT_SECONDS);

/// How to talk TLS.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    /// The authority to trust, as PEM; without one, those of the system.
    pub(crate) authority: Option<Vec<u8>>,
    /// A client's certificate and key, as PEM.
    pub(crate) client: Option<(Vec<u8>, Vec<u8>)>,
    /// Trust any certificate.
    pub(crate) insecure: bool,
}

/// What it takes to connect to the servers of one deployment.
#[derive(Clone, Default)]
pub(crate) struct Access {
    pub(crate) login: Login,
    pub(crate) tls: Option<Tls>,
}

/// A connection to one server.
pub(crate) struct Link {
    connection: Connection,
    pub(crate) address: Address,
}

impl Access {
    pub(crate) fn connect(&self, address: &Address) -> Result<Link, Problem> {
        let explain = |error: RedisError| explain(&error, address, "a connection");
        let connection = self
            .client(address)
            .map_err(explain)?
            .get_connection_with_timeout(TIMEOUT)
            .map_err(explain)?;
        connection
            .set_read_timeout(Some(TIMEOUT))
            .map_err(explain)?;
        connection
            .set_write_timeout(Some(TIMEOUT))
            .map_err(explain)?;
        Ok(Link {
            connection,
            address: address.clone(),
        })
    }

    fn client(&self, address: &Address) -> Result<Client, RedisError> {
        let (host, port) = (address.host.clone(), address.port);
        let mut settings = RedisConnectionInfo::default().set_skip_set_lib_name();
        if let Some(user) = &self.login.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &self.login.password {
            settings = settings.set_password(password);
        }
        let Some(tls) = &self.tls else {
            return Client::open(
                (host, port)
                    .into_connection_info()?
                    .set_redis_settings(settings),
            );
        };
        // An error means that a provider was chosen before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let secured = ConnectionAddr::TcpTls {
            host,
            port,
            insecure: tls.insecure,
            tls_params: None,
        };
        let info = secured.into_connection_info()?.set_redis_settings(settings);
        if tls.authority.is_none() && tls.client.is_none() {
            return Client::open(info);
        }
        let client_tls = tls
            .client
            .clone()
            .map(|(client_cert, client_key)| ClientTlsConfig {
                client_cert,
                client_key,
            });
        Client::build_with_tls(
            info,
            TlsCertificates {
                client_tls,
                root_cert: tls.authority.clone(),
            },
        )
    }
}

impl Link {
    /// Sends a command; `name` is how a problem calls it.
    pub(crate) fn ask<T: FromRedisValue>(
        &mut self,
        name: &'static str,
        command: &Cmd,
    ) -> Result<T, Problem> {
        self.try_ask(command)
            .map_err(|error| explain(&error, &self.address, name))
    }

    /// Sends a command whose refusal the caller understands.
    pub(crate) fn try_ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, RedisError> {
        command.query(&mut self.connection)
    }
}

/// The sentence for what went wrong.
pub(crate) fn explain(error: &RedisError, address: &Address, command: &'static str) -> Problem {
    let address = address.clone();
    let answer = || one_sentence(error);
    match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) | (_, Some("WRONGPASS")) => {
            Problem::WrongPassword { address }
        }
        (_, Some("NOAUTH")) => Problem::PasswordNeeded { address },
        (ErrorKind::Server(ServerErrorKind::NoPerm), _) => Problem::NoPermission {
            address,
            answer: answer(),
        },
        (ErrorKind::Server(ServerErrorKind::ReadOnly), _) => Problem::Replica {
            address,
            primary: "which it does not name".to_owned(),
        },
        _ if is_unknown_function_command(error) => Problem::NoFunctions { address },
        _ if error.is_timeout() => Problem::NoAnswer {
            address,
            seconds: TIMEOUT_SECONDS,
        },
        (ErrorKind::Io, _) if is_about_tls(error) => Problem::Tls {
            address,
            reason: answer(),
        },
        _ if error.is_connection_dropped() && !error.is_connection_refusal() => {
            Problem::Closed { address }
        }
        (ErrorKind::Io, _) => Problem::Unreachable {
            address,
            reason: answer(),
        },
        _ => Problem::Refused {
            address,
            command,
            answer: answer(),
        },
    }
}

fn is_unknown_function_command(error: &RedisError) -> bool {
    let text = error.to_string().to_ascii_lowercase();
    text.contains("unknown command") && text.contains("function")
}

fn is_about_tls(error: &RedisError) -> bool {
    let text = error.to_string().to_ascii_lowercase();
    [
        "certificate",
        "tls",
        "corrupt message",
        "handshake",
        "unknownissuer",
    ]
    .iter()
    .any(|word| text.contains(word))
}

/// A server's or a library's words, on one line and without the full stop that ours adds.
fn one_sentence(error: &RedisError) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches('.')
        .to_owned()
}
