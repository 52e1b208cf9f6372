//! The threads that serve.
//!
//! Each has a scheduler of its own and connections to Redis of its own, so that nothing on a request's way has to wake another
//! thread. The scheduler takes tasks in turn: all requests that are there are read before what they ask for is sent, so
//! that calls which arrive together leave together, with one write.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{Builder, Handle};

thread_local! {
    static HERE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Threads that serve, for as long as the program runs.
pub struct Workers {
    workers: Vec<Worker>,
}

struct Worker {
    runtime: Handle,
    tasks: Arc<AtomicUsize>,
}

impl Workers {
    /// Starts so many threads.
    pub fn start(count: usize) -> io::Result<Arc<Self>> {
        let workers = (0..count.max(1)).map(Worker::start);
        Ok(Arc::new(Self {
            workers: workers.collect::<io::Result<_>>()?,
        }))
    }

    /// No thread but those of the runtime that this is called in.
    pub fn none() -> Arc<Self> {
        let runtime = Handle::current();
        let tasks = Arc::default();
        Arc::new(Self {
            workers: vec![Worker { runtime, tasks }],
        })
    }

    /// The number of the worker that this is called on.
    pub fn here() -> Option<usize> {
        HERE.get()
    }

    /// The scheduler of each.
    pub fn runtimes(&self) -> impl Iterator<Item = &Handle> {
        self.workers.iter().map(|worker| &worker.runtime)
    }

    /// Gives a task to the one that has the fewest.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let idlest = self
            .workers
            .iter()
            .min_by_key(|worker| worker.tasks.load(Ordering::Relaxed));
        if let Some(worker) = idlest {
            let counted = Counted::new(&worker.tasks);
            worker.runtime.spawn(async move {
                task.await;
                drop(counted);
            });
        }
    }
}

impl Worker {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        std::thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || {
                HERE.set(Some(number));
                runtime.block_on(std::future::pending::<()>());
            })?;
        Ok(Self {
            runtime: handle,
            tasks: Arc::default(),
        })
    }
}

/// A task that counts until this is dropped.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(tasks: &Arc<AtomicUsize>) -> Self {
        tasks.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(tasks))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tokio::sync::{mpsc, oneshot};

    use super::*;

    #[tokio::test]
    async fn tasks_go_to_the_worker_that_has_the_fewest() {
        let workers = Workers::start(3).expect("threads");
        let (sender, mut places) = mpsc::unbounded_channel();
        let mut ends = Vec::new();
        for _ in 0..9 {
            let (end, ended) = oneshot::channel::<()>();
            ends.push(end);
            let sender = sender.clone();
            workers.spawn(async move {
                let _ = sender.send(Workers::here());
                let _ = ended.await;
            });
        }
        let mut counts = BTreeMap::new();
        for _ in 0..9 {
            let place = places.recv().await.flatten();
            *counts.entry(place).or_insert(0) += 1;
        }
        let expected = BTreeMap::from([(Some(0), 3), (Some(1), 3), (Some(2), 3)]);
        assert_eq!(counts, expected);
        assert_eq!(Workers::here(), None);
    }
}
