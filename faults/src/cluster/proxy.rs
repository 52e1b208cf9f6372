//! A TCP proxy on the loopback that delays, halts, cuts and resets what passes through it.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt::Linger};

use crate::Error;

const CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// What happens to bytes on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weather {
    /// They pass.
    Clear,
    /// Each part is late by this.
    Late(Duration),
    /// Requests pass, replies wait until the weather changes.
    NoReplies,
    /// Nothing passes until the weather changes.
    Halted,
    /// Connections are refused, and those there were are over.
    Down,
}

/// A proxy. Dropping it ends its connections.
pub(super) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    target: SocketAddr,
    weather: Mutex<Weather>,
    changed: Condvar,
    open: Mutex<HashMap<u64, Pair>>,
    accepted: AtomicU64,
    is_over: AtomicBool,
}

/// One connection of a client, and the one made for it.
struct Pair {
    client: TcpStream,
    server: TcpStream,
    is_reset: Arc<AtomicBool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Request,
    Reply,
}

impl Proxy {
    /// Passes connections on to this address.
    pub(super) fn start(target: SocketAddr) -> Result<Self, Error> {
        let no_port =
            |error: std::io::Error| Error::CannotRunHere(format!("no port for a proxy: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(no_port)?;
        let address = listener.local_addr().map_err(no_port)?;
        let shared = Arc::new(Shared {
            target,
            weather: Mutex::new(Weather::Clear),
            changed: Condvar::new(),
            open: Mutex::default(),
            accepted: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::Builder::new()
            .name("proxy".to_owned())
            .spawn(move || accept(&listener, &accepting))
            .map_err(no_port)?;
        Ok(Self { address, shared })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the weather, for connections that are open too.
    pub(super) fn set(&self, weather: Weather) {
        *lock(&self.shared.weather) = weather;
        self.shared.changed.notify_all();
        if weather == Weather::Down {
            self.end_all(false);
        }
    }

    /// Ends all connections in good order, with whatever was on its way.
    pub(super) fn cut(&self) {
        self.end_all(false);
    }

    /// Resets all connections: both ends are told that something is wrong.
    pub(super) fn reset(&self) {
        self.end_all(true);
    }

    fn end_all(&self, with_reset: bool) {
        let open = std::mem::take(&mut *lock(&self.shared.open));
        for pair in open.into_values() {
            pair.is_reset.store(with_reset, Ordering::Relaxed);
            for stream in [&pair.client, &pair.server] {
                if with_reset {
                    // A socket that lingers for no time is closed with a reset, once the threads that read have let it go.
                    let none = nix::libc::linger {
                        l_onoff: 1,
                        l_linger: 0,
                    };
                    let _ = setsockopt(stream, Linger, &none);
                }
                let _ = stream.shutdown(if with_reset {
                    Shutdown::Read
                } else {
                    Shutdown::Both
                });
            }
        }
        self.shared.changed.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.set(Weather::Down);
        // The listener's thread is woken by a last connection.
        let _ = TcpStream::connect_timeout(&self.address, CONNECT_WITHIN);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(client) = client else { continue };
        if *lock(&shared.weather) == Weather::Down {
            continue;
        }
        let Ok(server) = TcpStream::connect_timeout(&shared.target, CONNECT_WITHIN) else {
            continue;
        };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        if let Err(error) = join(client, server, shared) {
            eprintln!("the proxy can't pass a connection on: {error}");
        }
    }
}

fn join(client: TcpStream, server: TcpStream, shared: &Arc<Shared>) -> std::io::Result<()> {
    let number = shared.accepted.fetch_add(1, Ordering::Relaxed);
    let is_reset = Arc::new(AtomicBool::new(false));
    let ways = [
        (client.try_clone()?, server.try_clone()?, Direction::Request),
        (server.try_clone()?, client.try_clone()?, Direction::Reply),
    ];
    let pair = Pair {
        client,
        server,
        is_reset: Arc::clone(&is_reset),
    };
    lock(&shared.open).insert(number, pair);
    for (from, to, direction) in ways {
        let (shared, is_reset) = (Arc::clone(shared), Arc::clone(&is_reset));
        thread::Builder::new()
            .name("proxied".to_owned())
            .spawn(move || {
                pass(&from, &to, direction, &shared);
                lock(&shared.open).remove(&number);
                if !is_reset.load(Ordering::Relaxed) {
                    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                }
            })?;
    }
    Ok(())
}

fn pass(mut from: &TcpStream, mut to: &TcpStream, direction: Direction, shared: &Shared) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        shared.wait_for_passage(direction);
        if to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

impl Shared {
    fn wait_for_passage(&self, direction: Direction) {
        let mut weather = lock(&self.weather);
        loop {
            let is_stopped = match *weather {
                Weather::Clear | Weather::Down => return,
                Weather::Late(time) => {
                    drop(weather);
                    return thread::sleep(time);
                }
                Weather::NoReplies => direction == Direction::Reply,
                Weather::Halted => true,
            };
            if !is_stopped {
                return;
            }
            weather = self
                .changed
                .wait(weather)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::time::Instant;

    use super::*;

    /// A server that sends back what it gets.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().map(Result::unwrap) {
                thread::spawn(move || {
                    let (mut from, mut to) = (stream.try_clone().unwrap(), stream);
                    let _ = std::io::copy(&mut from, &mut to);
                });
            }
        });
        address
    }

    fn client(proxy: &Proxy) -> TcpStream {
        let stream = TcpStream::connect(proxy.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        stream
    }

    fn said(stream: &mut TcpStream) -> Result<String, ErrorKind> {
        let mut bytes = [0; 16];
        let count = stream.read(&mut bytes).map_err(|error| error.kind())?;
        Ok(String::from_utf8_lossy(&bytes[..count]).into_owned())
    }

    #[test]
    fn the_weather_holds_for_connections_that_are_open() {
        let proxy = Proxy::start(echo()).unwrap();
        let mut stream = client(&proxy);
        stream.write_all(b"one").unwrap();
        assert_eq!(said(&mut stream), Ok("one".to_owned()));

        proxy.set(Weather::NoReplies);
        stream.write_all(b"two").unwrap();
        assert_eq!(said(&mut stream), Err(ErrorKind::WouldBlock));
        proxy.set(Weather::Clear);
        assert_eq!(said(&mut stream), Ok("two".to_owned()));

        proxy.set(Weather::Late(Duration::from_millis(50)));
        let begin = Instant::now();
        stream.write_all(b"three").unwrap();
        assert_eq!(said(&mut stream), Ok("three".to_owned()));
        assert!(begin.elapsed() >= Duration::from_millis(100));
    }

    #[test]
    fn a_cut_is_an_end_and_a_reset_an_error() {
        let proxy = Proxy::start(echo()).unwrap();
        for with_reset in [false, true] {
            let mut stream = client(&proxy);
            stream.write_all(b"one").unwrap();
            assert_eq!(said(&mut stream), Ok("one".to_owned()));
            if with_reset {
                proxy.reset();
                assert_eq!(said(&mut stream), Err(ErrorKind::ConnectionReset));
            } else {
                proxy.cut();
                assert_eq!(said(&mut stream), Ok(String::new()));
            }
        }
    }
}
