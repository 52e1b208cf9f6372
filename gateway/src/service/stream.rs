//! `text/event-stream`: a call that is made again with where it was, whenever there is news, for as long as someone reads.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{ACCEPT, CACHE_CONTROL, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Response};
use lockless_functions::api::{self, FieldKind, Function, Record};
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::sleep;

use super::{Asked, Service, answer, shown};
use crate::contract;
use crate::marshal::Fields;
use crate::metrics::LongPoll;
use crate::problem::Problem;
use crate::transport::Body;
use lockless_client::backend::{Backend, Call, Cell, Durability, Failure, Reply};
use lockless_client::reply::record;
use lockless_client::wakes::{Topic, Wakes, Watch};

const EVENT_STREAM: &str = "text/event-stream";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Only what happens from now on.
const FROM_NOW: &str = "$";
/// Parts that may be on their way to a reader who is slow.
const BUFFERED: usize = 4;
/// After so long without an event something is said all the same, so that nobody in between gives the connection up; and
/// the cell is looked at, should an announcement have got lost.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// Until a call that failed is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Whether a stream is asked for.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let kinds = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    kinds.flat_map(|value| value.split(',')).any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case(EVENT_STREAM)
    })
}

/// Has a stream begin where the reader was, which `Last-Event-ID` says after a break; else with what comes.
pub(super) fn begin<'a>(head: &'a Parts, rule: &'static api::Stream, fields: &mut Fields<'a>) {
    let last = head
        .headers
        .get(LAST_EVENT_ID)
        .and_then(|id| id.to_str().ok());
    match last {
        Some(id) => fields.set_parameter(&rule.position, id),
        None if !fields.has(&rule.position) => fields.set_parameter(&rule.position, FROM_NOW),
        None => {}
    }
}

/// One reader.
struct Follower {
    backend: Backend,
    wakes: Arc<Wakes>,
    watch: Watch,
    cell: Cell,
    call: Call,
    /// Where the position is among the arguments.
    at: usize,
    record: &'static Record,
    parts: Sender<Bytes>,
    _counted: LongPoll,
}

/// Why a stream ends.
enum End {
    /// Nobody reads any more.
    Left,
    /// The library refuses.
    Refused(Failure),
}

impl Service {
    /// Makes the first call, so that its errors are answered as such, and goes on with the stream.
    pub(super) async fn stream(
        &self,
        function: &'static Function,
        rule: &'static api::Stream,
        asked: &Asked,
        call: Call,
    ) -> Result<Response<Body>, Problem> {
        let missing = || Problem::new("INTERNAL", "the contract does not say what is streamed");
        let at = function
            .args
            .iter()
            .position(|argument| argument.name == rule.position);
        let list = function
            .fields
            .iter()
            .find(|field| field.name == rule.list && field.kind == FieldKind::Records);
        let record = list.and_then(|field| contract::api().record(field.of.as_deref()?));
        let (at, record) = at.zip(record).ok_or_else(missing)?;
        // Whoever watches before looking misses nothing.
        let watch = self.wakes.watch(&asked.cell, Topic::Event).await?;
        let first = self.backend_call(call.clone(), Durability::Primary).await;
        if first.is_err() {
            shown(function, first)?;
            return Err(missing());
        }
        let (parts, receiver) = channel(BUFFERED);
        let mut follower = Follower {
            backend: self.backend.clone(),
            wakes: Arc::clone(&self.wakes),
            watch,
            cell: asked.cell.clone(),
            call,
            at,
            record,
            parts,
            _counted: self.metrics.long_poll(),
        };
        tokio::spawn(async move {
            if let End::Refused(failure) = follower.follow(first).await {
                tracing::warn!(cell = %follower.cell, %failure, "a stream of events ended");
            }
        });
        let mut response = answer(HeaderValue::from_static(EVENT_STREAM), Bytes::new());
        *response.body_mut() = Body::stream(receiver);
        response
            .headers_mut()
            .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }
}

impl Follower {
    async fn follow(&mut self, first: Result<Reply, Failure>) -> End {
        // A browser shows a stream as open once something came.
        if let Err(end) = self.say(Bytes::from_static(b": events\n\n")).await {
            return end;
        }
        let mut reply = first;
        loop {
            let outcome = match reply {
                Ok(page) => self.pass_on(page).await,
                Err(failure) => self.pause(failure).await,
            };
            match outcome {
                // There may be more at once.
                Ok(true) => {}
                Ok(false) => {
                    if let Err(end) = self.wait().await {
                        return end;
                    }
                }
                Err(end) => return end,
            }
            reply = self
                .backend
                .call(self.call.clone(), Durability::Primary)
                .await;
        }
    }

    async fn say(&self, part: Bytes) -> Result<(), End> {
        self.parts.send(part).await.map_err(|_| End::Left)
    }

    /// Writes a page of events and goes on behind it; false when there was none.
    async fn pass_on(&mut self, page: Reply) -> Result<bool, End> {
        let unexpected = || End::Refused(Failure::Refused("an unexpected reply".to_owned()));
        let Reply::List(values) = page else {
            return Err(unexpected());
        };
        let mut values = values.into_iter();
        let (Some(Reply::Bytes(position)), Some(Reply::List(items))) =
            (values.next(), values.next())
        else {
            return Err(unexpected());
        };
        self.call.arguments[self.at] = position;
        if items.is_empty() {
            return Ok(false);
        }
        let mut text = Vec::new();
        for item in items {
            let event = event(self.record, item).ok_or_else(unexpected)?;
            text.extend_from_slice(&event);
        }
        self.say(Bytes::from(text)).await?;
        Ok(true)
    }

    /// After a failure that may pass: it waits a little.
    async fn pause(&self, failure: Failure) -> Result<bool, End> {
        if matches!(&failure, Failure::Library { code, .. } if code != "CELL_MOVING") {
            return Err(End::Refused(failure));
        }
        tokio::select! {
            () = sleep(TRY_AGAIN) => Ok(true),
            () = self.parts.closed() => Err(End::Left),
        }
    }

    async fn wait(&mut self) -> Result<(), End> {
        tokio::select! {
            () = self.watch.woken() => {}
            () = sleep(SIGN_OF_LIFE) => self.say(Bytes::from_static(b": nothing new\n\n")).await?,
            () = self.parts.closed() => return Err(End::Left),
        }
        // A cell that can't be asked now is asked again below.
        let _ = self.wakes.listen(&self.cell).await;
        Ok(())
    }
}

/// One event: its id, its type, and all of it as JSON, which has no line breaks of its own.
fn event(record: &'static Record, item: Reply) -> Option<Vec<u8>> {
    let Reply::List(values) = &item else {
        return None;
    };
    let [Reply::Bytes(id), Reply::Bytes(kind), ..] = values.as_slice() else {
        return None;
    };
    let mut out = [
        b"id: ",
        id.as_ref(),
        b"\nevent: ",
        kind.as_ref(),
        b"\ndata: ",
    ]
    .concat();
    out.extend_from_slice(&self::record(record, item)?);
    out.extend_from_slice(b"\n\n");
    Some(out)
}
