//! A job's command behind its guardian, as the agent sees it.

use std::collections::BTreeMap;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use crate::guard::processes::Identity;
use crate::guard::words::{Order, Said};
use crate::leftovers;
use crate::output::Output;
use crate::payload::in_one_line;
use crate::state::{RUN_VARIABLE, Record, StateDir};

/// The name under which the program guards a job.
pub const GUARD_COMMAND: &str = "guard";
/// How long the last of the output may take to arrive: someone outside the job may hold on to the pipe.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// What it ended with, unless by a signal.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How long it ran.
    pub ms: u64,
}

/// A command that runs.
pub struct Guarded {
    guardian: Child,
    control: Option<ChildStdin>,
    words: BufReader<ChildStdout>,
    reader: JoinHandle<()>,
    state: Arc<StateDir>,
    record: Record,
    pid: i32,
    grace: Duration,
    kill_wait: Duration,
    began: Instant,
}

impl Guarded {
    /// Starts it. Before the command runs there is a record of it. What it writes goes to `output`. The error is a sentence for
    /// whoever submitted the job.
    pub async fn start(
        state: &Arc<StateDir>,
        job: &str,
        run: String,
        mut order: Order,
        output: Output,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("the node could not start a process: {error}");
        order.env.insert(RUN_VARIABLE.to_owned(), run.clone());
        let mut guardian = spawn(&run).map_err(failed)?;
        let (Some(control), Some(words), Some(written)) = (
            guardian.stdin.take(),
            guardian.stdout.take(),
            guardian.stderr.take(),
        ) else {
            return Err("the node could not start a process: it has no pipes".to_owned());
        };
        let identity = guardian
            .id()
            .and_then(|pid| Identity::of(i32::try_from(pid).ok()?))
            .ok_or_else(|| "the node could not start a process: it ended at once".to_owned())?;
        let record = Record::new(run, job.to_owned(), identity);
        state.write(&record).map_err(|error| {
            format!("the node could not record a process in its state directory: {error}")
        })?;
        let mut guarded = Self {
            guardian,
            control: Some(control),
            words: BufReader::new(words),
            reader: tokio::spawn(read_into(output, written)),
            state: Arc::clone(state),
            record,
            pid: 0,
            grace: Duration::from_millis(order.grace_ms),
            kill_wait: Duration::from_millis(order.kill_wait_ms),
            began: Instant::now(),
        };
        match guarded.give(&order).await {
            Ok(()) => Ok(guarded),
            Err(why) => {
                guarded.ask_to_stop();
                let _ = guarded.guardian.wait().await;
                guarded.state.remove(&guarded.record.run);
                Err(why)
            }
        }
    }

    async fn give(&mut self, order: &Order) -> Result<(), String> {
        let lost = |error: io::Error| format!("the guardian of the job was lost: {error}");
        let mut line = serde_json::to_vec(order).unwrap_or_default();
        line.push(b'\n');
        if let Some(control) = &mut self.control {
            control.write_all(&line).await.map_err(lost)?;
        }
        match self.next_word().await {
            Some(Said::Started { pid }) => {
                self.pid = pid;
                self.record.leader = Identity::of(pid);
                // The guardian's own record is there already, and its number is enough to find the job.
                let _ = self.state.write(&self.record);
                Ok(())
            }
            Some(Said::NotStarted { why }) => Err(in_one_line(&why)),
            _ => Err("the guardian of the job ended before the job began".to_owned()),
        }
    }

    async fn next_word(&mut self) -> Option<Said> {
        let mut line = String::new();
        self.words.read_line(&mut line).await.ok()?;
        serde_json::from_str(&line).ok()
    }

    /// The number of the command and its group.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Has it terminated, and killed when its grace is over. Saying it again changes nothing.
    pub fn ask_to_stop(&mut self) {
        // The end of the stream is the word; it can't get stuck.
        self.control = None;
    }

    /// Waits until nothing of the job is left. May be given up and called again.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.guardian.wait().await
    }

    /// How the command ended, after [`Self::ended`]; all that it wrote is where it should be. Takes as long as it takes to have
    /// nothing left of it.
    pub async fn ending(mut self) -> Ending {
        loop {
            if let Some(ending) = self.try_ending().await {
                return ending;
            }
            tracing::error!(
                of = self.record.job,
                "a guardian was lost, and what it guarded can't be ended"
            );
        }
    }

    /// The same, but none if the guardian was lost and what it guarded could not be ended in time: then it is still recorded,
    /// and this may be called again.
    pub async fn try_ending(&mut self) -> Option<Ending> {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (exit_code, signal) = match self.next_word().await {
            Some(Said::Ended { exit_code, signal }) => (exit_code, signal),
            _ => {
                // Someone killed the guardian: what it guarded is on its own.
                let (record, grace, kill_wait) = (self.record.clone(), self.grace, self.kill_wait);
                let ending = spawn_blocking(move || leftovers::end(&record, grace, kill_wait));
                if !ending.await.unwrap_or(false) {
                    return None;
                }
                (None, None)
            }
        };
        if timeout(LAST_OUTPUT, &mut self.reader).await.is_err() {
            self.reader.abort();
        }
        self.state.remove(&self.record.run);
        Some(Ending {
            exit_code,
            signal,
            ms,
        })
    }
}

/// Starts a guardian that waits for its order. When its input closes, for whatever reason, it ends the job.
fn spawn(run: &str) -> io::Result<Child> {
    // The very program that runs, also when its file was replaced by a newer one.
    Command::new("/proc/self/exe")
        .arg(GUARD_COMMAND)
        .env_clear()
        .envs(BTreeMap::from([(RUN_VARIABLE, run)]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

async fn read_into(output: Output, mut written: ChildStderr) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = written.read(&mut buffer).await {
        output.take(&buffer[..count]).await;
    }
}
