//! The file that a deployment writes to, and the older ones beside it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// An id may have any printable character in it. What is left as it is has no meaning to a file system.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');
/// The longest part of an id in one name: names of files end at 255 bytes.
const PART_BYTES: usize = 200;

/// A file that is put aside when it is full: `name.log` is written, `name.log.1` is the one before, and so on.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    max_bytes: u64,
    files: u32,
    /// None while it can't be written.
    open: Option<(File, u64)>,
    is_trouble_said: bool,
}

impl LogFile {
    /// The file of a deployment, which is made when something is written.
    pub fn new(dir: &Path, id: &str, max_bytes: u64, files: u32) -> Self {
        Self {
            path: place(dir, id),
            max_bytes,
            files,
            open: None,
            is_trouble_said: false,
        }
    }

    /// Adds what came. What can't be written is lost, and that is said once, until it works again: a deployment does not stop
    /// for its log.
    pub fn write(&mut self, bytes: &[u8]) {
        match self.try_write(bytes) {
            Ok(()) => self.is_trouble_said = false,
            Err(error) => {
                self.open = None;
                if !self.is_trouble_said {
                    tracing::warn!("the log {} can't be written: {error}", self.path.display());
                    self.is_trouble_said = true;
                }
            }
        }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (file, written) = match &mut self.open {
            Some(open) => open,
            none => none.insert(opened(&self.path)?),
        };
        let length = bytes.len() as u64;
        if *written > 0 && *written + length > self.max_bytes {
            self.open = None;
            self.put_aside()?;
            return self.try_write(bytes);
        }
        file.write_all(bytes)?;
        *written += length;
        Ok(())
    }

    /// Gives each file the name of the next older one; the oldest is replaced.
    fn put_aside(&self) -> io::Result<()> {
        if self.files == 1 {
            return fs::remove_file(&self.path);
        }
        for number in (1..self.files - 1).rev() {
            match fs::rename(self.older(number), self.older(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, self.older(1))
    }

    fn older(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

/// Where a deployment's file is. An id that is too long for one name has directories of its own, so no two share a file.
pub fn place(dir: &Path, id: &str) -> PathBuf {
    let name = utf8_percent_encode(id, ESCAPED).to_string();
    let mut path = dir.to_owned();
    let mut rest = name.as_str();
    while rest.len() > PART_BYTES {
        let (part, more) = rest.split_at(PART_BYTES);
        path.push(part);
        rest = more;
    }
    path.push(format!("{rest}.log"));
    path
}

/// The file, and how much is in it.
fn opened(path: &Path) -> io::Result<(File, u64)> {
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let file = File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir)
            .expect("a directory")
            .map(|entry| entry.expect("an entry").file_name().into_string());
        let mut names: Vec<String> = names.map(|name| name.expect("text")).collect();
        names.sort();
        names
    }

    #[test]
    fn a_full_file_is_put_aside_and_the_oldest_goes() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("logs");
        for text in ["aaaa", "bbbb", "cc", "c", "dddddddddd", "e", "f"] {
            // Opened anew each time: what is there already counts.
            LogFile::new(&path, "d", 4, 3).write(text.as_bytes());
        }
        assert_eq!(names(&path), ["d.log", "d.log.1", "d.log.2"]);
        let text = |name: &str| fs::read_to_string(path.join(name)).expect(name);
        assert_eq!(text("d.log"), "ef");
        assert_eq!(text("d.log.1"), "dddddddddd");
        assert_eq!(text("d.log.2"), "ccc");
    }

    #[test]
    fn one_file_is_begun_anew() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut log = LogFile::new(dir.path(), "d", 4, 1);
        for text in ["aaaa", "bb", "b", "cc"] {
            log.write(text.as_bytes());
        }
        assert_eq!(names(dir.path()), ["d.log"]);
        let text = fs::read_to_string(dir.path().join("d.log")).expect("a log");
        assert_eq!(text, "cc");
    }

    #[test]
    fn no_two_ids_share_a_file_and_none_is_outside() {
        let long = "x".repeat(256);
        let longer = "/".repeat(256);
        let ids = [
            "a",
            "A",
            "a.b",
            "a/b",
            "a%2Fb",
            "../a",
            "..",
            ".",
            "a.log",
            "a-b",
            "a_b",
            "é",
            &long,
            &long[..200],
            &longer,
        ];
        let dir = Path::new("/logs");
        let mut places: Vec<PathBuf> = ids.iter().map(|id| place(dir, id)).collect();
        for place in &places {
            assert!(place.starts_with(dir), "{}", place.display());
            for part in place.strip_prefix(dir).expect("inside").components() {
                let is_name = matches!(part, std::path::Component::Normal(_));
                assert!(is_name && part.as_os_str().len() <= 255, "{part:?}");
            }
        }
        places.sort();
        places.dedup();
        assert_eq!(places.len(), ids.len());
    }

    #[test]
    fn a_file_that_can_not_be_written_is_tried_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("logs");
        fs::write(&path, "in the way").expect("a file");
        let mut log = LogFile::new(&path, "d", 100, 2);
        log.write(b"lost");
        fs::remove_file(&path).expect("out of the way");
        log.write(b"kept");
        let text = fs::read_to_string(path.join("d.log")).expect("a log");
        assert_eq!(text, "kept");
    }
}
