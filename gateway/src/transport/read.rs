//! Reading the body of a request, within limits.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::body::{Body as _, Frame, Incoming};
use tokio::time::sleep;

use super::room::{Held, Received, Room};
use crate::problem::Problem;

/// What a body may take.
#[derive(Debug, Clone)]
pub struct BodyLimits {
    /// Its size.
    pub max_bytes: u64,
    /// The time from the head to its end.
    pub timeout: Duration,
    /// The memory of all bodies together.
    pub room: Room,
}

/// Reads a body to its end. A body that comes in one piece is not copied.
pub async fn read_body(mut body: Incoming, limits: &BodyLimits) -> Result<Received, Problem> {
    // The Content-Length, if there was one: too much is refused before it is sent.
    if body.size_hint().lower() > limits.max_bytes {
        return Err(too_large(limits));
    }
    let mut reading = pin!(collect(&mut body, limits));
    // hyper hands over a body that has arrived in its next turn, so most bodies need no timer.
    if let Some(done) = two_turns(reading.as_mut()).await {
        return done;
    }
    tokio::select! {
        biased;
        done = reading => done,
        () = sleep(limits.timeout) => Err(Problem::new(
            "REQUEST_TIMEOUT",
            format!("the body did not arrive within {} ms", limits.timeout.as_millis()),
        )),
    }
}

/// The future's result, if it has one in this turn of the task or the next.
async fn two_turns<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    let mut is_second = false;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if is_second => Poll::Ready(None),
        Poll::Pending => {
            is_second = true;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

async fn collect(body: &mut Incoming, limits: &BodyLimits) -> Result<Received, Problem> {
    let Some(first) = next(body).await? else {
        return Ok(Received::default());
    };
    let mut held = limits.room.nothing();
    let within = |bytes: usize| match u64::try_from(bytes) {
        Ok(bytes) if bytes <= limits.max_bytes => Ok(()),
        _ => Err(too_large(limits)),
    };
    within(first.len())?;
    held.grow_to(first.len())?;
    if body.is_end_stream() {
        return Ok(held.with(first));
    }
    let Some(second) = next(body).await? else {
        return Ok(held.with(first));
    };
    // It grows with what arrives, not with what was announced.
    let mut whole = BytesMut::from(first);
    let mut part = second;
    loop {
        within(whole.len() + part.len())?;
        reserve(&mut whole, part.len(), &mut held)?;
        whole.extend_from_slice(&part);
        match next(body).await? {
            Some(next) => part = next,
            None => return Ok(held.with(whole.freeze())),
        }
    }
}

/// Makes a buffer large enough for so many more bytes, half as large again as it was: copying stays rare, and what is counted is
/// what is taken.
fn reserve(whole: &mut BytesMut, more: usize, held: &mut Held<'_>) -> Result<(), Problem> {
    let needed = whole.len() + more;
    if needed <= whole.capacity() {
        return Ok(());
    }
    let wanted = needed.max(whole.capacity() + whole.capacity() / 2);
    held.grow_to(wanted)?;
    let mut larger = BytesMut::with_capacity(wanted);
    larger.extend_from_slice(whole);
    *whole = larger;
    Ok(())
}

/// The next bytes; trailers are passed over.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Problem> {
    loop {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        match frame.map(|frame| frame.map(Frame::into_data)) {
            None => return Ok(None),
            Some(Ok(Ok(bytes))) => return Ok(Some(bytes)),
            Some(Ok(Err(_))) => {}
            Some(Err(_)) => {
                return Err(Problem::bad_argument(
                    "the body broke off, or its chunks are malformed",
                ));
            }
        }
    }
}

fn too_large(limits: &BodyLimits) -> Problem {
    Problem::new(
        "TOO_LARGE",
        format!(
            "the body takes at most {} bytes (--max-body-bytes)",
            limits.max_bytes
        ),
    )
}
