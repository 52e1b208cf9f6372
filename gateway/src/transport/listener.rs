//! The socket that is listened on.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

use super::{TlsReloader, TransportSettings};

/// Connections that may wait to be accepted. The system may allow fewer.
const BACKLOG: u32 = 4096;
/// Open files beside connections of callers: to Redis, for refusals, for the log.
const OTHER_FILES: u64 = 1024;

/// A socket that is listened on, ready to be served.
#[derive(Debug)]
pub struct Listener {
    pub(super) socket: TcpListener,
    pub(super) tls: Option<TlsReloader>,
    address: SocketAddr,
}

impl Listener {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// What reads the certificate again, if there is one.
    pub fn tls_reloader(&self) -> Option<TlsReloader> {
        self.tls.clone()
    }
}

/// Listens, within a tokio runtime. The error is a sentence for the user.
pub fn bind(settings: &TransportSettings) -> Result<Listener, String> {
    let tls = settings.tls.as_ref().map(TlsReloader::new).transpose()?;
    let listen = settings.listen;
    let socket = open(listen).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            format!("{listen} is in use by another process; choose another with --listen")
        }
        ErrorKind::AddrNotAvailable => {
            format!("{listen} is not an address of this machine; choose another with --listen")
        }
        ErrorKind::PermissionDenied => format!("listening on {listen} is not permitted: {error}"),
        _ => format!("listening on {listen} failed: {error}"),
    })?;
    let address = socket
        .local_addr()
        .map_err(|error| format!("listening on {listen} failed: {error}"))?;
    allow_files(settings.max_connections);
    Ok(Listener {
        socket,
        tls,
        address,
    })
}

fn open(listen: SocketAddr) -> io::Result<TcpListener> {
    let socket = match listen {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A gateway that is started again must not wait for the connections of the one before.
    socket.set_reuseaddr(true)?;
    socket.bind(listen)?;
    socket.listen(BACKLOG)
}

/// Raises the limit of open files to what so many connections need, as far as the system allows.
fn allow_files(max_connections: usize) {
    let wanted = u64::try_from(max_connections)
        .unwrap_or(u64::MAX)
        .saturating_add(OTHER_FILES);
    match rlimit::increase_nofile_limit(wanted) {
        Ok(allowed) if allowed < wanted => tracing::warn!(
            allowed,
            wanted,
            "fewer open files are allowed than --max-connections needs; raise the hard limit (ulimit -Hn)"
        ),
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, wanted, "the limit of open files could not be raised"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_that_is_taken_is_said_so() {
        let any = "127.0.0.1:0".parse().expect("an address");
        let first = bind(&TransportSettings::new(any)).expect("a free port");
        let error = bind(&TransportSettings::new(first.addr())).expect_err("taken");
        assert!(
            error.contains("in use") && error.contains("--listen"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn an_address_of_another_machine_is_said_so() {
        let other = "192.0.2.1:0".parse().expect("an address");
        let error = bind(&TransportSettings::new(other)).expect_err("elsewhere");
        assert!(error.contains("not an address of this machine"), "{error}");
    }
}
