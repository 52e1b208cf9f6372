//! What slow sockets make the gateway keep.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::super::programs::Program;
use super::sockets::{HEAD, connect};
use super::{BODY_BYTES, SOCKETS};
use crate::Error;
use crate::outcome::Outcome;
use crate::run::Run;

/// Has bodies sent that do not end, and says how much memory the gateway took at most.
pub(super) fn fill(run: &Run, gateway: &Program, outcome: &mut Outcome) -> Result<u64, Error> {
    outcome.rounds += 1;
    let head = format!("{HEAD}content-length: {BODY_BYTES}\r\n\r\n");
    let mut unsent: Vec<(TcpStream, usize)> = Vec::new();
    for _ in 0..SOCKETS {
        let mut stream = connect(gateway)?;
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.set_nonblocking(true);
        unsent.push((stream, BODY_BYTES - 1));
    }
    let part = vec![b' '; 64 * 1024];
    let mut most_bytes = 0;
    let begin = Instant::now();
    // A gateway that does not take it is not made to: it may refuse, or read no further.
    while begin.elapsed() < Duration::from_secs(6) {
        run.check()?;
        let mut has_sent = false;
        for (stream, left) in &mut unsent {
            if *left == 0 {
                continue;
            }
            match stream.write(&part[..part.len().min(*left)]) {
                Ok(count) => {
                    *left -= count;
                    has_sent = true;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => *left = 0,
            }
        }
        most_bytes = most_bytes.max(gateway.memory_bytes()?);
        if !has_sent {
            sleep(Duration::from_millis(50));
        }
    }
    Ok(most_bytes)
}
