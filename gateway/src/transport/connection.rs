//! One connection: hyper, its handler and its deadlines, in one task.

use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, sleep_until};

use super::exchange::{Due, Exchange};
use super::wire::{Stream, Wire};
use super::{Body, Handler, Peer, Shutdown};
use crate::problem::Problem;

const MAX_HEADERS: usize = 64;
/// The largest head, and what is buffered of bodies in either direction.
const BUFFER_BYTES: usize = 64 * 1024;

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By itself, or by a deadline.
    Done,
    /// At the end of the shutdown's grace, with a request under way.
    CutOff,
}

/// Serves the requests of one connection. `cut` ends it at once.
pub(super) async fn serve_connection<H: Handler>(
    stream: Stream,
    handler: Arc<H>,
    exchange: Arc<Exchange>,
    shutdown: &Shutdown,
    cut: &Shutdown,
) -> End {
    let peer = Peer::new(&exchange);
    let (handler, peer, exchange) = (&*handler, &peer, &exchange);
    let service = service_fn(move |request: Request<Incoming>| async move {
        Ok::<_, Infallible>(answer(handler, exchange, peer, request).await)
    });
    // hyper's own time-out for heads also counts the pause before a request, and makes a timer for each.
    // Its pipeline_flush would hold answers back, without limit, for as long as half a request is buffered.
    // Half-closed connections are left to the wire, which notices without a second buffer that the client has left.
    let mut connection = pin!(
        http1::Builder::new()
            .header_read_timeout(None)
            .half_close(true)
            .max_buf_size(BUFFER_BYTES)
            .max_header_size(BUFFER_BYTES)
            .serve_connection(
                TokioIo::new(Wire::new(stream, Arc::clone(exchange))),
                service
            )
    );

    let (mut asked, mut cut_off) = (pin!(shutdown.requested()), pin!(cut.requested()));
    let mut armed = Instant::now();
    let mut timer = pin!(sleep_until(armed));
    let (mut listens, mut is_closing) = (false, false);
    poll_fn(|context: &mut Context<'_>| {
        if !listens {
            // Once is enough: the waker of a task does not change, and what they say can be looked up.
            let _ = (asked.as_mut().poll(context), cut_off.as_mut().poll(context));
            listens = true;
        }
        if cut.is_requested() {
            return Poll::Ready(if exchange.is_busy() {
                End::CutOff
            } else {
                End::Done
            });
        }
        if shutdown.is_requested() && !is_closing {
            is_closing = true;
            connection.as_mut().graceful_shutdown();
        }
        while timer.as_mut().poll(context).is_ready() {
            match exchange.due() {
                Due::Nothing { until } => armed = until,
                Due::Cut(why) => {
                    tracing::debug!(why, "connection closed");
                    return Poll::Ready(End::Done);
                }
            }
            timer.as_mut().reset(armed);
        }
        if let Poll::Ready(done) = connection.as_mut().poll(context) {
            if let Err(error) = done {
                tracing::debug!(%error, "connection ended");
            }
            return Poll::Ready(End::Done);
        }
        if let Some(next) = exchange.next_deadline().filter(|next| *next < armed) {
            armed = next;
            timer.as_mut().reset(armed);
            if timer.as_mut().poll(context).is_ready() {
                context.waker().wake_by_ref();
            }
        }
        Poll::Pending
    })
    .await
}

/// The handler's answer, or one in its place.
async fn answer<H: Handler>(
    handler: &H,
    exchange: &Arc<Exchange>,
    peer: &Peer,
    request: Request<Incoming>,
) -> Response<Body> {
    if !exchange.begin() {
        let problem = Problem::bad_argument(
            "a request gives the length of its body once: one Content-Length, or Transfer-Encoding: chunked",
        );
        return last(exchange, problem.response());
    }
    if request.headers().len() > MAX_HEADERS {
        let mut response = Response::new(Body::full(""));
        *response.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return last(exchange, response);
    }
    let mut handling = pin!(handler.handle(request, peer));
    let outcome = poll_fn(|context| {
        if exchange.handler_is_over() {
            return Poll::Ready(Err(Problem::new(
                "REDIS_SLOW",
                "the request took longer than the gateway allows; it may have been done; the same request may be sent again",
            )));
        }
        // A mistake in one request must not end the others.
        match catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(context))) {
            Ok(outcome) => outcome.map(Ok),
            Err(_) => Poll::Ready(Err(Problem::new("INTERNAL", "the request could not be answered"))),
        }
    })
    .await;
    let mut response = match outcome {
        Ok(response) => response,
        Err(problem) => {
            tracing::error!(code = problem.code(), "the handler gave no answer");
            return last(exchange, problem.response());
        }
    };
    let with_stream = response.body_mut().attach(exchange);
    if !exchange.answered(with_stream) {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// An answer after which the connection ends.
fn last(exchange: &Exchange, mut response: Response<Body>) -> Response<Body> {
    exchange.answered(false);
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
