//! apalis-redis as the benches drive it: `lockless-bench-apalis PORT` takes one order per line and answers each with one.
//!
//! ```text
//! start CONCURRENCY PROCESSES  starts a worker; PROCESSES says nothing here
//! add COUNT KEEP               puts so many no-op jobs into the queue
//! drain COUNT                  waits until so many jobs that were put in before are finished: from the first to the last
//! flow COUNT KEEP              puts jobs in while the worker runs: from the first add to the last job
//! stop                         stops the worker
//! ```
//!
//! Each is answered with `done SECONDS`. KEEP says nothing here: apalis keeps what it keeps by default.

use std::io::BufRead;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use apalis::prelude::*;
use apalis_redis::{ConnectionManager, RedisStorage};
use serde::{Deserialize, Serialize};

/// As many as the callers that Lockless is measured with.
const ADDERS: usize = 64;
/// A worker that finishes nothing for so long has stopped.
const PATIENCE: Duration = Duration::from_secs(30);

/// Without it a worker that found the queue empty looks again with its next heartbeat, up to 30 s later.
const POLL: Duration = Duration::from_millis(50);

static WORKERS: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Payload {
    text: String,
    voice: String,
    speed: f64,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How far a worker has come.
#[derive(Default)]
struct Progress {
    begin: OnceLock<Instant>,
    finished: AtomicUsize,
}

/// A worker that runs.
struct Running {
    progress: Arc<Progress>,
    task: tokio::task::AbortHandle,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let port = std::env::args().nth(1).ok_or("the port is missing")?;
    let connection = apalis_redis::connect(format!("redis://127.0.0.1:{port}")).await?;
    let mut worker = None;
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        match obey(&connection, &mut worker, &words).await {
            Ok(time) => println!("done {}", time.as_secs_f64()),
            Err(error) => println!("failed {error}"),
        }
    }
    Ok(())
}

async fn obey(
    connection: &ConnectionManager,
    worker: &mut Option<Running>,
    order: &[&str],
) -> Result<Duration, Failure> {
    match (order, &worker) {
        (["start", concurrency, _], None) => {
            *worker = Some(start(connection, concurrency.parse()?));
            Ok(Duration::ZERO)
        }
        (["add", count, _], _) => add(connection, count.parse()?).await,
        (["drain", count], Some(running)) => running.drain(count.parse()?).await,
        (["flow", count, _], Some(running)) => running.flow(connection, count.parse()?).await,
        (["stop"], Some(running)) => {
            running.task.abort();
            *worker = None;
            Ok(Duration::ZERO)
        }
        _ => Err(format!("no such order now: {}", order.join(" ")).into()),
    }
}

async fn add(connection: &ConnectionManager, count: usize) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let left = Arc::new(AtomicUsize::new(count));
    let adders: Vec<_> = (0..ADDERS)
        .map(|_| {
            let (left, mut storage) = (left.clone(), RedisStorage::new(connection.clone()));
            tokio::spawn(async move {
                let one_less = |left: usize| left.checked_sub(1);
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
                    .is_ok()
                {
                    storage.push(payload()).await?;
                }
                Ok::<(), Failure>(())
            })
        })
        .collect();
    for adder in adders {
        adder.await??;
    }
    Ok(begin.elapsed())
}

fn payload() -> Payload {
    Payload {
        text: "hello, world".to_owned(),
        voice: "b2".to_owned(),
        speed: 1.0,
    }
}

fn start(connection: &ConnectionManager, concurrency: usize) -> Running {
    let progress = Arc::new(Progress::default());
    let job = {
        let progress = progress.clone();
        move |_: Payload| {
            progress.begin.get_or_init(Instant::now);
            progress.finished.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Ok::<(), BoxDynError>(()))
        }
    };
    // A name is taken for as long as the worker that had it is not given up for dead.
    let name = format!("worker-{}", WORKERS.fetch_add(1, Ordering::Relaxed));
    let worker = WorkerBuilder::new(name)
        .backend(RedisStorage::new(connection.clone()).poll_with_interval(POLL))
        .concurrency(concurrency)
        .build(job);
    let task = tokio::spawn(worker.run()).abort_handle();
    Running { progress, task }
}

impl Running {
    /// From the first job that the worker begins to the last one, so that its start does not count.
    async fn drain(&self, count: usize) -> Result<Duration, Failure> {
        let end = self.until(count).await?;
        let begin = self.progress.begin.get().ok_or("no job ran")?;
        Ok(end.duration_since(*begin))
    }

    async fn flow(
        &self,
        connection: &ConnectionManager,
        count: usize,
    ) -> Result<Duration, Failure> {
        let before = self.progress.finished.load(Ordering::Relaxed);
        let begin = Instant::now();
        add(connection, count).await?;
        let end = self.until(before + count).await?;
        Ok(end.duration_since(begin))
    }

    /// When so many jobs have run since the start.
    async fn until(&self, count: usize) -> Result<Instant, Failure> {
        let (mut last, mut last_news) = (0, Instant::now());
        while last < count {
            let finished = self.progress.finished.load(Ordering::Relaxed);
            if finished > last {
                (last, last_news) = (finished, Instant::now());
            } else if last_news.elapsed() > PATIENCE {
                return Err(format!("it stopped after {last} of {count} jobs").into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The results of the last jobs are still on their way.
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(last_news)
    }
}
