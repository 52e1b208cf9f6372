//! Terminate and wait, then kill and wait.

use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::processes::{Process, descendants};

/// What is killed may have started something in the meantime.
const KILL_EVERY: Duration = Duration::from_millis(50);

/// Ends the command, its group and everything it started. The process ends when all of it has been waited for, so this
/// is cut short as soon as possible, and does not return.
pub(super) fn stop_until_none_is_left(leader: i32, grace: Duration) {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    signal_all(leader, &descendants(own), Signal::SIGTERM);
    sleep(grace);
    loop {
        signal_all(leader, &descendants(own), Signal::SIGKILL);
        sleep(KILL_EVERY);
    }
}

/// Signals the group as well, so that what is just being forked in it is not missed. The group's number is not given
/// to others while one of our own is in it.
fn signal_all(leader: i32, family: &[Process], signal: Signal) {
    if family.iter().any(|process| process.group == leader) {
        let _ = killpg(Pid::from_raw(leader), signal);
    }
    for process in family.iter().filter(|process| process.group != leader) {
        let _ = kill(Pid::from_raw(process.identity.pid), signal);
    }
}
