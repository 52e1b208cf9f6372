//! Many callers at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::{Caller, Door, Fleet};
use crate::harness::interrupt;
use crate::{Error, failed};

/// Far more than any run takes; one that takes longer waits for slots that nobody gives back.
const PATIENCE: Duration = Duration::from_secs(60);

/// What callers did together.
#[derive(Debug, Default)]
pub struct Ran {
    /// How many times.
    pub count: usize,
    /// From the first call to the last one that went well.
    pub took: Duration,
    /// How long each took, refusals before it included, in the order of nothing.
    pub micros: Vec<f64>,
    /// How many dispatches found no slot.
    pub refused: usize,
    /// How many slots were handed out while another caller held them.
    pub oversold: usize,
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
    /// Places a job that nobody completes.
    Place,
    /// Takes a job through its whole life: dispatch, ack, complete.
    WholeJob,
}

/// When callers stop. Until then a job that finds no slot is tried again at once.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After this time no job begins.
    Time(Duration),
    /// All callers together have begun so many jobs.
    Count(usize),
    /// No slot is left: near the end all callers race for the last ones.
    Full,
}

/// What all callers of a run look at before each job.
struct Limit {
    begin: Instant,
    until: Until,
    begun: AtomicUsize,
}

impl Limit {
    fn may_begin(&self) -> bool {
        match self.until {
            Until::Time(time) => self.begin.elapsed() < time,
            Until::Count(count) => self.begun.fetch_add(1, Ordering::Relaxed) < count,
            Until::Full => true,
        }
    }

    /// Whether a job that found no slot is tried again.
    fn may_repeat(&self) -> Result<bool, Error> {
        if self.begin.elapsed() > PATIENCE {
            return Err(Error::unexpected("the callers", &"no slot for a minute"));
        }
        Ok(match self.until {
            Until::Time(time) => self.begin.elapsed() < time,
            Until::Count(_) => true,
            Until::Full => false,
        })
    }
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

    /// Works until the limit; what it did, and when it ended the last one.
    async fn work(mut self, work: Work, limit: &Limit) -> Result<(Ran, Instant), Error> {
        let mut ran = Ran {
            micros: Vec::with_capacity(1024),
            ..Ran::default()
        };
        let mut last = limit.begin;
        'jobs: while limit.may_begin() {
            interrupt::check()?;
            while !self.once(work).await? {
                interrupt::check()?;
                ran.refused += 1;
                if !limit.may_repeat()? {
                    break 'jobs;
                }
            }
            let now = Instant::now();
            ran.micros
                .push(now.duration_since(last).as_secs_f64() * 1e6);
            last = now;
        }
        Ok((ran, last))
    }
}

/// So many callers at the same time, sharing the cells evenly.
pub async fn run(
    door: &Door,
    fleets: &[Arc<Fleet>],
    callers: usize,
    work: Work,
    until: Until,
) -> Result<Ran, Error> {
    let oversold = || fleets.iter().map(|fleet| fleet.oversold()).sum::<usize>();
    let oversold_before = oversold();
    let mut ready = Vec::with_capacity(callers);
    for number in 0..callers {
        let fleet = Arc::clone(&fleets[number % fleets.len()]);
        ready.push(door.caller(number, fleet).await?);
    }
    let limit = Arc::new(Limit {
        begin: Instant::now(),
        until,
        begun: AtomicUsize::new(0),
    });
    let mut calling = JoinSet::new();
    for caller in ready {
        let limit = Arc::clone(&limit);
        calling.spawn(async move { caller.work(work, &limit).await });
    }
    let mut ran = Ran::default();
    while let Some(done) = calling.join_next().await {
        let (one, last) = done.map_err(failed("a caller"))??;
        ran.count += one.micros.len();
        ran.refused += one.refused;
        ran.took = ran.took.max(last.duration_since(limit.begin));
        ran.micros.extend(one.micros);
    }
    ran.oversold = oversold() - oversold_before;
    if ran.count == 0 {
        return Err(Error::unexpected("the callers", &"no slot at all"));
    }
    Ok(ran)
}
