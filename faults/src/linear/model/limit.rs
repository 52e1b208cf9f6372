//! A rate limit, within one window.

use std::collections::BTreeSet;

use super::super::call::{Call, LIMIT};
use super::super::heard::Heard;
use super::super::history::Reply;
use super::super::names::RequestId;
use super::super::search::Model;

/// One rate limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Limit {
    used: u32,
    /// The requests that were allowed: they count once.
    counted: BTreeSet<RequestId>,
    /// The last request and what it was told; of a refusal when to try again, if that is known.
    last: Option<(RequestId, Told)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Told {
    is_allowed: bool,
    left: u32,
    retry_ms: Option<u64>,
}

impl Limit {
    fn ask(&self, request: Option<RequestId>, heard: Heard<'_>) -> Option<Self> {
        if let Some((_, told)) = self.last.filter(|(last, _)| Some(*last) == request) {
            let told = told.heard(heard)?;
            let mut next = self.clone();
            next.last = request.map(|request| (request, told));
            return Some(next);
        }
        let is_counted = request.is_some_and(|request| self.counted.contains(&request));
        let is_allowed = is_counted || self.used < LIMIT;
        let mut next = self.clone();
        if is_allowed && !is_counted {
            next.used += 1;
            next.counted.extend(request);
        }
        let told = Told {
            is_allowed,
            left: LIMIT - next.used,
            retry_ms: is_allowed.then_some(0),
        };
        let told = told.heard(heard)?;
        next.last = request.map(|request| (request, told)).or(next.last);
        Some(next)
    }
}

impl Told {
    /// This as a reply says it; nothing when the reply says something else.
    fn heard(self, heard: Heard<'_>) -> Option<Self> {
        let Some(answer) = heard.answer() else {
            return heard.is_answer().then_some(self);
        };
        let [allowed, left, retry] = answer.list() else {
            return None;
        };
        let retry_ms = retry.int()?.unsigned_abs();
        let fits = allowed.int() == Some(i64::from(self.is_allowed))
            && left.int() == Some(i64::from(self.left))
            && self
                .retry_ms
                .map_or(retry_ms > 0, |known| known == retry_ms);
        fits.then_some(Self {
            retry_ms: Some(retry_ms),
            ..self
        })
    }
}

impl Model for Limit {
    fn after(&self, call: &Call, reply: Option<&Reply>) -> Vec<Self> {
        let next = match *call {
            Call::Limit { request, .. } => self.ask(request, Heard(reply)),
            _ => None,
        };
        next.into_iter().collect()
    }
}
