//! The file that keeps the state: found whole or not at all, written whole or not at all, and used by one at a time.
//!
//! It is a magic of 16 bytes, the version of this layout (4), the length of the state (8) and the SHA-256 of all but
//! itself (32), then the state as the module writes it. Numbers have their low byte first.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use super::NotHosted;

const MAGIC: &[u8; 16] = b"LOCKLESS STATE\r\n";
const VERSION: u32 = 1;
const VERSION_AT: usize = MAGIC.len();
const LENGTH_AT: usize = VERSION_AT + 4;
const DIGEST_AT: usize = LENGTH_AT + 8;
const STATE_AT: usize = DIGEST_AT + 32;
/// There may be payloads in it, which are nobody else's business.
const OWNER_ONLY: u32 = 0o600;

/// A state file that nobody else uses.
#[derive(Debug)]
pub(super) struct StateFile {
    path: PathBuf,
    directory: PathBuf,
    /// The digest of what is in it, as far as is known.
    current: Mutex<Option<[u8; 32]>>,
    /// The lock goes with it.
    _lock: File,
}

impl StateFile {
    /// Locks it, and makes sure that it can be written.
    pub(super) fn open(given: &Path) -> Result<Self, NotHosted> {
        let bad = |source| NotHosted::directory(given, source);
        // What a link leads to is replaced, not the link; and two names of one file are one file.
        let path = match fs::canonicalize(given) {
            Ok(path) => path,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let name = given.file_name().ok_or(ErrorKind::InvalidFilename);
                let name = name.map_err(|kind| bad(kind.into()))?;
                let parent = given
                    .parent()
                    .filter(|parent| !parent.as_os_str().is_empty());
                let parent = parent.unwrap_or(Path::new("."));
                fs::canonicalize(parent).map_err(bad)?.join(name)
            }
            Err(error) => return Err(bad(error)),
        };
        if path.is_dir() {
            return Err(bad(ErrorKind::IsADirectory.into()));
        }
        // Opening a pipe would wait for whoever reads from it.
        if path.exists() && !path.is_file() {
            return Err(bad(io::Error::other("it is not a plain file")));
        }
        let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
        let lock = beside(&path, "lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(OWNER_ONLY)
            .open(lock)
            .map_err(bad)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(NotHosted::InUse(given.to_owned())),
            Err(TryLockError::Error(error)) => return Err(bad(error)),
        }
        let file = Self {
            path,
            directory,
            current: Mutex::default(),
            _lock: lock,
        };
        // Whoever can't save is told so now, not when there is something to lose.
        file.written_beside(&head(&[]), &[]).map_err(bad)?;
        fs::remove_file(file.temporary()).map_err(bad)?;
        Ok(file)
    }

    /// The state that was saved last, if one was.
    pub(super) fn read(&self) -> Result<Option<Vec<u8>>, NotHosted> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(NotHosted::unreadable(&self.path, error)),
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(|error| NotHosted::unreadable(&self.path, error))?;
        let state = checked(&bytes).map_err(|why| NotHosted::damaged(&self.path, why))?;
        *self.current() = Some(digest_in(&bytes));
        Ok(Some(state.to_vec()))
    }

    /// Replaces the file: after a crash, or when there is no room, it is the old one or the new one. One that has this
    /// state already is left as it is.
    pub(super) fn write(&self, state: &[u8]) -> io::Result<()> {
        let head = head(state);
        let mut current = self.current();
        if *current == Some(digest_in(&head)) && self.path.exists() {
            return Ok(());
        }
        *current = None;
        let written = self
            .written_beside(&head, state)
            .and_then(|()| fs::rename(self.temporary(), &self.path))
            // The new name is not sure before this.
            .and_then(|()| File::open(&self.directory)?.sync_all());
        match written {
            Ok(()) => *current = Some(digest_in(&head)),
            // What was begun may hold room that others need.
            Err(_) => drop(fs::remove_file(self.temporary())),
        }
        written
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn current(&self) -> MutexGuard<'_, Option<[u8; 32]>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written_beside(&self, head: &[u8], state: &[u8]) -> io::Result<()> {
        let temporary = self.temporary();
        // One that a crash left, or a link that somebody put there.
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(OWNER_ONLY)
            .open(temporary)?;
        file.write_all(head)?;
        file.write_all(state)?;
        file.sync_all()
    }

    fn temporary(&self) -> PathBuf {
        beside(&self.path, "tmp")
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn head(state: &[u8]) -> [u8; STATE_AT] {
    let mut head = [0; STATE_AT];
    head[..VERSION_AT].copy_from_slice(MAGIC);
    head[VERSION_AT..LENGTH_AT].copy_from_slice(&VERSION.to_le_bytes());
    head[LENGTH_AT..DIGEST_AT].copy_from_slice(&(state.len() as u64).to_le_bytes());
    let digest = digest(&head[..DIGEST_AT], state);
    head[DIGEST_AT..].copy_from_slice(&digest);
    head
}

fn digest(head: &[u8], state: &[u8]) -> [u8; 32] {
    Sha256::new()
        .chain_update(head)
        .chain_update(state)
        .finalize()
        .into()
}

/// The digest that a head names.
fn digest_in(bytes: &[u8]) -> [u8; 32] {
    let mut digest = [0; 32];
    digest.copy_from_slice(&bytes[DIGEST_AT..STATE_AT]);
    digest
}

/// The state in a file, or what is wrong with it.
fn checked(bytes: &[u8]) -> Result<&[u8], String> {
    if !bytes.starts_with(MAGIC) {
        return Err("it is not a state file of Lockless".to_owned());
    }
    let Some((head, state)) = bytes.split_at_checked(STATE_AT) else {
        return Err("it is damaged: its end is missing".to_owned());
    };
    let number = |from: usize, to: usize| {
        let mut bytes = [0; 8];
        bytes[..to - from].copy_from_slice(&head[from..to]);
        u64::from_le_bytes(bytes)
    };
    let version = number(VERSION_AT, LENGTH_AT);
    if version != u64::from(VERSION) {
        return Err(format!(
            "it is of version {version}, and this program reads version {VERSION}"
        ));
    }
    let length = number(LENGTH_AT, DIGEST_AT);
    if length != state.len() as u64 {
        return Err(format!(
            "it is damaged: {} bytes of state instead of {length}",
            state.len()
        ));
    }
    if digest(&head[..DIGEST_AT], state) != head[DIGEST_AT..] {
        return Err("it is damaged: its SHA-256 is not the one it says".to_owned());
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn written(state: &[u8]) -> Vec<u8> {
        [&head(state)[..], state].concat()
    }

    #[test]
    fn damage_at_any_place_is_noticed() {
        let sound = written(b"some state");
        assert_eq!(checked(&sound), Ok(&b"some state"[..]));
        for at in 0..sound.len() {
            for bit in 0..8 {
                let mut damaged = sound.clone();
                damaged[at] ^= 1 << bit;
                assert!(checked(&damaged).is_err(), "bit {bit} of byte {at}");
            }
            assert!(checked(&sound[..at]).is_err(), "the first {at} bytes");
        }
        assert!(checked(&[&sound[..], b"x"].concat()).is_err());
    }

    #[test]
    fn a_file_of_a_later_version_is_told_by_its_number() {
        let mut later = written(b"state");
        later[VERSION_AT] = 7;
        let why = checked(&later).expect_err("another version");
        assert!(why.contains("version 7"), "{why}");
    }

    #[test]
    fn what_is_written_is_read_and_the_last_one_counts() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("state");
        let file = StateFile::open(&path).expect("a file");
        assert_eq!(file.read().expect("nothing"), None);
        // Whatever was left, or put, where the next one is made is not followed.
        let other = dir.path().join("other");
        fs::write(&other, "precious").expect("a file");
        std::os::unix::fs::symlink(&other, beside(&path, "tmp")).expect("a link");
        for state in [&b"first"[..], b"second", b""] {
            file.write(state).expect("written");
            assert_eq!(file.read().expect("a state").as_deref(), Some(state));
        }
        assert_eq!(fs::read_to_string(other).expect("a file"), "precious");
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, OWNER_ONLY);
        assert!(matches!(StateFile::open(&path), Err(NotHosted::InUse(_))));
        drop(file);
        StateFile::open(&path).expect("it is free again");
    }

    #[test]
    fn a_file_that_somebody_removed_is_written_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = StateFile::open(&dir.path().join("state")).expect("a file");
        file.write(b"state").expect("written");
        fs::remove_file(file.path()).expect("removed");
        file.write(b"state").expect("written");
        assert!(file.path().exists());
    }
}
