//! Many callers at the same time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::{Caller, Door, Fleet};
use crate::harness::interrupt;
use crate::{Error, failed};

/// What callers did together.
#[derive(Debug, Default)]
pub struct Ran {
    /// How many times.
    pub count: usize,
    /// From the first call to the last one that went well.
    pub took: Duration,
    /// How long each took, in the order of nothing.
    pub micros: Vec<f64>,
}

impl Ran {
    /// How often per second.
    pub fn per_second(&self) -> f64 {
        self.count as f64 / self.took.as_secs_f64()
    }
}

/// What every caller does, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Places a job that nobody completes: near the end all callers race for the last slots.
    Place,
    /// Takes a job through its whole life: dispatch, ack, complete.
    WholeJob,
}

impl Caller {
    /// Whether it was done; a job that finds no slot is not.
    async fn once(&mut self, work: Work) -> Result<bool, Error> {
        let Some(placed) = self.dispatch().await? else {
            return Ok(false);
        };
        if work == Work::WholeJob {
            self.ack(&placed).await?;
            self.complete(&placed).await?;
        }
        Ok(true)
    }
}

/// So many callers at the same time, until the time is over or every slot is taken. They share the cells evenly.
pub async fn run(
    door: &Door,
    fleets: &[Arc<Fleet>],
    callers: usize,
    work: Work,
    time: Duration,
) -> Result<Ran, Error> {
    let mut ready = Vec::with_capacity(callers);
    for number in 0..callers {
        let fleet = Arc::clone(&fleets[number % fleets.len()]);
        ready.push(door.caller(number, fleet).await?);
    }
    let begin = Instant::now();
    let mut calling = JoinSet::new();
    for mut caller in ready {
        calling.spawn(async move {
            let mut micros = Vec::with_capacity(1024);
            let mut last = begin;
            while last.duration_since(begin) < time {
                interrupt::check()?;
                if !caller.once(work).await? {
                    break;
                }
                let now = Instant::now();
                micros.push(now.duration_since(last).as_secs_f64() * 1e6);
                last = now;
            }
            Ok::<_, Error>((micros, last))
        });
    }
    let mut ran = Ran::default();
    while let Some(done) = calling.join_next().await {
        let (micros, last) = done.map_err(failed("a caller"))??;
        ran.count += micros.len();
        ran.took = ran.took.max(last.duration_since(begin));
        ran.micros.extend(micros);
    }
    if ran.count == 0 {
        return Err(Error::unexpected("the callers", &"no slot at all"));
    }
    Ok(ran)
}
