//! What one connection is doing, and until when.
//!
//! The connection's task, its socket and its handler all write here; the task looks at it when its one timer fires.
//! A new deadline is never nearer than the shortest time limit, and the timer never sleeps longer than that, so it
//! need not be set again for each request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::framing::Framing;
use super::{Shutdown, TransportSettings};

/// The time that is left to a client whose request was not read to its end, to read the answer.
const LINGER: Duration = Duration::from_secs(1);
const NEVER: u64 = u64::MAX;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// Nothing, or writing an answer that is complete.
    Idle,
    /// Reading a head.
    Head,
    /// Waiting for the handler.
    Handling,
    /// Writing an answer as it comes.
    Streaming,
    /// Waiting for the client to close.
    Lingering,
}

/// What is to be done when a deadline has passed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing more before this time.
    Nothing { until: Instant },
    /// The connection ends.
    Cut(&'static str),
}

/// What one connection is doing, and until when. Times are milliseconds since it was accepted.
///
/// It is shared within one task, so the atomics need no order among each other.
#[derive(Debug)]
pub(super) struct Exchange {
    settings: Arc<TransportSettings>,
    shutdown: Shutdown,
    accepted: Instant,
    phase: AtomicU8,
    deadline: AtomicU64,
    write_deadline: AtomicU64,
    handler_is_over: AtomicBool,
    requests: AtomicU64,
    heads: AtomicU64,
    is_in_body: AtomicBool,
    refused: AtomicU64,
}

impl Exchange {
    pub(super) fn new(settings: Arc<TransportSettings>, shutdown: Shutdown) -> Self {
        let exchange = Self {
            settings,
            shutdown,
            accepted: Instant::now(),
            phase: AtomicU8::new(Phase::Head as u8),
            deadline: AtomicU64::new(NEVER),
            write_deadline: AtomicU64::new(NEVER),
            handler_is_over: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            heads: AtomicU64::new(0),
            is_in_body: AtomicBool::new(false),
            refused: AtomicU64::new(NEVER),
        };
        exchange.enter(Phase::Head, exchange.settings.header_read_timeout);
        exchange
    }

    fn ms(&self, from_now: Duration) -> u64 {
        let time = self.accepted.elapsed().saturating_add(from_now);
        u64::try_from(time.as_millis()).unwrap_or(NEVER)
    }

    fn enter(&self, phase: Phase, time: Duration) {
        self.phase.store(phase as u8, Relaxed);
        self.deadline.store(self.ms(time), Relaxed);
    }

    fn is(&self, phase: Phase) -> bool {
        self.phase.load(Relaxed) == phase as u8
    }

    pub(super) fn is_shutting_down(&self) -> bool {
        self.shutdown.is_requested()
    }

    /// Whether a request is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.is_writing() || self.client_waits()
    }

    fn is_writing(&self) -> bool {
        self.write_deadline.load(Relaxed) != NEVER
    }

    /// Whether the client has nothing to do but wait.
    pub(super) fn client_waits(&self) -> bool {
        self.is(Phase::Handling) || self.is(Phase::Streaming)
    }

    /// Bytes came in.
    pub(super) fn read(&self, framing: &mut Framing, bytes: &[u8]) {
        if !framing.read(bytes) {
            self.refused.store(framing.heads() + 1, Relaxed);
        }
        self.heads.store(framing.heads(), Relaxed);
        self.is_in_body.store(framing.is_in_body(), Relaxed);
        if self.is(Phase::Idle) {
            self.enter(Phase::Head, self.settings.header_read_timeout);
        }
    }

    /// The client does not take what is written. It has so much time for all that is buffered.
    pub(super) fn write_blocked(&self) {
        if !self.is_writing() {
            self.write_deadline
                .store(self.ms(self.settings.write_timeout), Relaxed);
        }
    }

    /// All that was buffered is written.
    pub(super) fn written(&self) {
        if !self.is_writing() {
            return;
        }
        self.write_deadline.store(NEVER, Relaxed);
        if self.is(Phase::Idle) {
            self.enter(Phase::Idle, self.settings.idle_timeout);
        }
    }

    /// The answer is written, and the request was not read to its end.
    pub(super) fn linger(&self) {
        self.enter(Phase::Lingering, LINGER);
    }

    /// A request's head is complete. False when it does not say clearly how long its body is.
    pub(super) fn begin(&self) -> bool {
        self.handler_is_over.store(false, Relaxed);
        self.enter(Phase::Handling, self.settings.request_timeout);
        let number = self.requests.fetch_add(1, Relaxed) + 1;
        number < self.refused.load(Relaxed)
    }

    pub(super) fn handler_is_over(&self) -> bool {
        self.handler_is_over.load(Relaxed)
    }

    /// The handler has answered. False when the request's body is not all there, so that the connection can't go on.
    pub(super) fn answered(&self, with_stream: bool) -> bool {
        if with_stream {
            self.phase.store(Phase::Streaming as u8, Relaxed);
            self.deadline.store(NEVER, Relaxed);
        } else {
            self.enter(Phase::Idle, self.settings.idle_timeout);
        }
        let is_last_head = self.requests.load(Relaxed) == self.heads.load(Relaxed);
        !(is_last_head && self.is_in_body.load(Relaxed))
    }

    pub(super) fn stream_ended(&self) {
        self.enter(Phase::Idle, self.settings.idle_timeout);
    }

    /// The time at which the next deadline passes, if there is one.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let next = match self.write_deadline.load(Relaxed) {
            // A client that has yet to read an answer has no other deadline.
            NEVER => self.deadline.load(Relaxed),
            write => write,
        };
        (next != NEVER).then(|| self.accepted + Duration::from_millis(next))
    }

    /// What is to be done now. A handler whose time is up is told by [`Self::handler_is_over`].
    pub(super) fn due(&self) -> Due {
        let now = Instant::now();
        if self.next_deadline().is_some_and(|next| next <= now) {
            if self.is_writing() {
                return Due::Cut("the client does not read");
            }
            if !self.is(Phase::Handling) {
                return Due::Cut("the time for the next request is up");
            }
            self.handler_is_over.store(true, Relaxed);
            self.deadline.store(NEVER, Relaxed);
        }
        let nap = now + self.settings.shortest_timeout();
        Due::Nothing {
            until: self.next_deadline().map_or(nap, |next| next.min(nap)),
        }
    }
}

/// The other end of a request's connection.
#[derive(Debug, Clone)]
pub struct Peer(Arc<Exchange>);

impl Peer {
    pub(super) fn new(exchange: &Arc<Exchange>) -> Self {
        Self(Arc::clone(exchange))
    }

    /// Gives the request so much time from now, if it has less.
    pub fn allow(&self, time: Duration) {
        let exchange = &self.0;
        if exchange.is(Phase::Handling) {
            exchange.deadline.fetch_max(exchange.ms(time), Relaxed);
        }
    }
}
