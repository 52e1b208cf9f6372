//! What cells need now and then: `lockless_sweep` about once a second, so that idle ones settle what is due, and
//! `lockless_snapshot` about every five, for dashboards.
//!
//! Several gateways of a cell need no lock for the first: sweeping twice does nothing, and because every pause is random
//! their calls spread over the second by themselves. Snapshots are one gateway's business at a time, by a lock of the
//! library itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::transport::Shutdown;
use lockless_client::backend::{Backend, Call, Cell, Durability, Failure, Reply};

/// The time between two sweeps, on average.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// The time between two snapshots, on average.
const SNAPSHOT_EVERY: Duration = Duration::from_secs(5);
/// The lock of whoever takes snapshots, kept from one to the next.
const LOCK: &str = "lockless-snapshot";
const LOCK_MS: &str = "12000";
/// A cell that requests named, and name no more, is left to others after this.
const FORGET: Duration = Duration::from_secs(3600);
/// How many such cells are kept. A thousand calls are made in a few milliseconds.
const MOST_CELLS: usize = 1000;

/// Whether a call is about the lock of those who take snapshots, which is not for callers.
pub(crate) fn is_own_lock(function: &str, name: &[u8]) -> bool {
    matches!(function, "lockless_lock" | "lockless_unlock") && name == LOCK.as_bytes()
}

/// Looks after cells until the gateway shuts down.
pub struct Caretaker {
    cells: Arc<CellsInUse>,
}

struct CellsInUse {
    known: Vec<Cell>,
    named: Mutex<HashMap<Cell, Instant>>,
}

impl Caretaker {
    /// Starts with the cells that are known from the start. `name` tells this gateway from others.
    pub fn start(backend: &Backend, known: Vec<Cell>, name: String, shutdown: &Shutdown) -> Self {
        let cells = Arc::new(CellsInUse {
            known,
            named: Mutex::default(),
        });
        let sweeping = (backend.clone(), Arc::clone(&cells), shutdown.clone());
        tokio::spawn(async move {
            let (backend, cells, shutdown) = sweeping;
            while pause(SWEEP_EVERY, &shutdown).await {
                sweep(&backend, cells.all()).await;
            }
        });
        let watching = (backend.clone(), Arc::clone(&cells), shutdown.clone());
        tokio::spawn(async move {
            let (backend, cells, shutdown) = watching;
            let name = Bytes::from(name);
            while pause(SNAPSHOT_EVERY, &shutdown).await {
                snapshot(&backend, cells.all(), &name).await;
            }
        });
        Self { cells }
    }

    /// Has a cell that a request named looked after as well.
    pub fn seen(&self, cell: &Cell) {
        if self.cells.known.contains(cell) {
            return;
        }
        let mut named = self
            .cells
            .named
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if named.len() >= MOST_CELLS && !named.contains_key(cell) {
            let oldest = named.iter().min_by_key(|(_, last)| **last);
            if let Some(oldest) = oldest.map(|(cell, _)| cell.clone()) {
                named.remove(&oldest);
            }
        }
        named.insert(cell.clone(), Instant::now());
    }
}

impl CellsInUse {
    fn all(&self) -> Vec<Cell> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        named.retain(|_, last| last.elapsed() < FORGET);
        self.known.iter().chain(named.keys()).cloned().collect()
    }
}

/// Waits for about so long; false when the gateway shuts down.
async fn pause(time: Duration, shutdown: &Shutdown) -> bool {
    tokio::select! {
        () = tokio::time::sleep(time.mul_f64(0.5 + fastrand::f64())) => true,
        () = shutdown.requested() => false,
    }
}

async fn sweep(backend: &Backend, cells: Vec<Cell>) {
    each(backend, cells, "lockless_sweep", &[]).await;
}

/// Takes snapshots of those cells that have nodes and are not another gateway's business. Others are not touched: a
/// request that only asked for a cell must not make one.
async fn snapshot(backend: &Backend, cells: Vec<Cell>, name: &Bytes) {
    let counted = each(backend, cells, "lockless_stats", &[]).await;
    let in_use = counted.into_iter().filter(|(_, stats)| has_nodes(stats));
    let lock = [
        Bytes::from_static(LOCK.as_bytes()),
        name.clone(),
        Bytes::from_static(LOCK_MS.as_bytes()),
    ];
    let in_use = in_use.map(|(cell, _)| cell).collect();
    let locked = each(backend, in_use, "lockless_lock", &lock).await;
    let own = locked.into_iter().filter(|(_, reply)| {
        matches!(reply, Reply::List(values) if values.first() == Some(&Reply::Integer(1)))
    });
    let own = own.map(|(cell, _)| cell).collect();
    each(backend, own, "lockless_snapshot", &[]).await;
}

fn has_nodes(stats: &Reply) -> bool {
    let Reply::List(fields) = stats else {
        return false;
    };
    let mut pairs = fields.chunks_exact(2);
    let name = Reply::Bytes(Bytes::from_static(b"nodes"));
    pairs.any(|pair| pair[0] == name && matches!(pair[1], Reply::Integer(1..)))
}

/// Calls a function in each cell, and gives the replies there are.
async fn each(
    backend: &Backend,
    cells: Vec<Cell>,
    function: &'static str,
    arguments: &[Bytes],
) -> Vec<(Cell, Reply)> {
    if cells.is_empty() {
        return Vec::new();
    }
    let calls = cells.iter().map(|cell| Call {
        function,
        writes: true,
        cell: cell.clone(),
        arguments: arguments.to_vec(),
    });
    let replies = backend.batch(calls.collect(), Durability::Primary).await;
    let mut given = Vec::with_capacity(cells.len());
    for (cell, reply) in cells.into_iter().zip(replies) {
        match reply {
            Ok(reply) => given.push((cell, reply)),
            // Requests and /readyz tell of these.
            Err(
                Failure::Away(_)
                | Failure::Lost(_)
                | Failure::Slow
                | Failure::Busy
                | Failure::Ended
                | Failure::Full(_)
                | Failure::LibraryMissing,
            ) => {}
            Err(failure) => {
                tracing::warn!(%cell, function, %failure, "a cell could not be looked after");
            }
        }
    }
    given
}
