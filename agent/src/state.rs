//! The state directory: a record of each run, so that an agent that starts again can end what another left.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg, OFlag};
use serde::{Deserialize, Serialize};

use crate::guard::processes::{Identity, boot_id};

/// The variable that every process of a run inherits.
pub const RUN_VARIABLE: &str = "LOCKLESS_RUN";

/// The name of a record that is being written, before the run's.
const FRESH: &str = "fresh";
/// The bit of a directory in which everyone may remove only what is theirs, as in `/tmp`.
const STICKY: u32 = 0o1000;

/// What runs, as far as is needed to find it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The value of [`RUN_VARIABLE`] of its processes.
    pub run: String,
    /// The job.
    pub job: String,
    /// The run of the machine in which the numbers mean something.
    pub boot_id: String,
    /// Its guardian.
    pub guardian: Identity,
    /// The command, which leads a process group, once it was started.
    pub leader: Option<Identity>,
}

/// A directory that is this agent's alone for as long as it lives.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    _lock: Flock<File>,
}

impl StateDir {
    /// Makes the directory if need be, and locks it. The error is a sentence for the user.
    pub fn open(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let cannot = |error: io::Error| format!("--state-dir {shown} can't be used: {error}");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(cannot)?;
        check_place(path, rustix::process::geteuid().as_raw())?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .custom_flags(OFlag::O_NOFOLLOW.bits())
            .open(path.join("lock"))
            .map_err(cannot)?;
        let lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => {
                return Err(format!(
                    "--state-dir {shown} is used by another agent: give each its own, or its own --node"
                ));
            }
            Err((_, error)) => return Err(cannot(error.into())),
        };
        let state = Self {
            path: path.to_owned(),
            _lock: lock,
        };
        state.remove_half_written();
        Ok(state)
    }

    /// Records that a crash kept from being written to their end, before anything was started.
    fn remove_half_written(&self) {
        for path in self.files() {
            if path.file_stem().is_some_and(|stem| stem == FRESH) {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.path).into_iter().flatten();
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect()
    }

    /// Writes a record, or replaces it, in one step.
    pub fn write(&self, record: &Record) -> io::Result<()> {
        let (path, fresh) = (self.place(&record.run), self.path.join(FRESH));
        // Several runs may be written at the same time.
        let fresh = fresh.with_extension(&record.run);
        fs::write(&fresh, serde_json::to_vec(record)?)?;
        fs::rename(fresh, path)
    }

    /// Forgets a run.
    pub fn remove(&self, run: &str) {
        let _ = fs::remove_file(self.place(run));
    }

    /// The records of all runs that were not forgotten. What can't be read is left out, and said.
    pub fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for path in self.files() {
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let read = fs::read(&path).map_err(|error| error.to_string());
            let read = read
                .and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
            match read {
                Ok(record) => records.push(record),
                Err(error) => tracing::warn!(
                    "the record {} can't be read and is left alone: {error}",
                    path.display()
                ),
            }
        }
        records
    }

    /// Notes whether the agent itself is draining its node.
    pub fn note_drain(&self, is_on: bool) {
        let path = self.path.join("draining");
        let _ = if is_on {
            fs::write(path, b"")
        } else {
            fs::remove_file(path)
        };
    }

    /// Whether an agent that is gone was draining the node.
    pub fn was_draining(&self) -> bool {
        self.path.join("draining").exists()
    }

    fn place(&self, run: &str) -> PathBuf {
        self.path.join(format!("{run}.json"))
    }
}

/// Records say what is to be killed: nobody else may write them, or lead the agent elsewhere. So the directory is the user's
/// own and no link, and so is each one above it, up to one that is root's or where everyone can touch only what is theirs.
fn check_place(path: &Path, user: u32) -> Result<(), String> {
    let cannot =
        |error: io::Error| format!("--state-dir {} can't be used: {error}", path.display());
    let path = std::path::absolute(path).map_err(cannot)?;
    for place in path.ancestors() {
        let dir = fs::symlink_metadata(place).map_err(cannot)?;
        let may_others_write = dir.mode() & 0o022 != 0;
        let is_safe_above = if dir.is_dir() && may_others_write {
            dir.mode() & STICKY != 0
        } else {
            dir.uid() == 0
        };
        if place != path && is_safe_above {
            break;
        }
        if dir.is_symlink() {
            return Err(format!(
                "--state-dir: {} is a link: name the directory itself",
                place.display()
            ));
        }
        if dir.uid() != user || may_others_write {
            return Err(format!(
                "--state-dir: {} belongs to another user, or others may write into it: name another one, or chmod 700 it",
                place.display()
            ));
        }
    }
    Ok(())
}

impl Record {
    /// The record of a run whose command is yet to start.
    pub fn new(run: String, job: String, guardian: Identity) -> Self {
        Self {
            run,
            job,
            boot_id: boot_id(),
            guardian,
            leader: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_record_is_kept_until_it_is_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(&dir.path().join("a/b")).expect("a state directory");
        let guardian = Identity { pid: 1, started: 2 };
        let mut record = Record::new("r1".to_owned(), "job/1".to_owned(), guardian);
        state.write(&record).expect("written");
        record.leader = Some(Identity { pid: 3, started: 4 });
        state.write(&record).expect("written again");
        fs::write(dir.path().join("a/b/garbage.json"), b"{").expect("garbage");
        fs::write(dir.path().join("a/b/fresh.r2"), b"{").expect("half a record");
        assert_eq!(state.records(), [record]);
        state.remove("r1");
        assert_eq!(state.records(), []);
        drop(state);
        StateDir::open(&dir.path().join("a/b")).expect("opened again");
        assert!(!dir.path().join("a/b/fresh.r2").exists());
    }

    #[test]
    fn a_directory_has_one_agent_at_a_time() {
        let dir = tempfile::tempdir().expect("a directory");
        let first = StateDir::open(dir.path()).expect("the first");
        let refusal = StateDir::open(dir.path()).expect_err("the second");
        assert!(refusal.contains("used by another agent"), "{refusal}");
        drop(first);
        StateDir::open(dir.path()).expect("the first is gone");
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("chmod");
        let refusal = StateDir::open(dir.path()).expect_err("open to all");
        assert!(refusal.contains("chmod 700"), "{refusal}");
        let below = StateDir::open(&dir.path().join("below")).expect_err("in one open to all");
        assert!(below.contains("chmod 700"), "{below}");
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (place, link) = (dir.path().join("place"), dir.path().join("link"));
        fs::create_dir(&place).expect("made");
        std::os::unix::fs::symlink(&place, &link).expect("linked");
        let refusal = StateDir::open(&link).expect_err("a link");
        assert!(refusal.contains("is a link"), "{refusal}");
        let elsewhere = dir.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, place.join("lock")).expect("linked");
        StateDir::open(&place).expect_err("its lock is a link");
        assert!(!elsewhere.exists());
    }

    #[test]
    fn a_directory_of_another_user_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let user = dir.path().metadata().expect("metadata").uid();
        check_place(dir.path(), user).expect("one's own");
        let refusal = check_place(dir.path(), user + 1).expect_err("another's");
        assert!(refusal.contains("another user"), "{refusal}");
    }
}
