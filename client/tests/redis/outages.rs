//! Servers that are away, killed, frozen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lockless_client::backend::{Durability, Failure, Redis, RedisSettings, Status};
use lockless_client::workers::Workers;
use tempfile::TempDir;

use crate::support::{cell, dispatch, ready, register, restartable, server, start, until, version};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_at_the_start_is_found_when_it_appears() {
    let dir = TempDir::new().expect("a directory");
    let (mut first, again) = restartable(dir.path());
    let url = first.url();
    first.kill();
    let redis = start(&url);
    let away = redis.call(version(&cell()), Durability::Primary).await;
    assert!(matches!(away, Err(Failure::Away(_))), "{away:?}");
    let begin = Instant::now();
    let away = redis.call(version(&cell()), Durability::Primary).await;
    assert!(
        matches!(away, Err(Failure::Away(_))) && begin.elapsed() < Duration::from_millis(100),
        "{away:?}"
    );
    assert!(matches!(redis.status(), Status::NotReady(_)));
    let _server = again.start().expect("a server");
    let taken = until("a reply", async || {
        redis
            .call(version(&cell()), Durability::Primary)
            .await
            .is_ok()
    })
    .await;
    assert!(taken < Duration::from_secs(2), "{taken:?}");
    ready(&redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_fails_calls_at_once_and_is_used_again_within_two_seconds() {
    let dir = TempDir::new().expect("a directory");
    let (mut first, again) = restartable(dir.path());
    let redis = start(&first.url());
    register(&redis, &cell(), "n1").await;
    ready(&redis).await;

    let load = Load::start(&redis, 32);
    until("some work", async || {
        load.done.load(Ordering::Relaxed) > 1000
    })
    .await;
    first.kill();
    until("failures", async || {
        load.failed.load(Ordering::Relaxed) > 100
    })
    .await;
    let _second = again.start().expect("a server");
    let done = load.done.load(Ordering::Relaxed);
    let taken = until("work again", async || {
        load.done.load(Ordering::Relaxed) > done + 100
    })
    .await;
    assert!(taken < Duration::from_secs(2), "{taken:?}");
    let (slowest, unexpected) = load.stop().await;
    assert!(slowest < Duration::from_millis(2100), "{slowest:?}");
    assert_eq!(unexpected, Vec::<Failure>::new());
    ready(&redis).await;
    until("its connection", async || redis.gauges().reconnects >= 1).await;
}

/// Callers that dispatch over and over.
struct Load {
    done: Arc<AtomicUsize>,
    failed: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    callers: Vec<tokio::task::JoinHandle<(Duration, Vec<Failure>)>>,
}

impl Load {
    fn start(redis: &Arc<Redis>, callers: usize) -> Self {
        let (done, failed, is_over) =
            <(Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicBool>)>::default();
        let run = |caller: usize| {
            let (redis, done, failed, is_over) =
                (redis.clone(), done.clone(), failed.clone(), is_over.clone());
            tokio::spawn(async move {
                let (mut slowest, mut unexpected) = (Duration::ZERO, Vec::new());
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let begin = Instant::now();
                    let job = format!("{caller}-{number}");
                    let complete = crate::support::writing(
                        &cell(),
                        "lockless_complete",
                        &[&job, "n1", "finished"],
                    );
                    let outcomes = redis
                        .batch(vec![dispatch(&cell(), &job), complete], Durability::Primary)
                        .await;
                    slowest = slowest.max(begin.elapsed());
                    match outcomes.into_iter().find_map(Result::err) {
                        None => {
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                        Some(failure) => {
                            failed.fetch_add(1, Ordering::Relaxed);
                            if !matches!(failure, Failure::Lost(_) | Failure::Away(_)) {
                                unexpected.push(failure);
                            }
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                    }
                }
                (slowest, unexpected)
            })
        };
        let callers = (0..callers).map(run).collect();
        Self {
            done,
            failed,
            is_over,
            callers,
        }
    }

    async fn stop(self) -> (Duration, Vec<Failure>) {
        self.is_over.store(true, Ordering::Relaxed);
        let (mut slowest, mut unexpected) = (Duration::ZERO, Vec::new());
        for caller in self.callers {
            let (time, failures) = caller.await.expect("a caller");
            slowest = slowest.max(time);
            unexpected.extend(failures);
        }
        (slowest, unexpected)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_server_is_slow_and_goes_on_where_it_was() {
    let server = server();
    let settings = RedisSettings {
        call_timeout: Duration::from_millis(300),
        ..RedisSettings::new(server.url())
    };
    let redis = Redis::start(settings, &Workers::none()).expect("settings");
    ready(&redis).await;
    server.freeze();
    let begin = Instant::now();
    let slow = redis.call(version(&cell()), Durability::Primary).await;
    assert_eq!(slow, Err(Failure::Slow));
    assert!(
        begin.elapsed() < Duration::from_millis(600),
        "{:?}",
        begin.elapsed()
    );
    until("not ready", async || redis.status() != Status::Ready).await;
    server.thaw();
    let taken = until("a reply", async || {
        redis
            .call(version(&cell()), Durability::Primary)
            .await
            .is_ok()
    })
    .await;
    assert!(taken < Duration::from_secs(2), "{taken:?}");
}
