//! Finds out whether there is Docker.

use std::env;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// How a container's port is reached from here.
#[cfg_attr(
    not(feature = "docker"),
    allow(dead_code, reason = "only a container reads it")
)]
pub(crate) enum Network {
    /// Docker maps a port of this machine to the container's; `None` lets it choose.
    Mapped(Option<u16>),
    /// The container shares this machine's network and listens on the port itself, as cluster nodes must: they tell
    /// each other and their clients the address they listen on.
    Host(u16),
}

/// Whether a Docker daemon answers where testcontainers will look for one.
pub(crate) fn answers() -> bool {
    match env::var("DOCKER_HOST") {
        Ok(host) if !host.is_empty() => host_answers(&host),
        _ => default_sockets()
            .iter()
            .any(|socket| socket_answers(socket)),
    }
}

fn default_sockets() -> Vec<PathBuf> {
    let mut sockets = vec![PathBuf::from("/var/run/docker.sock")];
    for (variable, path) in [
        ("XDG_RUNTIME_DIR", ".docker/run/docker.sock"),
        ("HOME", ".docker/run/docker.sock"),
        ("HOME", ".docker/desktop/docker.sock"),
    ] {
        sockets.extend(env::var_os(variable).map(|dir| PathBuf::from(dir).join(path)));
    }
    sockets
}

fn host_answers(host: &str) -> bool {
    if let Some(socket) = host.strip_prefix("unix://") {
        return socket_answers(Path::new(socket));
    }
    let Some((_, address)) = host.split_once("://") else {
        return false;
    };
    let Ok(mut addresses) = address.trim_end_matches('/').to_socket_addrs() else {
        return false;
    };
    // A daemon behind TLS cannot be asked in plain HTTP; that it accepts a connection has to do.
    let is_plain = !host.starts_with("https://") && env::var_os("DOCKER_TLS_VERIFY").is_none();
    addresses.any(|address| {
        TcpStream::connect_timeout(&address, PING_TIMEOUT).is_ok_and(|stream| {
            let _ = stream.set_read_timeout(Some(PING_TIMEOUT));
            !is_plain || ping(stream)
        })
    })
}

fn socket_answers(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok_and(|stream| {
        let _ = stream.set_read_timeout(Some(PING_TIMEOUT));
        ping(stream)
    })
}

fn ping(mut stream: impl Read + Write) -> bool {
    if stream
        .write_all(b"GET /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n")
        .is_err()
    {
        return false;
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).is_ok() && answer.ends_with(b" 200")
}

#[cfg(test)]
mod tests {
    use super::host_answers;

    #[test]
    fn a_host_where_nothing_listens_does_not_answer() {
        assert!(!host_answers("unix:///nowhere/docker.sock"));
        assert!(!host_answers("tcp://127.0.0.1:1"));
        assert!(!host_answers("nonsense"));
    }
}
