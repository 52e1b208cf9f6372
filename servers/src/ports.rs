//! Free ports on 127.0.0.1.

use std::collections::HashSet;
#[cfg(target_os = "linux")]
use std::fs;
use std::net::TcpListener;
#[cfg(target_os = "linux")]
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::Error;

/// Above this a cluster's default bus port (port + 10,000) would not be a port any more.
const HIGHEST_PORT: u16 = 55_535;
const TRIES: usize = 500;

/// Ports given out in this process: two servers started at once must not be told the same one.
static GIVEN_OUT: Mutex<Option<HashSet<u16>>> = Mutex::new(None);

/// Ports that were free a moment ago. They may be taken again before the server binds them, so callers try again.
pub(crate) fn free_ports(count: usize) -> Result<Vec<u16>, Error> {
    let mut guard = GIVEN_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    let given_out = guard.get_or_insert_default();
    let mut ports = Vec::with_capacity(count);
    for _ in 0..TRIES {
        if ports.len() == count {
            return Ok(ports);
        }
        let port = TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .map_err(Error::NoPort)?
            .port();
        if port <= HIGHEST_PORT && given_out.insert(port) {
            ports.push(port);
        }
    }
    // A long run may have used the whole range; forget what was given out rather than fail for ever.
    given_out.clear();
    Err(Error::NoPort(std::io::Error::other(format!(
        "{TRIES} tries gave no {count} new ports"
    ))))
}

/// One free port.
pub(crate) fn free_port() -> Result<u16, Error> {
    free_ports(1)?
        .pop()
        .ok_or(Error::Invalid("No port was asked for."))
}

/// Whether this process is the one that listens on the port of 127.0.0.1.
#[cfg(target_os = "linux")]
pub(crate) fn listens(pid: u32, port: u16) -> bool {
    const LISTENING: &str = "0A";
    let own_address = format!("0100007F:{port:04X}");
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    // Columns: number, local address, remote address, state, and at the tenth place the socket's inode.
    let socket = table.lines().find_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let is_it =
            columns.get(1) == Some(&own_address.as_str()) && columns.get(3) == Some(&LISTENING);
        columns
            .get(9)
            .filter(|_| is_it)
            .map(|inode| PathBuf::from(format!("socket:[{inode}]")))
    });
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    socket.is_some_and(|socket| {
        files
            .flatten()
            .any(|file| fs::read_link(file.path()).is_ok_and(|link| link == socket))
    })
}

/// Other systems do not say; there a server that answers is taken for ours.
#[cfg(not(target_os = "linux"))]
pub(crate) fn listens(_pid: u32, _port: u16) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::free_ports;
    use std::collections::HashSet;

    #[test]
    fn ports_are_never_given_out_twice() {
        let first = free_ports(20).unwrap();
        let second = free_ports(20).unwrap();
        let all: HashSet<u16> = first.iter().chain(&second).copied().collect();
        assert_eq!(all.len(), 40);
    }
}
