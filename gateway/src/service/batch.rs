//! `POST /v1/batch`: many calls in one request, pipelined, each with a result of its own.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use lockless_functions::api::Function;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Asked, JSON, Noted, Service, answer, call, fresh_key, head, shown};
use crate::contract::{self, BATCH_LIMIT};
use crate::marshal::{Fields, Given, WAIT_MS, arguments};
use crate::metrics::OK;
use crate::problem::{IDEMPOTENCY_KEY, Problem};
use crate::transport::Body;
use lockless_client::backend::{Call, Durability};

pub(super) const PATH: &str = "/v1/batch";
/// Calls that are sent before the first of their replies is awaited.
const SENT_TOGETHER: usize = 250;
/// What the replies of a batch may come to before the rest of its calls is left out.
const MOST_BYTES: usize = 16 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch<'a> {
    #[serde(borrow)]
    calls: Vec<Item<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item<'a> {
    #[serde(borrow)]
    function: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    cell: Option<Cow<'a, str>>,
}

impl Service {
    pub(super) async fn batch(
        &self,
        head: &Parts,
        body: Incoming,
        noted: &mut Noted,
    ) -> Result<Response<Body>, Problem> {
        let (asked, query) = self.asked(head)?;
        noted.caller = Some(asked.caller.clone());
        if let Some(name) = query.left_over() {
            return Err(Problem::bad_argument(format!(
                "unknown parameter '{name}' in the query: a batch takes its calls in the body"
            )));
        }
        let key = match head::idempotency_key(&head.headers)? {
            Some(key) => key.to_owned(),
            None => fresh_key(),
        };
        let body = self.body(head, body).await?;
        let batch: Batch<'_> = serde_json::from_slice(&body).map_err(|error| {
            Problem::bad_argument(format!(
                "the body is not a batch such as {{\"calls\": [{{\"function\": \"lockless_job\", \"arguments\": {{\"job\": \"j1\"}}}}]}}: {error}"
            ))
        })?;
        if batch.calls.is_empty() || batch.calls.len() > BATCH_LIMIT {
            return Err(Problem::bad_argument(format!(
                "calls takes 1 to {BATCH_LIMIT} calls, given {}",
                batch.calls.len()
            )));
        }
        let mut results: Vec<Outcome> = Vec::with_capacity(batch.calls.len());
        let mut calls = Vec::with_capacity(batch.calls.len());
        let mut sent = Vec::with_capacity(batch.calls.len());
        for (at, item) in batch.calls.iter().enumerate() {
            let found = contract::api().function(&item.function).ok_or_else(|| {
                Problem::bad_argument(format!(
                    "function takes the name of a function of the library, such as lockless_job, given '{}'",
                    item.function
                ))
            });
            let prepared = found.and_then(|function| {
                let key = || format!("{key}:{at}");
                let call = self.prepare(function, item, &asked, key, &body);
                call.map(|call| (function, call))
            });
            match prepared {
                Ok((function, call)) => {
                    sent.push((at, function));
                    calls.push(call);
                    results.push(Err(Problem::new("INTERNAL", "there was no reply")));
                }
                Err(problem) => results.push(Err(problem)),
            }
        }
        let mut calls = calls.into_iter();
        let mut bytes = 0;
        for sent in sent.chunks(SENT_TOGETHER) {
            let part: Vec<Call> = calls.by_ref().take(sent.len()).collect();
            if bytes > MOST_BYTES {
                for (at, _) in sent {
                    results[*at] = Err(too_large());
                }
                continue;
            }
            let replies = self.backend.batch(part, asked.durability).await;
            for ((at, function), reply) in sent.iter().zip(replies) {
                let outcome = shown(function, reply);
                let code = outcome.as_ref().map_or_else(Problem::code, |_| OK);
                self.metrics.counted(&function.name, code);
                bytes += outcome.as_ref().map_or(0, Vec::len);
                results[*at] = outcome;
            }
        }
        let mut response = answer(JSON, written(&results));
        let headers = response.headers_mut();
        if let Ok(key) = HeaderValue::try_from(key) {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        if asked.durability == Durability::Replica {
            headers.insert(head::PREFERENCE_APPLIED, head::DURABILITY_REPLICA);
        }
        Ok(response)
    }

    fn prepare(
        &self,
        function: &'static Function,
        item: &Item<'_>,
        asked: &Asked,
        key: impl FnOnce() -> String,
        body: &Bytes,
    ) -> Result<Call, Problem> {
        let cell = match &item.cell {
            Some(root) => self.cells.named(root)?,
            None => asked.cell.clone(),
        };
        let fields = match item.arguments {
            Some(object) => Fields::from_raw(object, "arguments")?,
            None => Fields::default(),
        };
        let given = Given {
            path: Vec::new(),
            fields,
            key: None,
            wait_limit_ms: self.wait_limit_ms,
            body,
        };
        let done = arguments(function, given, key)?;
        if done.wait_ms > 0 {
            return Err(Problem::bad_argument(format!(
                "{WAIT_MS} can't be used in a batch"
            )));
        }
        self.admit(&asked.caller, function, &done, &cell)?;
        Ok(call(function, &cell, done.arguments))
    }
}

fn too_large() -> Problem {
    Problem::new(
        "TOO_LARGE",
        "nothing was done: the replies before it are as much as one batch gives; send it in another",
    )
}

type Outcome = Result<Vec<u8>, Problem>;

fn written(results: &[Outcome]) -> Vec<u8> {
    let mut out = Vec::from(&b"{\"results\":["[..]);
    for (at, outcome) in results.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let (status, body) = match outcome {
            Ok(body) => (200, Cow::Borrowed(body)),
            Err(problem) => (problem.status().as_u16(), Cow::Owned(problem.json())),
        };
        out.extend_from_slice(format!("{{\"status\":{status},\"body\":").as_bytes());
        out.extend_from_slice(&body);
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
    out
}
