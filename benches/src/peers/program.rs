//! A peer's program, which takes one order per line and answers each with one.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::harness::interrupt;
use crate::{Error, failed};

/// An order takes seconds; a program that is silent for so long does not answer any more.
const PATIENCE: Duration = Duration::from_secs(180);
/// How often a wait looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);
/// So many of the last lines that a program said to standard error are part of what is told of its failure.
const LINES_KEPT: usize = 5;

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
    answers: Receiver<String>,
    last_errors: Arc<Mutex<VecDeque<String>>>,
    patience: Duration,
}

impl Program {
    /// Starts it and waits until it is ready.
    pub(super) fn start(name: &'static str, command: Command) -> Result<Self, Error> {
        Self::start_with(name, command, PATIENCE)
    }

    fn start_with(
        name: &'static str,
        mut command: Command,
        patience: Duration,
    ) -> Result<Self, Error> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = lockless_servers::launch(command).map_err(failed("a peer's program"))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(orders), Some(answers), Some(errors)) = pipes else {
            return Err(Error::unexpected(name, &"no pipes"));
        };
        let (said, heard) = channel();
        each_line(answers, move |line| said.send(line).is_ok());
        let last_errors: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let kept = Arc::clone(&last_errors);
        each_line(errors, move |line| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() == LINES_KEPT {
                kept.pop_front();
            }
            kept.push_back(line);
            true
        });
        let mut program = Program {
            name,
            child,
            orders: Some(orders),
            answers: heard,
            last_errors,
            patience,
        };
        match program.answer()?.as_str() {
            "ready" => Ok(program),
            other => Err(program.trouble(other)),
        }
    }

    /// Starts workers that run so many jobs at a time each. BullMQ's are in so many processes, or with 0 in that of the adders.
    pub fn start_workers(&mut self, concurrency: usize, processes: usize) -> Result<(), Error> {
        self.order(&format!("start {concurrency} {processes}"))
            .map(drop)
    }

    /// Stops them.
    pub fn stop_workers(&mut self) -> Result<(), Error> {
        self.order("stop").map(drop)
    }

    /// Puts so many no-op jobs into the queue.
    pub fn add(&mut self, count: usize, keep: Keep) -> Result<Duration, Error> {
        self.order(&format!("add {count} {}", keep.word()))
    }

    /// Waits until workers have run so many jobs that were put in before they started, and says how long that took them.
    pub fn drain(&mut self, count: usize) -> Result<Duration, Error> {
        self.order(&format!("drain {count}"))
    }

    /// Puts jobs in while workers run them, and says how long that took from the first to the end of the last.
    pub fn flow(&mut self, count: usize, keep: Keep) -> Result<Duration, Error> {
        self.order(&format!("flow {count} {}", keep.word()))
    }

    /// Puts in one job after the other, each of which finds a worker that waits. BullMQ's alone.
    pub fn live(&mut self, count: usize, keep: Keep) -> Result<Duration, Error> {
        self.order(&format!("live {count} {}", keep.word()))
    }

    fn order(&mut self, order: &str) -> Result<Duration, Error> {
        interrupt::check()?;
        let Some(orders) = &mut self.orders else {
            return Err(self.trouble("it takes no orders any more"));
        };
        if writeln!(orders, "{order}").is_err() {
            return Err(self.trouble("it takes no orders any more"));
        }
        let answer = self.answer()?;
        let seconds = answer.strip_prefix("done ").and_then(|it| it.parse().ok());
        seconds
            .map(Duration::from_secs_f64)
            .ok_or_else(|| self.trouble(&format!("to '{order}': {answer}")))
    }

    fn answer(&mut self) -> Result<String, Error> {
        let asked = Instant::now();
        loop {
            interrupt::check()?;
            match self.answers.recv_timeout(LOOK) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Err(self.trouble("it ended")),
                Err(RecvTimeoutError::Timeout) if asked.elapsed() > self.patience => {
                    let waited = format!("no answer within {:?}", self.patience);
                    return Err(self.trouble(&waited));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// What went wrong, with the last lines that it said itself.
    fn trouble(&self, what: &str) -> Error {
        // The lines come through another pipe, and may be a moment later.
        std::thread::sleep(LOOK);
        let lines = self
            .last_errors
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let reason = match lines.as_slice() {
            [] => what.to_owned(),
            lines => format!("{what}; it said: {}", lines.join(" / ")),
        };
        Error::Failed {
            what: self.name.to_owned(),
            reason,
        }
    }
}

/// Hands over each line on a thread of its own, until there are none or nobody wants them.
fn each_line(
    from: impl Read + Send + 'static,
    mut hand_over: impl FnMut(String) -> bool + Send + 'static,
) {
    std::thread::spawn(move || {
        let lines = BufReader::new(from).lines().map_while(Result::ok);
        for line in lines {
            if !hand_over(line.trim().to_owned()) {
                break;
            }
        }
    });
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(script: &str) -> Result<Program, Error> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Program::start_with("a fake peer", command, Duration::from_millis(500))
    }

    fn reason<T>(answer: Result<T, Error>) -> String {
        answer.map(drop).unwrap_err().to_string()
    }

    #[test]
    fn every_order_is_one_line_and_is_answered_with_its_time() {
        let told = tempfile::NamedTempFile::new().unwrap();
        let path = told.path().display();
        let script = format!(
            "echo ready; while read order; do echo \"$order\" >> {path}; echo done 0.25; done"
        );
        let mut program = fake(&script).unwrap();
        program.start_workers(64, 2).unwrap();
        program.add(600, Keep::Record).unwrap();
        let took = program.drain(600).unwrap();
        program.flow(10, Keep::Nothing).unwrap();
        program.live(5, Keep::Record).unwrap();
        program.stop_workers().unwrap();
        assert_eq!(took, Duration::from_millis(250));
        let orders = std::fs::read_to_string(told.path()).unwrap();
        let orders: Vec<&str> = orders.lines().collect();
        let wanted = [
            "start 64 2",
            "add 600 keep",
            "drain 600",
            "flow 10 remove",
            "live 5 keep",
            "stop",
        ];
        assert_eq!(orders, wanted);
    }

    #[test]
    fn a_program_that_ends_is_named_with_its_last_words() {
        let text = reason(fake("echo no such module >&2; exit 1"));
        assert!(text.contains("a fake peer: it ended"), "{text}");
        assert!(text.contains("no such module"), "{text}");
    }

    #[test]
    fn an_order_that_fails_is_told_with_the_answer() {
        let mut program =
            fake("echo ready; read order; echo failed it is full; read more").unwrap();
        let text = reason(program.add(1, Keep::Record));
        assert!(text.contains("failed it is full"), "{text}");
    }

    #[test]
    fn a_program_that_does_not_answer_is_not_waited_for_for_ever() {
        let mut program = fake("echo ready; read order; read more").unwrap();
        let text = reason(program.drain(1));
        assert!(text.contains("no answer within"), "{text}");
    }
}
