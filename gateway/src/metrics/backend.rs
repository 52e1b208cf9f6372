//! What the back end says of itself when someone looks.

use std::fmt;

use lockless_client::backend::{Backend, Gauges, Status};
#[cfg(feature = "embedded")]
use lockless_client::backend::{EmbeddedGauges, StateGauges};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The back end, as someone who is asked for measures.
pub(super) struct Asked(pub(super) Backend);

impl fmt::Debug for Asked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Asked")
    }
}

/// Name and meaning of the measure of calls.
pub(super) fn call_measure(backend: &Backend) -> (&'static str, &'static str) {
    match backend {
        Backend::Redis(_) => ("redis_call", "Round trip of calls to Redis"),
        #[cfg(feature = "embedded")]
        Backend::Embedded(_) => (
            "embedded_call",
            "Time of calls of the embedded scheduler, their wait included",
        ),
    }
}

impl Collector for Asked {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        let is_ready = !matches!(self.0.status(), Status::NotReady(_));
        page.gauge(
            "ready",
            "1 when calls can be made: Redis answers and has the right library, or it is embedded",
            i64::from(is_ready),
        )?;
        match &self.0 {
            Backend::Redis(redis) => page.redis(&redis.gauges()),
            #[cfg(feature = "embedded")]
            Backend::Embedded(embedded) => page.embedded(&embedded.gauges()),
        }
    }
}

struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn redis(&mut self, gauges: &Gauges) -> fmt::Result {
        self.gauge(
            "redis_connections",
            "Connections to Redis",
            whole(gauges.connections),
        )?;
        self.gauge(
            "redis_in_flight",
            "Calls to Redis under way",
            whole(gauges.in_flight),
        )?;
        self.counter(
            "redis_reconnects",
            "Connections to Redis that were made anew",
            gauges.reconnects,
        )
    }

    #[cfg(feature = "embedded")]
    fn embedded(&mut self, gauges: &EmbeddedGauges) -> fmt::Result {
        self.gauge(
            "embedded_waiting",
            "Calls that wait for the embedded scheduler, or are being made",
            whole(gauges.waiting),
        )?;
        self.gauge(
            "embedded_memory_bytes",
            "Memory that nodes, jobs, events and the library take",
            whole(gauges.memory_bytes),
        )?;
        self.gauge(
            "embedded_memory_limit_bytes",
            "Memory beyond which no new work is taken in",
            i64::from(gauges.memory_limit_bytes),
        )?;
        self.counter(
            "embedded_stopped",
            "Calls that took too much and were undone",
            gauges.stopped,
        )?;
        match &gauges.state {
            Some(state) => self.state(state),
            None => Ok(()),
        }
    }

    #[cfg(feature = "embedded")]
    fn state(&mut self, state: &StateGauges) -> fmt::Result {
        self.counter("state_saves", "Times the state was saved", state.saves)?;
        self.counter(
            "state_save_failures",
            "Times the state could not be saved",
            state.failures,
        )?;
        self.gauge(
            "state_unsaved_seconds",
            "How long the oldest change has not been saved",
            state.unsaved.as_secs_f64(),
        )?;
        self.gauge(
            "state_save_seconds",
            "The time the last save took",
            state.took.as_secs_f64(),
        )?;
        let bytes = i64::try_from(state.bytes).unwrap_or(i64::MAX);
        self.gauge("state_bytes", "The size of the last save", bytes)
    }

    fn gauge<N: EncodeGaugeValue + Clone>(
        &mut self,
        name: &str,
        help: &str,
        value: N,
    ) -> fmt::Result {
        let gauge = ConstGauge::new(value);
        let place = self
            .0
            .encode_descriptor(name, help, None, gauge.metric_type())?;
        gauge.encode(place)
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let counter = ConstCounter::new(value);
        let place = self
            .0
            .encode_descriptor(name, help, None, counter.metric_type())?;
        counter.encode(place)
    }
}

fn whole(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
