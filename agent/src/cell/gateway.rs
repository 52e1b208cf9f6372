//! The cell behind a gateway.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::time::timeout;

use super::{Call, Trouble};

const CELL: HeaderName = HeaderName::from_static("lockless-cell");
/// How long an answer may take, beside the time that was asked for.
const ANSWER_TIME: Duration = Duration::from_secs(10);
const CONNECT_TIME: Duration = Duration::from_secs(3);
const IDLE_TIME: Duration = Duration::from_secs(30);
/// More than any reply has: 256 jobs with payloads of 1 MiB would be split by the node's slots first.
const ANSWER_LIMIT_BYTES: usize = 256 << 20;

/// Where a gateway is and how it is spoken to.
#[derive(Clone)]
pub struct GatewaySettings {
    /// `http://` or `https://`, host and port.
    pub url: String,
    /// The bearer token.
    pub token: Option<String>,
    /// The authority to trust, as PEM, instead of the system's.
    pub tls_ca: Option<PathBuf>,
}

/// A gateway.
pub struct Gateway {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Without a slash at its end.
    base: String,
    cell: HeaderValue,
    token: Option<HeaderValue>,
    /// The longest wait that it takes.
    wait_limit_ms: AtomicU64,
}

impl Gateway {
    /// Makes a client. It fails for settings that can't be right, in a sentence.
    pub fn new(settings: &GatewaySettings, cell: &str) -> Result<Self, String> {
        let base = settings.url.trim_end_matches('/');
        let uri: Option<Uri> = base.parse().ok();
        let scheme = uri.as_ref().and_then(Uri::scheme_str);
        if !matches!(scheme, Some("http" | "https")) {
            return Err(
                "--gateway takes http:// or https:// and a host, such as http://127.0.0.1:8080"
                    .to_owned(),
            );
        }
        if scheme == Some("http") && settings.tls_ca.is_some() {
            return Err(
                "--gateway-tls-ca needs TLS: --gateway must begin with https://".to_owned(),
            );
        }
        let token = settings.token.as_ref().map(|token| {
            let mut value = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| "the token has characters in it that no token has".to_owned())?;
            value.set_sensitive(true);
            Ok::<_, String>(value)
        });
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT_TIME));
        connector.set_nodelay(true);
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls(settings)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Self {
            client: Client::builder(TokioExecutor::new())
                .pool_idle_timeout(IDLE_TIME)
                .pool_timer(TokioTimer::new())
                .build(https),
            base: base.to_owned(),
            cell: HeaderValue::try_from(cell)
                .map_err(|_| "--cell takes printable characters".to_owned())?,
            token: token.transpose()?,
            wait_limit_ms: AtomicU64::new(u64::MAX),
        })
    }

    pub(super) async fn call(&self, call: &Call, wait: Option<Duration>) -> Result<Value, Trouble> {
        let answer = self.call_once(call, self.allowed(wait)).await;
        match (&answer, wait) {
            (Err(trouble), Some(_)) if self.learns_limit(trouble) => {
                self.call_once(call, self.allowed(wait)).await
            }
            _ => answer,
        }
    }

    fn allowed(&self, wait: Option<Duration>) -> Option<Duration> {
        let limit = Duration::from_millis(self.wait_limit_ms.load(Ordering::Relaxed));
        wait.map(|wait| wait.min(limit))
    }

    /// A gateway may allow shorter waits than the agent likes: `wait_ms takes a whole number from 0 to 5000, given 20000`.
    fn learns_limit(&self, trouble: &Trouble) -> bool {
        let Trouble::Library { code, sentence } = trouble else {
            return false;
        };
        if code != "BAD_ARGUMENT" || !sentence.starts_with("wait_ms ") {
            return false;
        }
        let words = sentence.split([' ', ',']);
        let limit = words.filter_map(|word| word.parse::<u64>().ok()).nth(1);
        self.wait_limit_ms
            .store(limit.unwrap_or(0), Ordering::Relaxed);
        true
    }

    async fn call_once(&self, call: &Call, wait: Option<Duration>) -> Result<Value, Trouble> {
        let wait_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let made = call.request(wait_ms);
        let mut request = Request::builder()
            .method(made.method)
            .uri(format!("{}{}", self.base, made.path))
            .header(CELL, &self.cell);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        if made.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request
            .body(Full::from(made.body.unwrap_or_default()))
            .map_err(|error| Trouble::Refused(format!("the request can't be made: {error}")))?;
        let time = ANSWER_TIME + wait.unwrap_or_default();
        let (status, body) = timeout(time, self.exchange(request))
            .await
            .map_err(|_| Trouble::Away(format!("{} did not answer in time", self.base)))??;
        read(status, &body)
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), Trouble> {
        let away = |why: String| Trouble::Away(format!("{} can't be reached: {why}", self.base));
        let response = self
            .client
            .request(request)
            .await
            .map_err(|error| away(chain(&error)))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_LIMIT_BYTES)
            .collect()
            .await
            .map_err(|error| away(chain(error.as_ref())))?;
        Ok((status, body.to_bytes()))
    }
}

fn tls(settings: &GatewaySettings) -> Result<ClientConfig, String> {
    let provider = rustls::crypto::ring::default_provider();
    let builder = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS can't be used: {error}"))?;
    let Some(path) = &settings.tls_ca else {
        if !settings.url.starts_with("https") {
            // Nothing to trust, and nothing to be looked for.
            return Ok(builder
                .with_root_certificates(RootCertStore::empty())
                .with_no_client_auth());
        }
        return Ok(builder
            .with_native_roots()
            .map_err(|error| format!("the system's authorities can't be read, name one with --gateway-tls-ca: {error}"))?
            .with_no_client_auth());
    };
    let cannot = |why: String| format!("--gateway-tls-ca {} can't be used: {why}", path.display());
    let mut roots = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| cannot(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| cannot(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| cannot(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(cannot("there is no certificate in it".to_owned()));
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Reads an answer; an error is `application/problem+json` with the library's code or the gateway's own.
fn read(status: StatusCode, body: &[u8]) -> Result<Value, Trouble> {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    if status.is_success() && json.is_object() {
        return Ok(json);
    }
    let code = json["code"].as_str().unwrap_or_default();
    let detail = json["detail"].as_str().unwrap_or_default();
    let errors = &lockless_functions::contract().errors;
    if errors.iter().any(|error| error.code == code) {
        return Err(Trouble::Library {
            code: code.to_owned(),
            sentence: detail.to_owned(),
        });
    }
    let sentence = format!("the gateway answered {status} {code} {detail}")
        .trim_end()
        .to_owned();
    Err(match status {
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Trouble::Away(sentence),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Trouble::Refused(sentence),
        _ if status.is_client_error() => Trouble::Unfit {
            is_too_long: status == StatusCode::PAYLOAD_TOO_LARGE,
            sentence,
        },
        _ if status.is_server_error() => Trouble::Away(sentence),
        _ => Trouble::Refused(sentence),
    })
}

/// The deepest reason is the one that says something.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_whether_the_same_call_may_be_taken_later() {
        for (status, expected) in [
            (400, "unfit"),
            (401, "refused"),
            (403, "refused"),
            (404, "unfit"),
            (408, "away"),
            (413, "too long"),
            (415, "unfit"),
            (429, "away"),
            (500, "away"),
            (503, "away"),
        ] {
            let status = StatusCode::from_u16(status).expect("a status");
            let kind = match read(status, b"").expect_err("no reply") {
                Trouble::Library { .. } => "library",
                Trouble::Away(_) => "away",
                Trouble::Refused(_) => "refused",
                Trouble::Unfit {
                    is_too_long: true, ..
                } => "too long",
                Trouble::Unfit { .. } => "unfit",
            };
            assert_eq!(kind, expected, "{status}");
        }
    }
}
