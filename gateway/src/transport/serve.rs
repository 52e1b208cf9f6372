//! Accepting connections, refusing those that are too many, and stopping.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::connection::{End, serve_connection};
use super::exchange::Exchange;
use super::stats::Open;
use super::wire::Stream;
use super::{Handler, Listener, Shutdown, TlsReloader, TransportSettings, TransportStats};
use crate::problem::Problem;
use lockless_client::workers::Workers;

/// The pause after the system could not give a connection, most often because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Connections that are told at one time that there are too many. Under a flood the others are just closed.
const REFUSALS: usize = 64;
/// The time a refused client has to read why.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
/// The time tasks have to notice that the grace is over.
const CUT_TIME: Duration = Duration::from_secs(1);

/// What all connections share.
struct Server<H> {
    handler: Arc<H>,
    tls: Option<TlsReloader>,
    settings: Arc<TransportSettings>,
    shutdown: Shutdown,
    cut: Shutdown,
    stats: Arc<TransportStats>,
    cut_off: AtomicUsize,
}

/// Serves until a shutdown is requested and requests under way are done. Returns how many were cut off.
pub async fn serve<H: Handler>(
    listener: Listener,
    handler: Arc<H>,
    settings: TransportSettings,
    shutdown: Shutdown,
    stats: Arc<TransportStats>,
    workers: Arc<Workers>,
) -> usize {
    let most = u32::try_from(settings.max_connections).unwrap_or(u32::MAX);
    let places = Arc::new(Semaphore::new(most as usize));
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    let (cut, is_cut) = Shutdown::new();
    let server = Arc::new(Server {
        handler,
        tls: listener.tls,
        settings: Arc::new(settings),
        shutdown: shutdown.clone(),
        cut: is_cut,
        stats,
        cut_off: AtomicUsize::new(0),
    });
    while let Some(socket) = accept(&listener.socket, &shutdown).await {
        // Without it the system may hold an answer back to send it with the next.
        let _ = socket.set_nodelay(true);
        match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => {
                let open = server.stats.accept();
                // A socket belongs to the scheduler it was made in, and changes over as a plain one.
                if let Ok(socket) = socket.into_std() {
                    workers.spawn(connection(Arc::clone(&server), socket, place, open));
                }
            }
            Err(_) => {
                server.stats.refuse();
                // A refusal can't be said without a handshake, which costs more than it is worth.
                if server.tls.is_none()
                    && let Ok(permit) = Arc::clone(&refusals).try_acquire_owned()
                {
                    tokio::spawn(refuse(socket, permit));
                }
            }
        }
    }
    drop(listener.socket);
    let grace = server.settings.shutdown_grace;
    if timeout(grace, places.acquire_many(most)).await.is_err() {
        cut.request();
        let _ = timeout(CUT_TIME, places.acquire_many(most)).await;
    }
    server.cut_off.load(Relaxed)
}

/// The next connection; none when a shutdown is requested.
async fn accept(listener: &tokio::net::TcpListener, shutdown: &Shutdown) -> Option<TcpStream> {
    let mut is_warned = false;
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.requested() => return None,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((socket, _)) => return Some(socket),
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                if !std::mem::replace(&mut is_warned, true) {
                    tracing::warn!(%error, "no connection can be accepted; trying again");
                }
                tokio::select! {
                    () = shutdown.requested() => return None,
                    () = sleep(ACCEPT_PAUSE) => {}
                }
            }
        }
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}

async fn connection<H: Handler>(
    server: Arc<Server<H>>,
    socket: std::net::TcpStream,
    _place: OwnedSemaphorePermit,
    _open: Open,
) {
    let Ok(socket) = TcpStream::from_std(socket) else {
        return;
    };
    let stream = match &server.tls {
        None => Stream::Plain(socket),
        // Boxed, because a handshake is much larger than what remains of it.
        Some(tls) => match Box::pin(handshake(&server, tls, socket)).await {
            Some(stream) => stream,
            None => return,
        },
    };
    let exchange = Exchange::new(Arc::clone(&server.settings), server.shutdown.clone());
    let handler = Arc::clone(&server.handler);
    let end = serve_connection(
        stream,
        handler,
        Arc::new(exchange),
        &server.shutdown,
        &server.cut,
    )
    .await;
    if end == End::CutOff {
        server.cut_off.fetch_add(1, Relaxed);
    }
}

async fn handshake<H>(server: &Server<H>, tls: &TlsReloader, socket: TcpStream) -> Option<Stream> {
    let acceptor = TlsAcceptor::from(tls.current());
    let outcome = tokio::select! {
        outcome = timeout(server.settings.tls_handshake_timeout, acceptor.accept(socket)) => outcome,
        () = server.shutdown.requested() => return None,
    };
    let why = match outcome {
        Ok(Ok(stream)) => return Some(Stream::Tls(Box::new(stream))),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it took too long".to_owned(),
    };
    server.stats.tls_failed();
    tracing::debug!(why, "TLS handshake failed");
    None
}

/// Tells a client that there are too many, and lets it read that before the socket is closed.
async fn refuse(mut socket: TcpStream, _permit: OwnedSemaphorePermit) {
    let problem = Problem::new(
        "TOO_MANY_CONNECTIONS",
        "the gateway has as many connections as it takes",
    );
    let body = problem.json();
    let head = format!(
        "HTTP/1.1 {}\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        problem.status(),
        body.len()
    );
    let told = async {
        socket.write_all(&[head.as_bytes(), &body].concat()).await?;
        socket.shutdown().await?;
        let mut rest = [0; 1024];
        while socket.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    // Whether the client stayed to read it is its own business.
    let _ = timeout(REFUSAL_TIME, told).await;
}
