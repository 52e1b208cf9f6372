//! A peer's program, which takes one order per line and answers each with one.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::harness::interrupt;
use crate::{Error, failed};

/// What becomes of a finished job where one can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Its record stays.
    Record,
    /// Nothing stays.
    Nothing,
}

impl Keep {
    fn word(self) -> &'static str {
        match self {
            Keep::Record => "keep",
            Keep::Nothing => "remove",
        }
    }
}

/// A running program of a peer. It ends when it is dropped, and its workers with it.
pub struct Program {
    name: &'static str,
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Program {
    /// Starts it and waits until it is ready.
    pub(super) fn start(name: &'static str, mut command: Command) -> Result<Self, Error> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = lockless_servers::launch(command).map_err(failed("a peer's program"))?;
        let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::unexpected(name, &"no pipes"));
        };
        let mut program = Program {
            name,
            child,
            orders: Some(orders),
            answers: BufReader::new(answers),
        };
        match program.answer()?.as_str() {
            "ready" => Ok(program),
            other => Err(Error::unexpected(name, &other)),
        }
    }

    /// Puts so many no-op jobs into the queue.
    pub fn add(&mut self, count: usize, keep: Keep) -> Result<Duration, Error> {
        self.order(&format!("add {count} {}", keep.word()))?;
        self.done()
    }

    /// Puts jobs in while a worker runs them, and says how long that took from the first to the end of the last. BullMQ's alone.
    pub fn flow(
        &mut self,
        count: usize,
        keep: Keep,
        concurrency: usize,
    ) -> Result<Duration, Error> {
        self.order(&format!("flow {count} {} {concurrency}", keep.word()))?;
        self.done()
    }

    /// Puts in one job after the other, each of which finds a worker that waits. BullMQ's alone.
    pub fn live(&mut self, count: usize, keep: Keep) -> Result<Duration, Error> {
        self.order(&format!("live {count} {}", keep.word()))?;
        self.done()
    }

    /// Starts workers that run so many jobs at a time until so many are done, and says how long that took.
    pub fn work(&mut self, count: usize, concurrency: usize) -> Result<Duration, Error> {
        self.order(&format!("work {count} {concurrency}"))?;
        self.done()
    }

    /// Waits for the end of what was ordered.
    fn done(&mut self) -> Result<Duration, Error> {
        let answer = self.answer()?;
        let seconds = answer.strip_prefix("done ").and_then(|it| it.parse().ok());
        seconds
            .map(Duration::from_secs_f64)
            .ok_or_else(|| Error::unexpected(self.name, &answer))
    }

    fn order(&mut self, order: &str) -> Result<(), Error> {
        interrupt::check()?;
        let Some(orders) = &mut self.orders else {
            return Err(Error::unexpected(self.name, &"it takes no orders any more"));
        };
        writeln!(orders, "{order}").map_err(failed("an order to a peer's program"))
    }

    fn answer(&mut self) -> Result<String, Error> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        read.map_err(failed("a peer's answer"))?;
        interrupt::check()?;
        Ok(line.trim().to_owned())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Without orders it stops its workers and ends; one that does not is ended.
        drop(self.orders.take());
        lockless_servers::terminate(&self.child);
        for _ in 0..100 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
