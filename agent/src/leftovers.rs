//! Ends what an agent left behind that could not end it itself.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::guard::processes::{Identity, all, boot_id, descendants, has_variable};
use crate::state::{RUN_VARIABLE, Record, StateDir};

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Ends all that the records name, and forgets those of which nothing is left. Says how many runs were still alive.
pub(crate) fn end_all(state: &StateDir, grace: Duration, kill_wait: Duration) -> usize {
    let mut found = 0;
    for record in state.records() {
        if !processes_of(&record).is_empty() {
            found += 1;
        }
        if end(&record, grace, kill_wait) {
            state.remove(&record.run);
        } else {
            tracing::error!(
                job = record.job,
                "processes that an earlier agent left could not be ended"
            );
        }
    }
    found
}

/// Ends one run: terminate and wait, then kill and wait. Says whether nothing of it is left.
pub(crate) fn end(record: &Record, grace: Duration, kill_wait: Duration) -> bool {
    let kill_at = Instant::now() + grace;
    let give_up_at = kill_at + kill_wait;
    let mut is_first = true;
    let mut is_killed = false;
    loop {
        let family = processes_of(record);
        if family.is_empty() {
            return true;
        }
        let now = Instant::now();
        if is_first {
            tracing::warn!(
                job = record.job,
                processes = family.len(),
                "ending what an earlier agent left"
            );
            // The guardian stays, and goes when the others have gone.
            signal(
                family.iter().filter(|one| **one != record.guardian),
                Signal::SIGTERM,
            );
            is_first = false;
        } else if is_killed && now >= give_up_at {
            return false;
        } else if now >= kill_at {
            signal(family.iter(), Signal::SIGKILL);
            is_killed = true;
        }
        sleep(LOOK_EVERY);
    }
}

fn signal<'a>(family: impl Iterator<Item = &'a Identity>, signal: Signal) {
    for process in family {
        // It may have ended since it was found, and its number may by now be another's.
        if process.is_alive() {
            let _ = kill(Pid::from_raw(process.pid), signal);
        }
    }
}

/// What is alive of a run: its guardian with all descendants, the group of its command while that is the very process that
/// was started, and whoever carries the run's mark.
fn processes_of(record: &Record) -> Vec<Identity> {
    if record.boot_id != boot_id() {
        return Vec::new();
    }
    let mark = format!("{RUN_VARIABLE}={}", record.run);
    let mut family = BTreeMap::new();
    let mut add = |identity: Identity| family.insert(identity.pid, identity);
    if record.guardian.is_alive() {
        add(record.guardian);
        for process in descendants(record.guardian.pid) {
            add(process.identity);
        }
    }
    let leader = record.leader.filter(|leader| leader.is_alive());
    for process in all().iter().filter(|process| !process.is_zombie) {
        let is_in_group = leader.is_some_and(|leader| process.group == leader.pid);
        if is_in_group || has_variable(process.identity.pid, &mark) {
            add(process.identity);
        }
    }
    family.into_values().filter(|one| one.is_alive()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use super::*;
    use crate::guard::processes::Process;

    const GRACE: Duration = Duration::from_millis(100);
    const KILL_WAIT: Duration = Duration::from_secs(5);
    const GONE: Identity = Identity {
        pid: i32::MAX,
        started: 0,
    };

    fn started(script: &str, run: &str) -> (Child, Identity) {
        let child = Command::new("sh")
            .args(["-c", script])
            .env(RUN_VARIABLE, run)
            .process_group(0)
            .spawn()
            .expect("sh");
        let pid = i32::try_from(child.id()).expect("a number");
        (child, Identity::of(pid).expect("an identity"))
    }

    fn record(run: &str, leader: Option<Identity>) -> Record {
        Record {
            leader,
            ..Record::new(run.to_owned(), "job".to_owned(), GONE)
        }
    }

    #[test]
    fn a_process_that_ignores_being_asked_is_killed() {
        let (mut child, identity) = started("trap '' TERM; while :; do sleep 0.05; done", "left-1");
        assert!(end(&record("left-1", Some(identity)), GRACE, KILL_WAIT));
        assert!(!child.wait().expect("waited").success());
    }

    #[test]
    fn nobody_gives_up_before_having_killed() {
        let (mut child, identity) = started("trap '' TERM; while :; do sleep 0.05; done", "left-4");
        let none = Duration::ZERO;
        end(&record("left-4", Some(identity)), none, none);
        assert!(!child.wait().expect("waited").success());
    }

    #[test]
    fn a_process_that_merely_has_the_same_number_is_left_alone() {
        let (mut child, identity) = started("sleep 60", "someone-else");
        let earlier = Identity {
            started: identity.started - 1,
            ..identity
        };
        assert!(end(&record("left-2", Some(earlier)), GRACE, KILL_WAIT));
        let other_boot = Record {
            boot_id: "another".to_owned(),
            ..record("someone-else", Some(identity))
        };
        assert!(end(&other_boot, GRACE, KILL_WAIT));
        assert!(identity.is_alive());
        child.kill().expect("killed");
        child.wait().expect("waited");
    }

    #[test]
    fn one_that_left_the_group_is_found_by_its_mark() {
        let (mut child, leader) = started("setsid sleep 60 & wait", "left-3");
        let is_away = |process: &Process| {
            process.group != leader.pid && has_variable(process.identity.pid, "LOCKLESS_RUN=left-3")
        };
        let begin = Instant::now();
        while !all().iter().any(is_away) {
            assert!(begin.elapsed() < Duration::from_secs(30), "nobody left");
            sleep(LOOK_EVERY);
        }
        assert!(end(&record("left-3", None), GRACE, KILL_WAIT));
        assert!(!all().iter().any(is_away));
        assert!(!child.wait().expect("waited").success());
    }
}
