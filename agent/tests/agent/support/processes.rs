//! What runs on this machine, as far as a test has put its mark on it.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A number for `sleep` that no other process sleeps for: 1000 seconds and a mark.
pub(crate) fn token() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!(
        "1000.{}{:04}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

/// The processes that sleep for this token.
pub(crate) fn alive(token: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| sleeps_for(*pid, token)).collect()
}

fn sleeps_for(pid: i32, token: &str) -> bool {
    let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else {
        return false;
    };
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    words.first().is_some_and(|name| name.ends_with(b"sleep"))
        && words.get(1).is_some_and(|word| *word == token.as_bytes())
}

/// The number after a name in `/proc/<pid>/status`, such as `PPid`.
pub(crate) fn pid_of(pid: i32, name: &str) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().parse().ok()
}

pub(crate) fn signal(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}
