//! What is not in the contract: pages for people, documents, health and measures.

use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::http::request::Parts;
use hyper::{Method, Response};

use super::{JSON, Service, answer, permit};
use crate::assets::{self, Asset};
use crate::metrics::OPENMETRICS;
use crate::problem::Problem;
use crate::transport::Body;
use lockless_client::backend::{Backend, Cell, Status};
use serde_json::json;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// Something that is not in the contract.
pub(super) enum Page {
    Asset(&'static Asset),
    Healthz,
    Readyz,
    Metrics,
    Gateway,
    Openapi,
    Docs,
}

/// What is at a path, if it is no call.
pub(super) fn find(path: &str) -> Option<Page> {
    match path {
        "/healthz" => Some(Page::Healthz),
        "/readyz" => Some(Page::Readyz),
        "/metrics" => Some(Page::Metrics),
        "/openapi.json" => Some(Page::Openapi),
        "/docs" => Some(Page::Docs),
        "/v1/gateway" => Some(Page::Gateway),
        _ if path.starts_with("/v1/") => None,
        _ => assets::find(path).map(Page::Asset),
    }
}

impl Page {
    /// The name that its requests are counted under.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Asset(asset) => asset.counted_as(),
            Self::Healthz => "healthz",
            Self::Readyz => "readyz",
            Self::Metrics => "metrics",
            Self::Gateway => "gateway",
            Self::Openapi => "openapi",
            Self::Docs => "docs",
        }
    }
}

impl Service {
    pub(super) fn page(
        &self,
        head: &Parts,
        method: &Method,
        page: &Page,
    ) -> Result<Response<Body>, Problem> {
        if method != Method::GET {
            let path = head.uri.path();
            return Err(Problem::method_not_allowed(method.as_str(), path, "GET"));
        }
        match page {
            Page::Asset(asset) => self.pages.answer(asset, &head.headers),
            Page::Healthz => Ok(answer(JSON, &b"{\"ok\":true}"[..])),
            Page::Readyz => match self.backend.status() {
                Status::Ready => Ok(answer(JSON, &b"{\"ready\":true}"[..])),
                Status::Troubled(why) => {
                    let ready = json!({ "ready": true, "warning": why });
                    Ok(answer(JSON, ready.to_string()))
                }
                Status::NotReady(why) => Err(Problem::new("NOT_READY", why)),
            },
            Page::Openapi => Ok(answer(JSON, self.openapi.clone())),
            Page::Docs => Ok(self.docs()),
            Page::Gateway => self.about(head),
            Page::Metrics => {
                let caller = self.caller(head)?;
                permit(&caller, &[], None, "/metrics")?;
                let page = self.metrics.page(&self.transport, &self.limits.room);
                Ok(answer(HeaderValue::from_static(OPENMETRICS), page))
            }
        }
    }

    /// What a page has to know before it asks for anything else: which cells there are, and what its reader may do.
    fn about(&self, head: &Parts) -> Result<Response<Body>, Problem> {
        let caller = self.caller(head)?;
        let cells = self.cells.known().iter().map(Cell::root);
        let about = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "scheduler": match self.backend {
                Backend::Redis(_) => "redis",
                #[cfg(feature = "embedded")]
                Backend::Embedded(_) => "embedded",
            },
            "cells": cells.collect::<Vec<_>>(),
            "cell_patterns": self.cells.patterns().collect::<Vec<_>>(),
            "role": caller.role().to_string(),
            "name": caller.name(),
            "node": caller.node(),
            "needs_token": !self.tokens.current().is_open(),
        });
        Ok(answer(JSON, about.to_string()))
    }

    fn docs(&self) -> Response<Body> {
        let mut response = answer(HTML, self.page.clone());
        let headers = response.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, self.page_policy.clone());
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}
