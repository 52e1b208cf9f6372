//! Sockets that send as little as they can, or do not read.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use super::super::programs::Program;
use crate::Error;

/// Each sends a byte every half a second, not all in the same moment: a thousand at once are a burst, which is no slowness.
const TURNS: usize = 50;
const TURN: Duration = Duration::from_millis(10);
const SETTLE: Duration = Duration::from_secs(1);

/// The beginning of a request with a body.
pub(super) const HEAD: &str =
    "POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";

pub(super) fn connect(gateway: &Program) -> Result<TcpStream, Error> {
    let authority = gateway.address().split("//").nth(1).unwrap_or_default();
    TcpStream::connect(authority).map_err(|error| Error::Call {
        call: "a connection to the gateway".to_owned(),
        said: error.to_string(),
    })
}

/// Sockets that are slow until this is dropped.
pub(super) struct Slow {
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Slow {
    /// A third of them sends heads byte by byte, a third bodies, and a third asks for much and reads nothing.
    pub(super) fn start(gateway: &Program, count: usize) -> Result<Self, Error> {
        let mut sockets = Vec::new();
        for number in 0..count {
            sockets.push(SlowSocket::open(gateway, number)?);
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            for turn in (0..TURNS).cycle() {
                if seen.load(Ordering::Relaxed) {
                    break;
                }
                for socket in sockets.iter_mut().skip(turn).step_by(TURNS) {
                    socket.drip();
                }
                sleep(TURN);
            }
        });
        // That so many come at once is not what is measured.
        sleep(SETTLE);
        Ok(Self {
            is_over,
            thread: Some(thread),
        })
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct SlowSocket {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl SlowSocket {
    fn open(gateway: &Program, number: usize) -> Result<Self, Error> {
        let mut stream = connect(gateway)?;
        let body = format!("{HEAD}content-length: 5000\r\n\r\n");
        let (sent, rest) = match number % 3 {
            0 => (String::new(), HEAD.as_bytes().to_vec()),
            1 => (body, vec![b' '; 5000]),
            _ => (
                "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
                Vec::new(),
            ),
        };
        let _ = stream.write_all(sent.as_bytes());
        let _ = stream.set_nonblocking(true);
        Ok(Self { stream, rest })
    }

    /// One byte more. A socket that the gateway has closed stays closed.
    fn drip(&mut self) {
        if !self.rest.is_empty() {
            let byte = [self.rest.remove(0)];
            let _ = self.stream.write(&byte);
        }
    }
}
