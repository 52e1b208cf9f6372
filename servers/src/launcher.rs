//! Starts child processes that die with this process.
//!
//! Linux sends a child its parent-death signal when the *thread* that forked it ends, not the process. Tests run on
//! threads that end, so one thread that never does starts every server.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

struct Request {
    command: Command,
    answer: Sender<io::Result<Child>>,
}

static LAUNCHER: OnceLock<Mutex<Sender<Request>>> = OnceLock::new();

/// Starts `command` so that it is killed when this process ends, however it ends.
pub fn launch(mut command: Command) -> io::Result<Child> {
    die_with_parent(&mut command);
    let (answer, answered) = channel();
    LAUNCHER
        .get_or_init(start_launcher)
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send(Request { command, answer })
        .map_err(|_| io::Error::other("the launcher thread is gone"))?;
    answered
        .recv()
        .map_err(|_| io::Error::other("the launcher thread gave no answer"))?
}

/// Asks a child that has not been waited for to end.
pub fn terminate(child: &Child) {
    signal(child, libc::SIGTERM);
}

pub(crate) fn signal(child: &Child, signal: libc::c_int) {
    let Ok(pid) = libc::pid_t::try_from(child.id()) else {
        return;
    };
    // SAFETY: kill has no memory preconditions. The child has not been waited for, so its id is still its own.
    #[allow(unsafe_code)]
    unsafe {
        libc::kill(pid, signal);
    }
}

fn start_launcher() -> Mutex<Sender<Request>> {
    let (sender, receiver) = channel::<Request>();
    // The sender lives in a static, so the receiver never closes and this thread lives as long as the process.
    // If it cannot be started the receiver is dropped with it and `launch` reports that.
    let _ = thread::Builder::new()
        .name("server-launcher".to_owned())
        .spawn(move || {
            for Request {
                mut command,
                answer,
            } in receiver
            {
                let _ = answer.send(command.spawn());
            }
        });
    Mutex::new(sender)
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn die_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;

    let parent = std::process::id();
    // SAFETY: the closure runs between fork and exec, where only async-signal-safe calls are allowed. prctl and
    // getppid are plain system calls, and the error is made without allocating.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have died before the request was in place.
            if libc::getppid().unsigned_abs() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
}

/// Other systems have no parent-death signal: there a server ends when its handle is dropped.
#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}
