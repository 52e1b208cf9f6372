//! Calls that wait for the one thread that makes them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;

use crate::backend::{Call, Failure, Reply};

/// Calls that may wait at once. Some ten thousand are made in a second, so whoever came later would wait for longer than
/// is worth it.
const MOST: usize = 10_000;

type Outcome = Result<Reply, Failure>;

/// What one caller waits for.
pub(super) enum Unit {
    One(Call, oneshot::Sender<Outcome>),
    Many(Vec<Call>, oneshot::Sender<Vec<Outcome>>),
}

impl Unit {
    pub(super) fn calls(&self) -> usize {
        match self {
            Self::One(..) => 1,
            Self::Many(calls, _) => calls.len(),
        }
    }
}

/// What the thread found when it looked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// There are calls.
    Work,
    /// The time was up.
    Time,
    /// Nobody will come any more.
    Closed,
}

#[derive(Default)]
pub(super) struct Queue {
    line: Mutex<Line>,
    news: Condvar,
    /// Calls that wait or are being made.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct Line {
    units: Vec<Unit>,
    is_closed: bool,
    /// Whether the thread sleeps. Waking one that does not is dear, and of no use.
    sleeps: bool,
}

impl Queue {
    /// Takes calls in, unless there are too many.
    pub(super) fn push(&self, unit: Unit) -> Result<(), Failure> {
        let calls = unit.calls();
        let mut line = self.line();
        if line.is_closed {
            return Err(Failure::Ended);
        }
        if self.waiting.load(Ordering::Relaxed) + calls > MOST {
            return Err(Failure::Busy);
        }
        self.waiting.fetch_add(calls, Ordering::Relaxed);
        line.units.push(unit);
        let sleeps = line.sleeps;
        drop(line);
        if sleeps {
            self.news.notify_one();
        }
        Ok(())
    }

    /// Gives all that wait, in the order in which they came, into an empty list. Without any it waits until then.
    pub(super) fn take(&self, units: &mut Vec<Unit>, until: Option<Instant>) -> Looked {
        let mut line = self.line();
        loop {
            if !line.units.is_empty() {
                std::mem::swap(&mut line.units, units);
                return Looked::Work;
            }
            if line.is_closed {
                return Looked::Closed;
            }
            let pause = until.map(|until| until.saturating_duration_since(Instant::now()));
            if pause.is_some_and(|pause| pause.is_zero()) {
                return Looked::Time;
            }
            line.sleeps = true;
            line = match pause {
                Some(pause) => {
                    let woken = self.news.wait_timeout(line, pause);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    let woken = self.news.wait(line);
                    woken.unwrap_or_else(PoisonError::into_inner)
                }
            };
            line.sleeps = false;
        }
    }

    /// So many calls of those that were given have been made.
    pub(super) fn made(&self, calls: usize) {
        self.waiting.fetch_sub(calls, Ordering::Relaxed);
    }

    /// Takes nothing in any more. What waits is still given.
    pub(super) fn close(&self) {
        self.line().is_closed = true;
        self.news.notify_one();
    }

    /// The thread is no more: whoever waits is told so by the end of its unit.
    pub(super) fn abandon(&self) {
        let mut line = self.line();
        line.is_closed = true;
        let left = std::mem::take(&mut line.units);
        drop(line);
        self.made(left.iter().map(Unit::calls).sum());
    }

    pub(super) fn is_closed(&self) -> bool {
        self.line().is_closed
    }

    /// Calls that wait or are being made.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::backend::Cell;

    fn call() -> Call {
        Call {
            function: "lockless_sweep",
            writes: true,
            cell: Cell::new("scheduler:{main}"),
            arguments: Vec::new(),
        }
    }

    fn one() -> (Unit, oneshot::Receiver<Outcome>) {
        let (answer, answered) = oneshot::channel();
        (Unit::One(call(), answer), answered)
    }

    fn many(count: usize) -> Unit {
        Unit::Many(vec![call(); count], oneshot::channel().0)
    }

    #[test]
    fn no_more_calls_wait_than_may() {
        let queue = Queue::default();
        queue.push(many(MOST - 1)).expect("room");
        assert_eq!(queue.push(many(2)), Err(Failure::Busy));
        queue.push(many(1)).expect("room for one");
        assert_eq!(queue.push(one().0), Err(Failure::Busy));
        let mut units = Vec::new();
        assert_eq!(queue.take(&mut units, None), Looked::Work);
        assert_eq!(units.len(), 2);
        // Those that are being made still count.
        assert_eq!(queue.push(one().0), Err(Failure::Busy));
        queue.made(MOST);
        assert_eq!(queue.waiting(), 0);
        queue.push(one().0).expect("room");
    }

    #[test]
    fn what_came_before_the_end_is_still_given() {
        let queue = Queue::default();
        queue.push(one().0).expect("room");
        queue.close();
        assert_eq!(queue.push(one().0), Err(Failure::Ended));
        let mut units = Vec::new();
        assert_eq!(queue.take(&mut units, None), Looked::Work);
        units.clear();
        assert_eq!(queue.take(&mut units, None), Looked::Closed);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_is_no_more() {
        let queue = Queue::default();
        let (unit, mut answered) = one();
        queue.push(unit).expect("room");
        queue.abandon();
        assert_eq!(
            answered.try_recv(),
            Err(oneshot::error::TryRecvError::Closed)
        );
        assert_eq!(queue.waiting(), 0);
    }

    #[test]
    fn a_thread_that_sleeps_is_woken_by_work_and_by_time() {
        let queue = Arc::new(Queue::default());
        let mut units = Vec::new();
        let soon = Instant::now() + Duration::from_millis(1);
        assert_eq!(queue.take(&mut units, Some(soon)), Looked::Time);
        let taker = std::thread::spawn({
            let queue = Arc::clone(&queue);
            move || {
                let mut units = Vec::new();
                (queue.take(&mut units, None), units.len())
            }
        });
        while !queue.line().sleeps {
            std::thread::yield_now();
        }
        queue.push(one().0).expect("room");
        assert_eq!(taker.join().expect("the thread"), (Looked::Work, 1));
    }
}
