//! What Prometheus reads at `/metrics`.

mod backend;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::contract;
use crate::problem::OWN;
use crate::transport::{Room, TransportStats};
use lockless_client::backend::Backend;

/// The media type of the page.
pub const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The code of a request that went well.
pub const OK: &str = "OK";

/// From 100 us, which is a fast FCALL, to a minute, which is the longest wait.
const SECONDS: [f64; 12] = [
    0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 10.0, 60.0,
];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Outcome {
    function: &'static str,
    code: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfFunction {
    function: &'static str,
}

/// All measures of one gateway.
pub struct Metrics {
    registry: Registry,
    requests: Family<Outcome, Counter>,
    seconds: Family<OfFunction, Histogram, fn() -> Histogram>,
    call_seconds: Histogram,
    long_polls: Gauge,
    scraped: Scraped,
}

/// Values that others count, and that are copied when someone looks.
#[derive(Default)]
struct Scraped {
    connections: Gauge,
    accepted: Counter<u64, AtomicU64>,
    refused: Counter<u64, AtomicU64>,
    tls_failures: Counter<u64, AtomicU64>,
    body_memory: Gauge,
}

/// One long poll that waits; it counts until it is dropped.
pub struct LongPoll(Gauge);

impl Drop for LongPoll {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    /// All measures, at zero.
    pub fn new(backend: &Backend) -> Self {
        let mut registry = Registry::with_prefix("lockless");
        let seconds =
            Family::new_with_constructor((|| Histogram::new(SECONDS)) as fn() -> Histogram);
        let metrics = (
            Family::<Outcome, Counter>::default(),
            Histogram::new(SECONDS),
            Gauge::default(),
            Scraped::default(),
        );
        let (requests, call_seconds, long_polls, scraped) = metrics;
        registry.register(
            "requests",
            "Requests and calls of batches, by function and code",
            requests.clone(),
        );
        registry.register_with_unit(
            "request",
            "Time to answer a request, its wait included",
            Unit::Seconds,
            seconds.clone(),
        );
        let (name, help) = backend::call_measure(backend);
        registry.register_with_unit(name, help, Unit::Seconds, call_seconds.clone());
        registry.register("long_polls", "Long polls that wait now", long_polls.clone());
        registry.register_collector(Box::new(backend::Asked(backend.clone())));
        registry.register(
            "http_connections",
            "HTTP connections open now",
            scraped.connections.clone(),
        );
        registry.register(
            "http_accepted",
            "HTTP connections accepted",
            scraped.accepted.clone(),
        );
        registry.register(
            "http_refused",
            "HTTP connections refused because there were too many",
            scraped.refused.clone(),
        );
        registry.register(
            "tls_failures",
            "TLS handshakes that failed",
            scraped.tls_failures.clone(),
        );
        registry.register_with_unit(
            "body_memory",
            "Memory that the bodies of requests take now, without the first 16 KiB of each",
            Unit::Bytes,
            scraped.body_memory.clone(),
        );
        Self {
            registry,
            requests,
            seconds,
            call_seconds,
            long_polls,
            scraped,
        }
    }

    /// Counts one answer.
    pub fn answered(&self, function: &'static str, code: &str, time: Duration) {
        self.counted(function, code);
        let seconds = self.seconds.get_or_create(&OfFunction { function });
        seconds.observe(time.as_secs_f64());
    }

    /// Counts one call of a batch.
    pub fn counted(&self, function: &'static str, code: &str) {
        let code = known_code(code);
        self.requests
            .get_or_create(&Outcome { function, code })
            .inc();
    }

    /// Notes a round trip.
    pub fn called(&self, time: Duration) {
        self.call_seconds.observe(time.as_secs_f64());
    }

    /// Counts a long poll for as long as what is returned lives.
    pub fn long_poll(&self) -> LongPoll {
        self.long_polls.inc();
        LongPoll(self.long_polls.clone())
    }

    /// The page.
    pub fn page(&self, transport: &TransportStats, bodies: &Room) -> String {
        let scraped = &self.scraped;
        let gauge = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        scraped.connections.set(gauge(transport.open()));
        scraped.body_memory.set(gauge(bodies.taken_bytes()));
        catch_up(&scraped.accepted, transport.accepted());
        catch_up(&scraped.refused, transport.refused());
        catch_up(&scraped.tls_failures, transport.tls_failures());
        let mut page = String::new();
        // Writing into a string does not fail.
        let _ = encode(&mut page, &self.registry);
        page
    }
}

fn catch_up(counter: &Counter<u64, AtomicU64>, total: u64) {
    // Several may look at the same time.
    counter.inner().fetch_max(total, Ordering::Relaxed);
}

/// A code of one of the tables, so that no answer can make new labels.
fn known_code(code: &str) -> &'static str {
    if code == OK {
        return OK;
    }
    let own = OWN.iter().map(|own| own.code);
    let listed = contract::api()
        .errors
        .iter()
        .map(|error| error.code.as_str());
    own.chain(listed)
        .find(|known| *known == code)
        .unwrap_or("OTHER")
}
