//! A request's way: route, caller, arguments, call, reply.

mod batch;
mod head;
mod pages;
mod poll;
mod stream;

pub(crate) use head::fresh_key;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use lockless_functions::api::{Function, Mode, Role};

use crate::assets::Pages;
use crate::auth::{Caller, LiveTokens};
use crate::caretaker::{self, Caretaker};
use crate::cells::{CELL_PARAMETER, Cells};
use crate::contract::{self, Matched};
use crate::marshal::{Fields, Given, Marshalled, arguments};
use crate::metrics::{Metrics, OK};
use crate::problem::{IDEMPOTENCY_KEY, Problem};
use crate::transport::{
    Body, BodyLimits, Handler, Peer, Received, Shutdown, TransportStats, read_body,
};
use lockless_client::backend::{Backend, Call, Cell, Durability, Failure, Reply};
use lockless_client::reply::reply;
use lockless_client::wakes::Wakes;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// What is answered with a 5xx status in the normal course of things, or logged once by whoever noticed it first.
const EXPECTED: [&str; 7] = [
    "NO_AVAILABLE_NODE",
    "CELL_MOVING",
    "NOT_READY",
    "REDIS_AWAY",
    "LIBRARY_MISSING",
    "NO_REPLICA",
    "TOO_BUSY",
];

/// What requests are answered with.
pub struct Service {
    pub(crate) backend: Backend,
    pub(crate) wakes: Arc<Wakes>,
    pub(crate) caretaker: Caretaker,
    pub(crate) tokens: Arc<LiveTokens>,
    pub(crate) cells: Cells,
    pub(crate) metrics: Metrics,
    pub(crate) transport: Arc<TransportStats>,
    pub(crate) limits: BodyLimits,
    pub(crate) durability: Durability,
    pub(crate) wait_limit_ms: u64,
    pub(crate) request_time: Duration,
    pub(crate) shutdown: Shutdown,
    pub(crate) pages: Pages,
    pub(crate) openapi: Bytes,
    pub(crate) page: Bytes,
    pub(crate) page_policy: HeaderValue,
}

/// What the log and the measures say of a request.
struct Noted {
    function: &'static str,
    caller: Option<Caller>,
}

impl Default for Noted {
    fn default() -> Self {
        // What is at no path must not make a new label.
        Self {
            function: "none",
            caller: None,
        }
    }
}

/// Who asks, where, and how sure the answer must be.
struct Asked {
    caller: Caller,
    cell: Cell,
    durability: Durability,
}

impl Handler for Service {
    async fn handle(&self, request: Request<Incoming>, peer: &Peer) -> Response<Body> {
        let started = Instant::now();
        let (head, body) = request.into_parts();
        let id = head::request_id(&head.headers);
        let mut noted = Noted::default();
        let answer = self.answer(&head, body, peer, &mut noted).await;
        let time = started.elapsed();
        let code = answer.as_ref().map_or_else(Problem::code, |_| OK);
        self.metrics.answered(noted.function, code, time);
        log(&head, &id, &noted, answer.as_ref().err(), time);
        let mut response = answer.unwrap_or_else(|problem| problem.response());
        response.headers_mut().insert(head::REQUEST_ID, id);
        response
    }
}

fn log(head: &Parts, id: &HeaderValue, noted: &Noted, problem: Option<&Problem>, time: Duration) {
    let function = noted.function;
    let caller = noted.caller.as_ref().map_or("-", Caller::name);
    let (method, path) = (&head.method, head.uri.path());
    let id = id.to_str().unwrap_or_default();
    let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let Some(problem) = problem else {
        tracing::debug!(id, %method, path, function, caller, us, code = OK, "request");
        return;
    };
    let (code, detail) = (problem.code(), problem.detail());
    if problem.status().is_server_error() && !EXPECTED.contains(&code) {
        tracing::warn!(id, %method, path, function, caller, us, code, detail, "request failed");
    } else {
        tracing::debug!(id, %method, path, function, caller, us, code, detail, "request");
    }
}

fn answer(kind: HeaderValue, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::full(body));
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

impl Service {
    async fn answer(
        &self,
        head: &Parts,
        body: Incoming,
        peer: &Peer,
        noted: &mut Noted,
    ) -> Result<Response<Body>, Problem> {
        // A body that is not wanted is dropped by hyper, and HEAD's answer too.
        let method = match head.method {
            Method::HEAD => &Method::GET,
            ref method => method,
        };
        let path = head.uri.path();
        if let Some(page) = pages::find(path) {
            noted.function = page.name();
            return self.page(head, method, &page);
        }
        if path == batch::PATH {
            noted.function = "batch";
            if method != Method::POST {
                return Err(Problem::method_not_allowed(method.as_str(), path, "POST"));
            }
            return Box::pin(self.batch(head, body, noted)).await;
        }
        let matched = contract::find(method, path)?;
        noted.function = &matched.route.function.name;
        self.call(head, matched, body, peer, noted).await
    }

    /// One function by its route.
    async fn call(
        &self,
        head: &Parts,
        matched: Matched<'_>,
        body: Incoming,
        peer: &Peer,
        noted: &mut Noted,
    ) -> Result<Response<Body>, Problem> {
        let route = matched.route;
        let function = route.function;
        let (asked, mut query) = self.asked(head)?;
        noted.caller = Some(asked.caller.clone());
        let body = if route.has_query() {
            if body.size_hint().lower() > 0 {
                return Err(Problem::bad_argument(format!(
                    "{} takes its arguments in the query, not in a body",
                    route.method
                )));
            }
            Received::default()
        } else {
            if let Some(name) = query.left_over() {
                return Err(Problem::bad_argument(format!(
                    "unknown parameter '{name}' in the query: {} takes its arguments in the body",
                    route.method
                )));
            }
            self.body(head, body).await?
        };
        let mut fields = if route.has_query() {
            std::mem::take(&mut query)
        } else {
            Fields::from_json(&body)?
        };
        let stream = function
            .stream
            .as_ref()
            .filter(|_| stream::is_wanted(&head.headers));
        if let Some(rule) = stream {
            stream::begin(head, rule, &mut fields);
        }
        if !route.takes_arguments
            && let Some(name) = fields.left_over()
        {
            return Err(Problem::bad_argument(format!(
                "unknown parameter '{name}': this takes none"
            )));
        }
        let given = Given {
            path: matched.arguments,
            fields,
            key: head::idempotency_key(&head.headers)?,
            wait_limit_ms: self.wait_limit_ms,
            body: &body,
        };
        let done = arguments(function, given, head::fresh_key)?;
        self.admit(&asked.caller, function, &done, &asked.cell)?;
        if let Some(rule) = stream {
            let call = call(function, &asked.cell, done.arguments);
            return Box::pin(self.stream(function, rule, &asked, call)).await;
        }
        let key = done.key.clone().map(HeaderValue::from_maybe_shared);
        let key = key.and_then(Result::ok);
        let durable = asked.durability == Durability::Replica && function.mode == Mode::Write;
        let outcome = self.outcome(function, &asked, done, peer).await;
        let json = outcome.map_err(|problem| problem.with_key(key.clone()))?;
        let mut response = answer(JSON, json);
        let headers = response.headers_mut();
        if let Some(key) = key {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        if durable {
            headers.insert(head::PREFERENCE_APPLIED, head::DURABILITY_REPLICA);
        }
        Ok(response)
    }

    /// Calls a function, waiting for news if it was asked to, and writes its reply as JSON.
    async fn outcome(
        &self,
        function: &'static Function,
        asked: &Asked,
        done: Marshalled,
        peer: &Peer,
    ) -> Result<Vec<u8>, Problem> {
        let call = call(function, &asked.cell, done.arguments);
        let found = match (&function.wait, done.awaited) {
            (Some(wait), Some(awaited)) if done.wait_ms > 0 => {
                let wait = poll::Wait::new(function, wait, awaited, done.wait_ms);
                Box::pin(self.wait(wait, call, asked, peer)).await
            }
            // Boxed, because whoever waits would keep room for it as well.
            _ => Box::pin(self.backend_call(call, asked.durability)).await,
        };
        shown(function, found)
    }

    async fn backend_call(&self, call: Call, durability: Durability) -> Result<Reply, Failure> {
        let started = Instant::now();
        let reply = self.backend.call(call, durability).await;
        self.metrics.called(started.elapsed());
        reply
    }

    /// Who asks. Where tokens are not asked for, a page of another site could have a browser ask. The browser tells on it:
    /// by its origin, or by the name of the site, should that lead here.
    fn caller(&self, head: &Parts) -> Result<Caller, Problem> {
        let tokens = self.tokens.current();
        if !tokens.is_open() {
            return tokens.authenticate(&head.headers);
        }
        if !head::names_this_machine(head) {
            return Err(Problem::new(
                "FORBIDDEN",
                "without tokens the header Host takes localhost or an address, such as 127.0.0.1:8080",
            ));
        }
        if head::is_from_another_site(head) {
            return Err(Problem::new(
                "FORBIDDEN",
                "without tokens no page of another site may call this",
            ));
        }
        tokens.authenticate(&head.headers)
    }

    /// Lets a call through if its caller may make it, and has its cell looked after.
    fn admit(
        &self,
        caller: &Caller,
        function: &Function,
        done: &Marshalled,
        cell: &Cell,
    ) -> Result<(), Problem> {
        permit(
            caller,
            &function.roles,
            done.node.as_deref(),
            &function.name,
        )?;
        let is_own = |name: &Bytes| caretaker::is_own_lock(&function.name, name);
        if caller.role() != Role::Operator && done.arguments.first().is_some_and(is_own) {
            return Err(Problem::new("FORBIDDEN", "this lock is the gateways' own"));
        }
        self.caretaker.seen(cell);
        Ok(())
    }

    /// What every call under `/v1` needs, and what the query gives beside the cell.
    fn asked<'a>(&self, head: &'a Parts) -> Result<(Asked, Fields<'a>), Problem> {
        let caller = self.caller(head)?;
        let mut query = match head.uri.query() {
            Some(query) => Fields::from_query(query)?,
            None => Fields::default(),
        };
        let cell = match query.take_parameter(CELL_PARAMETER)? {
            Some(root) => self.cells.named(&root)?,
            None => self.cells.of_headers(&head.headers)?,
        };
        let durability = head::durability(&head.headers)?.unwrap_or(self.durability);
        let asked = Asked {
            caller,
            cell,
            durability,
        };
        Ok((asked, query))
    }

    async fn body(&self, head: &Parts, body: Incoming) -> Result<Received, Problem> {
        if body.is_end_stream() {
            return Ok(Received::default());
        }
        head::check_media_type(&head.headers)?;
        read_body(body, &self.limits).await
    }
}

fn call(function: &'static Function, cell: &Cell, arguments: Vec<Bytes>) -> Call {
    Call {
        function: &function.name,
        writes: function.mode == Mode::Write,
        cell: cell.clone(),
        arguments,
    }
}

/// Refuses a caller whose role, or whose node, does not allow this.
fn permit(caller: &Caller, roles: &[Role], node: Option<&[u8]>, what: &str) -> Result<(), Problem> {
    if !caller.may(roles) {
        return Err(Problem::new(
            "FORBIDDEN",
            format!("a token of the role {} may not call {what}", caller.role()),
        ));
    }
    let Some(own) = caller.node() else {
        return Ok(());
    };
    match node {
        Some(node) if node == own.as_bytes() => Ok(()),
        Some(_) => Err(Problem::new(
            "FORBIDDEN",
            format!("this token may speak for the node '{own}' only"),
        )),
        None => Err(Problem::new(
            "FORBIDDEN",
            format!(
                "this token may speak for the node '{own}' only, and {what} is not about one node"
            ),
        )),
    }
}

/// A reply as JSON; an error with the names that callers over HTTP know.
fn shown(function: &'static Function, found: Result<Reply, Failure>) -> Result<Vec<u8>, Problem> {
    match found {
        Ok(value) => {
            reply(function, value).map_err(|error| Problem::new("INTERNAL", error.to_string()))
        }
        Err(Failure::Library { code, sentence }) if code == "BAD_ARGUMENT" => {
            Err(Problem::bad_argument(renamed(function, &sentence)))
        }
        Err(failure) => Err(failure.into()),
    }
}

/// The library names an option by its keyword; over HTTP it has the name of its field.
fn renamed<'a>(function: &Function, sentence: &'a str) -> Cow<'a, str> {
    let Some((first, rest)) = sentence.split_once(' ') else {
        return Cow::Borrowed(sentence);
    };
    let named = function
        .options
        .iter()
        .find(|option| option.keyword.as_deref() == Some(first));
    match named {
        Some(option) => Cow::Owned(format!("{} {rest}", option.name)),
        None => Cow::Borrowed(sentence),
    }
}
