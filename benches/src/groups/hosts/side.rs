//! A cell on a host, and what its rounds take.

use std::time::{Duration, Instant};

use lockless_lua_tests::{Host, Reply};
use rustix::time::{ClockId, clock_gettime};

use crate::Error;
use crate::cell::{PAYLOAD, ROOT, node, plain_node};
use crate::rounds::median;

/// Sessions that dispatch in turn.
const SESSIONS: usize = 64;
/// How far a model's clock moves in a round, so that finished jobs expire and nodes do not.
const ROUND_MS: u64 = 20;

/// A cell on a host.
pub(super) struct Side {
    host: Box<dyn Host>,
    calls: usize,
    per_processor_second: Vec<f64>,
    jobs_per_second: Vec<f64>,
}

impl Side {
    /// A cell of so many nodes.
    pub(super) fn new(host: Box<dyn Host>, nodes: usize) -> Result<Self, Error> {
        let mut side = Side {
            host,
            calls: 0,
            per_processor_second: Vec::new(),
            jobs_per_second: Vec::new(),
        };
        for number in 0..nodes {
            let mut words = vec![node(number)];
            words.extend(plain_node());
            side.call("lockless_register", &words)?;
        }
        Ok(side)
    }

    /// Dispatches so many jobs, then has them acknowledged and completed; gives the dispatches per second.
    pub(super) fn round(&mut self, jobs: usize) -> Result<f64, Error> {
        if self.host.as_model().is_some() {
            self.host.pass_time(ROUND_MS)?;
        }
        let (began, processor) = (Instant::now(), processor_time());
        let mut granted = Vec::with_capacity(jobs);
        for _ in 0..jobs {
            granted.push(self.dispatch()?);
        }
        let per_second = |took: Duration| jobs as f64 / took.as_secs_f64();
        let dispatches = per_second(began.elapsed());
        let processor = per_second(processor_time() - processor);
        for [job, node] in granted {
            self.call("lockless_ack", &[job.clone(), node.clone()])?;
            self.call("lockless_complete", &[job, node, "finished".to_owned()])?;
        }
        self.per_processor_second.push(processor);
        self.jobs_per_second.push(per_second(began.elapsed()));
        Ok(dispatches)
    }

    /// Whole jobs per second, in the middle of the rounds.
    pub(super) fn jobs_per_second(&self) -> f64 {
        median(&self.jobs_per_second)
    }

    /// Dispatches per second that the caller's thread was on a processor, without the round that warmed up. Of a server
    /// that is not what it computes.
    pub(super) fn dispatches_per_processor_second(&self) -> &[f64] {
        self.per_processor_second.get(1..).unwrap_or_default()
    }

    fn call(&mut self, function: &str, args: &[String]) -> Result<Reply, Error> {
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.clone().into_bytes()).collect();
        match self.host.fcall(function, &[ROOT.as_bytes()], &args)? {
            Reply::Error(line) => Err(Error::unexpected(function, &line)),
            reply => Ok(reply),
        }
    }

    fn dispatch(&mut self) -> Result<[String; 2], Error> {
        self.calls += 1;
        let session = format!("session-{:02}", self.calls % SESSIONS);
        let words = [&session, "en", "zh", PAYLOAD].map(str::to_owned);
        let reply = self.call("lockless_dispatch", &words)?;
        let text = |item: &Reply| match item {
            Reply::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        };
        match &reply {
            Reply::Array(items) if items.len() == 2 => Ok([text(&items[1]), text(&items[0])]),
            other => Err(Error::unexpected("a dispatch", &format!("{other:?}"))),
        }
    }
}

/// How long this thread was on a processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    #[allow(
        clippy::cast_sign_loss,
        reason = "the clock starts at 0 with the thread"
    )]
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
