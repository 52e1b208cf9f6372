//! Bodies of responses.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::mpsc;

use super::exchange::Exchange;

/// What a response carries: bytes that are there, or a stream of them.
#[derive(Debug)]
pub struct Body(Kind);

#[derive(Debug)]
enum Kind {
    Full(Bytes),
    Stream(Stream),
}

struct Stream {
    parts: mpsc::Receiver<Bytes>,
    exchange: Option<Arc<Exchange>>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stream").finish_non_exhaustive()
    }
}

impl Body {
    /// All of it at once.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Full(bytes.into()))
    }

    /// What comes through the channel, until its senders are gone or the gateway shuts down.
    pub fn stream(parts: mpsc::Receiver<Bytes>) -> Self {
        Self(Kind::Stream(Stream {
            parts,
            exchange: None,
        }))
    }

    /// Ties a stream to its connection; false when it is not a stream.
    pub(super) fn attach(&mut self, exchange: &Arc<Exchange>) -> bool {
        match &mut self.0 {
            Kind::Full(_) => false,
            Kind::Stream(stream) => {
                stream.exchange = Some(Arc::clone(exchange));
                true
            }
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::full(bytes)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(exchange) = &self.exchange {
            exchange.stream_ended();
        }
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Kind::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Stream(stream) => {
                // The connection's task is woken by a shutdown, and asks here again.
                let ends = stream
                    .exchange
                    .as_ref()
                    .is_some_and(|exchange| exchange.is_shutting_down());
                if ends {
                    return Poll::Ready(None);
                }
                stream
                    .parts
                    .poll_recv(context)
                    .map(|part| part.map(|part| Ok(Frame::data(part))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Full(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}
