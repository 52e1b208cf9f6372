//! Connections to the servers this crate started.

use std::time::Duration;

use redis::{
    Client, Cmd, Connection, FromRedisValue, RedisError, RedisResult, ServerErrorKind,
    TlsCertificates,
};

use crate::Error;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Opens a connection; `ca` is the certificate, as PEM, that a TLS server's own is checked against.
pub(crate) fn connect(url: &str, ca: Option<&[u8]>) -> RedisResult<Connection> {
    let client = match ca {
        None => Client::open(url)?,
        Some(ca) => {
            // An error means that a provider was chosen before, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
            Client::build_with_tls(
                url,
                TlsCertificates {
                    client_tls: None,
                    root_cert: Some(ca.to_vec()),
                },
            )?
        }
    };
    let connection = client.get_connection_with_timeout(TIMEOUT)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.set_write_timeout(Some(TIMEOUT))?;
    Ok(connection)
}

/// A connection to a server on this machine without TLS.
pub(crate) fn connect_local(port: u16) -> Result<Connection, Error> {
    connect(&format!("redis://127.0.0.1:{port}"), None).map_err(|source| Error::Command {
        port,
        command: "a connection",
        source,
    })
}

/// Whether the server answers. Asking for a password is an answer; still loading its data is not.
pub(crate) fn ping(url: &str, ca: Option<&[u8]>) -> Result<(), RedisError> {
    match connect(url, ca).and_then(|mut connection| redis::cmd("PING").exec(&mut connection)) {
        Err(error) if is_answer(&error) => Ok(()),
        other => other,
    }
}

fn is_answer(error: &RedisError) -> bool {
    match error.kind() {
        redis::ErrorKind::AuthenticationFailed => true,
        redis::ErrorKind::Server(kind) => kind != ServerErrorKind::BusyLoading,
        _ => error.code().is_some(),
    }
}

/// Sends one command of a set-up; `name` is how an error calls it.
pub(crate) fn ask<T: FromRedisValue>(
    connection: &mut Connection,
    port: u16,
    name: &'static str,
    command: &Cmd,
) -> Result<T, Error> {
    command.query(connection).map_err(|source| Error::Command {
        port,
        command: name,
        source,
    })
}

/// The value of one line of `INFO`'s reply.
pub(crate) fn info_field(
    connection: &mut Connection,
    port: u16,
    field: &str,
) -> Result<Option<String>, Error> {
    let info: String = ask(connection, port, "INFO", &redis::cmd("INFO"))?;
    Ok(info
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .map(|value| value.trim().to_owned()))
}
