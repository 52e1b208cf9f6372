//! The guardian: one small process per job, between the agent and the job's command.
//!
//! Every descendant of the command that loses its parent becomes the guardian's child, also one that left the process
//! group or the session. So the guardian can wait until none is left, and nothing of a job outlives it. It ends the
//! job when it is told to, when the command has ended, and when the agent is gone, however that ended.

pub mod processes;
mod stopping;
pub mod words;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use nix::sys::prctl;
use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag;

use self::words::{Order, Said};

/// Guards one job: its order is the first line of standard input, what happens is told on standard output, and the
/// command writes to standard error.
pub fn run() -> ExitCode {
    match guard() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&Said::NotStarted {
                why: error.to_string(),
            });
            ExitCode::FAILURE
        }
    }
}

fn guard() -> io::Result<()> {
    outlive_signals()?;
    prctl::set_child_subreaper(true)?;
    let mut input = BufReader::new(io::stdin());
    let mut line = String::new();
    input.read_line(&mut line)?;
    if line.is_empty() {
        // The agent was gone before it could say what to run.
        return Ok(());
    }
    let order: Order = serde_json::from_str(&line)?;
    let leader = start(&order)?;
    say(&Said::Started { pid: leader });

    let (ask, asked) = channel();
    let grace = Duration::from_millis(order.grace_ms);
    let on_word = ask.clone();
    thread::Builder::new().spawn(move || await_word(input, &on_word))?;
    thread::Builder::new().spawn(move || {
        if asked.recv().is_ok() {
            stopping::stop_until_none_is_left(leader, grace);
        }
    })?;
    let status = wait_for_all(leader, &ask)?;
    say(&Said::Ended {
        exit_code: status.code(),
        signal: status.signal(),
    });
    Ok(())
}

/// Whoever signals a whole group or service means the job; the guardian stays until the job has ended. Handlers, and not a
/// mask, because a command begins without the handlers of who started it, but with the mask.
fn outlive_signals() -> io::Result<()> {
    let noticed = Arc::new(AtomicBool::new(false));
    for signal in [
        SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
    ] {
        flag::register(signal, Arc::clone(&noticed))?;
    }
    Ok(())
}

fn start(order: &Order) -> io::Result<i32> {
    let output = || io::stderr().as_fd().try_clone_to_owned().map(Stdio::from);
    let mut command = Command::new(&order.program);
    command
        .args(&order.arguments)
        .env_clear()
        .envs(&order.env)
        .stdin(Stdio::null())
        .stdout(output()?)
        .stderr(output()?)
        .process_group(0);
    if let Some(cwd) = &order.cwd {
        command.current_dir(cwd);
    }
    // Waited for by number, with all others.
    let child = command.spawn().map_err(|error| {
        let place = order.cwd.as_ref().map(|cwd| format!(" in {cwd}"));
        io::Error::other(format!(
            "{} could not be started{}: {error}",
            order.program.display(),
            place.unwrap_or_default()
        ))
    })?;
    i32::try_from(child.id()).map_err(io::Error::other)
}

/// Between waits that fail for a reason that should not be.
const WAIT_AGAIN: Duration = Duration::from_millis(50);

/// Returns how the command ended, when neither it nor anything it started is left: only that there are no children ends the
/// wait. Ends by real-time signals count too, which not every wait understands.
fn wait_for_all(leader: i32, ask: &Sender<()>) -> io::Result<ExitStatus> {
    let mut ended = None;
    loop {
        let (pid, status) = match wait(WaitOptions::empty()) {
            Ok(Some(waited)) => waited,
            Err(Errno::CHILD) => {
                return ended.ok_or_else(|| io::Error::other("the command was never seen to end"));
            }
            Ok(None) | Err(Errno::INTR) => continue,
            Err(_) => {
                thread::sleep(WAIT_AGAIN);
                continue;
            }
        };
        if pid.as_raw_nonzero().get() == leader {
            ended = Some(ExitStatus::from_raw(status.as_raw()));
            // Whatever it left behind ends with it.
            let _ = ask.send(());
        }
    }
}

/// Returns when the agent wants the job stopped, or is gone.
fn await_word(mut input: impl Read, ask: &Sender<()>) {
    let mut word = [0];
    let _ = input.read(&mut word);
    let _ = ask.send(());
}

/// The agent may be gone; the job is ended all the same.
fn say(said: &Said) {
    let mut line = serde_json::to_vec(said).unwrap_or_default();
    line.push(b'\n');
    let mut output = io::stdout().lock();
    let _ = output.write_all(&line).and_then(|()| output.flush());
}
