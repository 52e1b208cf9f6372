//! Calls `lockless_sweep` for every cell about once a second, so that idle cells settle what is due.
//!
//! Several gateways of a cell need no lock: sweeping twice does nothing, and because every pause is random their calls
//! spread over the second by themselves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::{Call, Cell, Durability, Failure, Redis, Status};
use crate::transport::Shutdown;

/// The time between two sweeps, on average.
const PAUSE: Duration = Duration::from_secs(1);
/// A cell that requests named, and name no more, is left to others after this.
const FORGET: Duration = Duration::from_secs(3600);
/// How many such cells are kept. A thousand calls are swept in a few milliseconds.
const MOST_CELLS: usize = 1000;

/// Sweeps until the gateway shuts down.
pub struct Sweeper {
    known: Vec<Cell>,
    named: Arc<Mutex<HashMap<Cell, Instant>>>,
}

impl Sweeper {
    /// Starts with the cells that are known from the start.
    pub fn start(redis: Arc<Redis>, known: Vec<Cell>, shutdown: Shutdown) -> Self {
        let named = Arc::default();
        let sweeper = Self {
            known: known.clone(),
            named: Arc::clone(&named),
        };
        tokio::spawn(async move {
            loop {
                let pause = PAUSE.mul_f64(0.5 + fastrand::f64());
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = shutdown.requested() => return,
                }
                let cells = known.iter().cloned().chain(still_named(&named));
                sweep(&redis, cells).await;
            }
        });
        sweeper
    }

    /// Has a cell that a request named swept as well.
    pub fn seen(&self, cell: &Cell) {
        if self.known.contains(cell) {
            return;
        }
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if named.len() < MOST_CELLS || named.contains_key(cell) {
            named.insert(cell.clone(), Instant::now());
        }
    }
}

fn still_named(named: &Mutex<HashMap<Cell, Instant>>) -> Vec<Cell> {
    let mut named = named.lock().unwrap_or_else(PoisonError::into_inner);
    named.retain(|_, last| last.elapsed() < FORGET);
    named.keys().cloned().collect()
}

async fn sweep(redis: &Redis, cells: impl Iterator<Item = Cell>) {
    if redis.status() != Status::Ready {
        return;
    }
    let calls: Vec<Call> = cells
        .map(|cell| Call {
            function: "lockless_sweep",
            writes: true,
            cell,
            arguments: Vec::new(),
        })
        .collect();
    let swept: Vec<Cell> = calls.iter().map(|call| call.cell.clone()).collect();
    let replies = redis.batch(calls, Durability::Primary).await;
    for (cell, reply) in swept.iter().zip(replies) {
        match reply {
            // Requests and /readyz tell of a Redis that is away.
            Ok(_) | Err(Failure::Away(_) | Failure::Lost(_) | Failure::Slow) => {}
            Err(failure) => tracing::warn!(%cell, %failure, "the cell could not be swept"),
        }
    }
}
