//! Errors as `application/problem+json`, and the one table of what the gateway itself answers.
//!
//! The library's codes and their statuses are in `functions/api.toml`; the gateway's own are in [`OWN`]. A code has one
//! status wherever it comes from.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use lockless_functions::api::ErrorCode;
use serde::Serialize;

use crate::contract;
use lockless_client::backend::Failure;

/// The media type of an error.
pub const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Makes a second try safe.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A code that the gateway answers by itself.
pub struct OwnCode {
    /// The code.
    pub code: &'static str,
    /// Its HTTP status.
    pub status: StatusCode,
    /// What it means.
    pub summary: &'static str,
    /// Who may meet it.
    pub met_by: MetBy,
}

/// Who may meet a code of the gateway's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetBy {
    /// Everyone who sends a request, before its path is looked at or instead of it.
    Anyone,
    /// A request for one function, or for several.
    Requests,
    /// A call of a function.
    Calls,
}

/// Every code of the gateway's own.
pub const OWN: &[OwnCode] = &[
    OwnCode {
        code: "UNAUTHENTICATED",
        status: StatusCode::UNAUTHORIZED,
        summary: "no valid bearer token was sent",
        met_by: MetBy::Requests,
    },
    OwnCode {
        code: "FORBIDDEN",
        status: StatusCode::FORBIDDEN,
        summary: "the caller's role, or its node, does not allow this",
        met_by: MetBy::Requests,
    },
    OwnCode {
        code: "NOT_FOUND",
        status: StatusCode::NOT_FOUND,
        summary: "there is nothing at this path",
        met_by: MetBy::Anyone,
    },
    OwnCode {
        code: "UNKNOWN_CELL",
        status: StatusCode::NOT_FOUND,
        summary: "this gateway does not serve that cell",
        met_by: MetBy::Requests,
    },
    OwnCode {
        code: "NOT_READY",
        status: StatusCode::SERVICE_UNAVAILABLE,
        summary: "calls can't be made now",
        met_by: MetBy::Anyone,
    },
    OwnCode {
        code: "METHOD_NOT_ALLOWED",
        status: StatusCode::METHOD_NOT_ALLOWED,
        summary: "the path takes other methods",
        met_by: MetBy::Anyone,
    },
    OwnCode {
        code: "REQUEST_TIMEOUT",
        status: StatusCode::REQUEST_TIMEOUT,
        summary: "the request did not arrive in time",
        met_by: MetBy::Requests,
    },
    OwnCode {
        code: "TOO_LARGE",
        status: StatusCode::PAYLOAD_TOO_LARGE,
        summary: "the body is larger than the gateway takes",
        met_by: MetBy::Requests,
    },
    OwnCode {
        code: "UNSUPPORTED_MEDIA_TYPE",
        status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
        summary: "a body must be application/json",
        met_by: MetBy::Requests,
    },
    OwnCode {
        code: "INTERNAL",
        status: StatusCode::INTERNAL_SERVER_ERROR,
        summary: "the gateway could not read the library's answer",
        met_by: MetBy::Requests,
    },
    OwnCode {
        code: "REDIS_REFUSED",
        status: StatusCode::BAD_GATEWAY,
        summary: "Redis answered with an error of its own",
        met_by: MetBy::Calls,
    },
    OwnCode {
        code: "REDIS_LOST",
        status: StatusCode::BAD_GATEWAY,
        summary: "the connection to Redis broke, or the embedded scheduler ended, during the call, which may have been done; the same request may be sent again",
        met_by: MetBy::Calls,
    },
    OwnCode {
        code: "REDIS_AWAY",
        status: StatusCode::SERVICE_UNAVAILABLE,
        summary: "there is no connection to Redis; nothing was done",
        met_by: MetBy::Calls,
    },
    OwnCode {
        code: "REDIS_FULL",
        status: StatusCode::SERVICE_UNAVAILABLE,
        summary: "Redis has reached its maxmemory, or the embedded scheduler its limit; nothing was done",
        met_by: MetBy::Calls,
    },
    OwnCode {
        code: "TOO_BUSY",
        status: StatusCode::SERVICE_UNAVAILABLE,
        summary: "as many calls wait for the embedded scheduler as may, or bodies of requests take as much memory as they may; nothing was done",
        met_by: MetBy::Calls,
    },
    OwnCode {
        code: "CALL_STOPPED",
        status: StatusCode::INTERNAL_SERVER_ERROR,
        summary: "the call took the embedded scheduler too much memory or time and was undone; nothing was done",
        met_by: MetBy::Calls,
    },
    OwnCode {
        code: "NO_REPLICA",
        status: StatusCode::NOT_IMPLEMENTED,
        summary: "a replica's confirmation was asked for, and the embedded scheduler has no replicas; nothing was done",
        met_by: MetBy::Calls,
    },
    OwnCode {
        code: "LIBRARY_MISSING",
        status: StatusCode::SERVICE_UNAVAILABLE,
        summary: "the library is not loaded in Redis; nothing was done",
        met_by: MetBy::Calls,
    },
    OwnCode {
        code: "TOO_MANY_CONNECTIONS",
        status: StatusCode::SERVICE_UNAVAILABLE,
        summary: "the gateway has as many connections as it takes",
        met_by: MetBy::Anyone,
    },
    OwnCode {
        code: "REDIS_SLOW",
        status: StatusCode::GATEWAY_TIMEOUT,
        summary: "Redis did not answer in time; the call may have been done; the same request may be sent again",
        met_by: MetBy::Calls,
    },
    OwnCode {
        code: "DURABILITY_UNKNOWN",
        status: StatusCode::GATEWAY_TIMEOUT,
        summary: "it was done, but no replica confirmed it in time; the same request may be sent again",
        met_by: MetBy::Calls,
    },
];

/// One error, ready to be answered.
#[derive(Debug, Clone)]
pub struct Problem {
    code: Cow<'static, str>,
    detail: String,
    /// One more header of the response.
    header: Option<Box<(HeaderName, HeaderValue)>>,
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'a str,
    status: u16,
    code: &'a str,
    detail: &'a str,
}

impl Problem {
    /// A problem by its code, with a sentence about this case.
    pub fn new(code: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            detail: detail.into(),
            header: None,
        }
    }

    /// An argument that is missing, unknown or out of its limits.
    pub fn bad_argument(detail: impl Into<String>) -> Self {
        Self::new("BAD_ARGUMENT", detail)
    }

    /// A path that takes other methods.
    pub fn method_not_allowed(method: &str, path: &str, allowed: &str) -> Self {
        let detail = format!("{path} takes {allowed}, not {method}");
        let header = HeaderValue::from_str(allowed).ok();
        Self::new("METHOD_NOT_ALLOWED", detail).with_header(ALLOW, header)
    }

    /// No valid token; `challenge` is the value of `WWW-Authenticate`.
    pub fn unauthenticated(detail: impl Into<String>, challenge: &'static str) -> Self {
        let header = HeaderValue::from_static(challenge);
        Self::new("UNAUTHENTICATED", detail).with_header(WWW_AUTHENTICATE, Some(header))
    }

    fn with_header(mut self, name: HeaderName, value: Option<HeaderValue>) -> Self {
        self.header = value.map(|value| Box::new((name, value)));
        self
    }

    /// The same, with the key that makes it safe to send the request again.
    pub fn with_key(self, key: Option<HeaderValue>) -> Self {
        self.with_header(IDEMPOTENCY_KEY, key)
    }

    /// Its code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Its sentence.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Its status, from the one table.
    pub fn status(&self) -> StatusCode {
        status_of(&self.code)
    }

    /// The body.
    pub fn json(&self) -> Vec<u8> {
        let (status, title) = described(&self.code);
        let shown = Shown {
            kind: format!("/docs#{}", self.code),
            title,
            status: status.as_u16(),
            code: &self.code,
            detail: &self.detail,
        };
        // Text and a number can always be written.
        serde_json::to_vec(&shown).unwrap_or_default()
    }

    /// The whole response.
    pub fn response<B: From<Bytes>>(&self) -> Response<B> {
        let mut response = Response::new(B::from(Bytes::from(self.json())));
        let status = self.status();
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, PROBLEM_JSON);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if let Some((name, value)) = self.header.as_deref() {
            headers.insert(name, value.clone());
        }
        response
    }
}

/// The status of a code, from the one table it is in.
pub fn status_of(code: &str) -> StatusCode {
    described(code).0
}

fn described(code: &str) -> (StatusCode, &'static str) {
    if let Some(own) = OWN.iter().find(|own| own.code == code) {
        return (own.status, own.summary);
    }
    let listed: Option<&'static ErrorCode> = contract::api()
        .errors
        .iter()
        .find(|error| error.code == code);
    let status = listed.and_then(|error| StatusCode::from_u16(error.status).ok());
    (
        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        listed.map_or("", |error| error.summary.as_str()),
    )
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let detail = failure.to_string();
        let code = match failure {
            Failure::Library { code, sentence } => return Self::new(code, sentence),
            Failure::Away(_) => "REDIS_AWAY",
            Failure::Lost(_) | Failure::Ended => "REDIS_LOST",
            Failure::Slow => "REDIS_SLOW",
            Failure::LibraryMissing => "LIBRARY_MISSING",
            Failure::Full(_) => "REDIS_FULL",
            Failure::Refused(_) => "REDIS_REFUSED",
            Failure::DurabilityUnknown => "DURABILITY_UNKNOWN",
            Failure::Busy => "TOO_BUSY",
            Failure::Stopped(_) => "CALL_STOPPED",
            Failure::NoReplica => "NO_REPLICA",
        };
        Self::new(code, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_status() {
        for error in &contract::api().errors {
            assert!(
                OWN.iter().all(|own| own.code != error.code),
                "{} is in both tables",
                error.code
            );
            assert_eq!(described(&error.code).0.as_u16(), error.status);
        }
    }

    #[test]
    fn an_error_of_the_library_keeps_its_code_and_sentence() {
        let failure = Failure::Library {
            code: "WRONG_STATE".to_owned(),
            sentence: "job 'j' is finished".to_owned(),
        };
        let problem = Problem::from(failure);
        assert_eq!(problem.status(), StatusCode::CONFLICT);
        let body: serde_json::Value = serde_json::from_slice(&problem.json()).expect("JSON");
        assert_eq!(body["code"], "WRONG_STATE");
        assert_eq!(body["detail"], "job 'j' is finished");
        assert_eq!(body["type"], "/docs#WRONG_STATE");
    }

    #[test]
    fn what_may_be_tried_again_says_when() {
        let response: Response<Bytes> = Problem::new("NO_AVAILABLE_NODE", "all full").response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], "1");
    }
}
