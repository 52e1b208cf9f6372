//! What callers of a gateway do, over HTTP.

use std::time::Duration;

use ureq::Agent;
use ureq::http::Request;

/// A caller of one gateway. The thread that makes it must be in the gateway's network.
pub(super) struct Caller {
    agent: Agent,
    address: String,
}

/// What a gateway answered.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) body: String,
}

impl Page {
    pub(super) fn is_ok(&self) -> bool {
        self.status == 200
    }

    /// The code of an error.
    pub(super) fn code(&self) -> &str {
        self.text("code")
    }

    /// The text of a field; empty when there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        let after = self.body.split_once(&format!("\"{name}\":\""));
        after
            .and_then(|(_, rest)| rest.split('"').next())
            .unwrap_or_default()
    }
}

impl Caller {
    /// Waits so long for an answer.
    pub(super) fn new(address: &str, patience: Duration) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(patience))
            .build();
        Self {
            agent: config.into(),
            address: address.to_owned(),
        }
    }

    /// Sends a request; without a body it is a GET. The error is what broke.
    pub(super) fn send(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Result<Page, String> {
        let uri = format!("{}{path}", self.address);
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = match body {
            Some(body) => request
                .method("POST")
                .header("content-type", "application/json")
                .body(body.to_owned())
                .map_err(ureq::Error::from)
                .and_then(|request| self.agent.run(request)),
            None => request
                .body(())
                .map_err(ureq::Error::from)
                .and_then(|request| self.agent.run(request)),
        };
        let mut response = sent.map_err(|error| error.to_string())?;
        let body = response.body_mut().read_to_string();
        Ok(Page {
            status: response.status().as_u16(),
            body: body.map_err(|error| error.to_string())?,
        })
    }

    /// Whether the gateway is ready to serve.
    pub(super) fn is_ready(&self) -> Result<(), String> {
        let page = self.send("/readyz", &[], None)?;
        if page.is_ok() { Ok(()) } else { Err(page.body) }
    }

    /// Has a job placed, with a replica's word if that is wanted.
    pub(super) fn dispatch(&self, cell: &str, job: &str, is_durable: bool) -> Result<Page, String> {
        let body = format!(r#"{{"session":"s","payload":"p","job":"{job}"}}"#);
        let durability = if is_durable {
            "durability=replica"
        } else {
            "durability=primary"
        };
        let headers = [("lockless-cell", cell), ("prefer", durability)];
        self.send("/v1/jobs", &headers, Some(&body))
    }
}
