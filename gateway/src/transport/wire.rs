//! The bytes of a connection, plain or through TLS, and who waits for them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::exchange::Exchange;
use super::framing::Framing;

/// What is read at most of a request that nobody waits for any more.
const LINGER_BYTES: usize = 4 << 20;

/// Either kind of stream.
pub(super) enum Stream {
    Plain(TcpStream),
    // It is large, and most connections are plain.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A stream that tells the [`Exchange`] what passes through it.
pub(super) struct Wire {
    stream: Stream,
    framing: Framing,
    exchange: Arc<Exchange>,
    /// A byte that was read to learn whether the client is still there.
    ahead: Option<u8>,
    /// How much was read since the answer was complete, if the client still sends.
    lingered: Option<usize>,
}

impl Wire {
    pub(super) fn new(stream: Stream, exchange: Arc<Exchange>) -> Self {
        Self {
            stream,
            framing: Framing::default(),
            exchange,
            ahead: None,
            lingered: None,
        }
    }

    fn noted<T>(&self, outcome: Poll<T>) -> Poll<T> {
        if outcome.is_pending() {
            self.exchange.write_blocked();
        }
        outcome
    }

    fn poll_stream(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }

    /// Fails when the client has left while it should wait. A request that nobody waits for is not worth its work.
    fn poll_presence(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        // While its body comes it is there, and a body must not be read byte by byte.
        let waits = self.exchange.client_waits() && !self.framing.is_in_body();
        if self.ahead.is_some() {
            if !waits {
                // hyper may believe that there is nothing to read.
                context.waker().wake_by_ref();
            }
            return Ok(());
        }
        if !waits {
            return Ok(());
        }
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        if let Poll::Ready(outcome) = self.poll_stream(context, &mut buffer) {
            outcome?;
            let first = buffer.filled().first().copied();
            self.ahead = Some(first.ok_or(io::ErrorKind::ConnectionReset)?);
        }
        Ok(())
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        let before = buffer.filled().len();
        match wire.ahead.take() {
            Some(byte) => buffer.put_slice(&[byte]),
            None => ready!(wire.poll_stream(context, buffer))?,
        }
        let bytes = &buffer.filled()[before..];
        if !bytes.is_empty() {
            wire.exchange.read(&mut wire.framing, bytes);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        };
        self.noted(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        };
        self.noted(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        };
        ready!(self.noted(outcome))?;
        // hyper flushes when its own buffer is empty, and each time it has nothing else to do.
        self.exchange.written();
        Poll::Ready(self.poll_presence(context))
    }

    /// A socket that is closed before it was read to its end takes the answer back from the client, so what the client
    /// still sends is read for a while.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingered.is_none() {
            let outcome = match &mut self.stream {
                Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
                Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            };
            ready!(self.noted(outcome))?;
            if !self.framing.is_in_request() {
                return Poll::Ready(Ok(()));
            }
            self.exchange.linger();
        }
        loop {
            let mut space = [0; 4096];
            let mut buffer = ReadBuf::new(&mut space);
            // It stays in place when the read is pending, so that the socket is not shut down again.
            let read = *self.lingered.get_or_insert(0);
            ready!(self.as_mut().poll_read(context, &mut buffer))?;
            self.lingered = Some(read + buffer.filled().len());
            if buffer.filled().is_empty() || read > LINGER_BYTES {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
