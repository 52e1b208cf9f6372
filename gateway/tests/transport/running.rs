//! A server with a tiny handler, and a client that sends raw bytes to it.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Request, Response};
use lockless_client::workers::Workers;
use lockless_gateway::transport::{
    Body, BodyLimits, Handler, Peer, Room, Shutdown, ShutdownTrigger, TlsReloader,
    TransportSettings, TransportStats, bind, read_body, serve,
};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

/// Longer than anything here takes; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// A time limit that a test waits for.
pub(crate) const SHORT: Duration = Duration::from_millis(150);
/// The size of the answer of `/big`.
pub(crate) const BIG_BYTES: usize = 32 << 20;

/// What the handler tells the test, and the other way round.
#[derive(Default)]
pub(crate) struct Desk {
    started: AtomicUsize,
    dropped: AtomicUsize,
    gate: Notify,
}

struct Tiny {
    desk: Arc<Desk>,
    limits: BodyLimits,
    big: Bytes,
}

struct CountsDrop<'a>(&'a AtomicUsize);

impl Drop for CountsDrop<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Handler for Tiny {
    async fn handle(&self, request: Request<Incoming>, peer: &Peer) -> Response<Body> {
        let path = request.uri().path().to_owned();
        self.desk.started.fetch_add(1, Ordering::SeqCst);
        let _dropped = CountsDrop(&self.desk.dropped);
        match path.as_str() {
            "/echo" => match read_body(request.into_body(), &self.limits).await {
                Ok(received) => Response::new(Body::full(received.clone())),
                Err(problem) => problem.response(),
            },
            "/big" => Response::new(Body::full(self.big.clone())),
            "/never" => std::future::pending().await,
            "/gate" => {
                self.desk.gate.notified().await;
                Response::new(Body::full("through"))
            }
            "/long" => {
                peer.allow(PATIENCE);
                self.desk.gate.notified().await;
                Response::new(Body::full("through"))
            }
            "/panic" => panic!("on purpose"),
            "/stream" => {
                let (parts, receiver) = mpsc::channel(4);
                parts
                    .send(Bytes::from_static(b"first\n"))
                    .await
                    .expect("a reader");
                tokio::spawn(async move { parts.closed().await });
                Response::new(Body::stream(receiver))
            }
            "/flood" => {
                let (parts, receiver) = mpsc::channel(4);
                tokio::spawn(async move {
                    while parts.send(Bytes::from_static(&[b'x'; 65536])).await.is_ok() {}
                });
                Response::new(Body::stream(receiver))
            }
            _ => Response::new(Body::full("hello")),
        }
    }
}

/// A server of a test's own.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) stats: Arc<TransportStats>,
    pub(crate) tls: Option<TlsReloader>,
    desk: Arc<Desk>,
    bodies: Room,
    trigger: ShutdownTrigger,
    served: JoinHandle<usize>,
    runtime: Runtime,
}

/// Limits that no test reaches, unless it sets one.
pub(crate) fn generous() -> TransportSettings {
    TransportSettings {
        header_read_timeout: PATIENCE * 10,
        body_read_timeout: PATIENCE * 10,
        request_timeout: PATIENCE * 10,
        idle_timeout: PATIENCE * 10,
        write_timeout: PATIENCE * 10,
        tls_handshake_timeout: PATIENCE * 10,
        shutdown_grace: PATIENCE * 10,
        max_connections: 100,
        ..TransportSettings::new(SocketAddr::from(([127, 0, 0, 1], 0)))
    }
}

impl Running {
    pub(crate) fn start(settings: TransportSettings) -> Self {
        let runtime = Runtime::new().expect("threads");
        let guard = runtime.enter();
        let listener = bind(&settings).expect("a free port");
        let (trigger, shutdown) = Shutdown::new();
        let (stats, desk) = (Arc::<TransportStats>::default(), Arc::<Desk>::default());
        let limits = settings.body_limits();
        let bodies = limits.room.clone();
        let handler = Tiny {
            desk: Arc::clone(&desk),
            limits,
            big: Bytes::from(vec![b'x'; BIG_BYTES]),
        };
        let (address, tls) = (listener.addr(), listener.tls_reloader());
        // Several threads, as in the gateway itself.
        let workers = Workers::start(2).expect("threads");
        let served = serve(
            listener,
            Arc::new(handler),
            settings,
            shutdown,
            Arc::clone(&stats),
            workers,
        );
        let served = runtime.spawn(served);
        drop(guard);
        Self {
            address,
            stats,
            tls,
            desk,
            bodies,
            trigger,
            served,
            runtime,
        }
    }

    pub(crate) fn connect(&self) -> Client {
        let socket = TcpStream::connect(self.address).expect("a connection");
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
        socket.set_write_timeout(Some(PATIENCE)).expect("set");
        Client(socket)
    }

    /// Waits until so many requests have reached the handler.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        wait_until(|| self.desk.started.load(Ordering::SeqCst) >= count);
    }

    /// Waits until so many requests have left the handler, answered or not.
    pub(crate) fn wait_for_ends(&self, count: usize) {
        wait_until(|| self.desk.dropped.load(Ordering::SeqCst) >= count);
    }

    /// Waits until the bodies that are under way take so much memory.
    pub(crate) fn wait_for_body_memory(&self, is_it: impl Fn(usize) -> bool) {
        wait_until(|| is_it(self.bodies.taken_bytes()));
    }

    /// Lets all requests through that wait at the gate.
    pub(crate) fn open_gate(&self) {
        self.desk.gate.notify_waiters();
    }

    pub(crate) fn request_shutdown(&self) {
        self.trigger.request();
    }

    /// Waits for the server's end; returns how many requests were cut off.
    pub(crate) fn cut_off(self) -> usize {
        let ended = async { tokio::time::timeout(PATIENCE, self.served).await };
        let ended = self.runtime.block_on(ended);
        ended.expect("an end in time").expect("no panic")
    }
}

pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "it did not come true");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A client that sends what it is told.
pub(crate) struct Client(pub(crate) TcpStream);

impl Client {
    /// Sends; a server that has closed already is no failure here, but where the answer is read.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let _ = self.0.write_all(bytes.as_ref());
        self
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        self.answer()
    }

    /// One response with a Content-Length.
    pub(crate) fn answer(&mut self) -> Answer {
        answer(&mut self.0)
    }

    /// Whether the server closes, and nothing comes before that.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        match self.0.read(&mut byte) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn code(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).expect("a problem");
        body["code"].as_str().expect("a code").to_owned()
    }

    pub(crate) fn closes(&self) -> bool {
        self.head.contains("connection: close")
    }
}

/// The head of a response, in lower case.
pub(crate) fn head(stream: &mut impl Read) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        assert_eq!(
            stream.read(&mut byte).expect("an answer"),
            1,
            "closed after {head:?}"
        );
        head.push(byte[0]);
    }
    String::from_utf8(head).expect("text").to_lowercase()
}

/// One response with a Content-Length.
pub(crate) fn answer(stream: &mut impl Read) -> Answer {
    let head = head(stream);
    let status = head
        .split(' ')
        .nth(1)
        .expect("a status")
        .parse()
        .expect("a number");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().expect("a number"));
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("a body");
    Answer {
        status,
        head,
        body: String::from_utf8(body).expect("text"),
    }
}
