//! Keeps what a primary had before the library was loaded.
//!
//! A backup is three files of one name, `<host>-<port>-<time>`: `.dump` is the primary's `FUNCTION DUMP` with all of
//! its libraries, `.lua` the code of `lockless` alone (absent if there was none), `.meta` says which of the two it is
//! and what was loaded instead. A rollback uses the code: restoring the dump would also turn back other libraries.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use lockless_topology::Address;

use super::installed::{Installed, function};
use super::link::Link;
use super::problem::Problem;

/// A backup that was read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backup {
    /// Its dump's file.
    pub(crate) path: PathBuf,
    /// The code that was there, if any was.
    pub(crate) code: Option<Vec<u8>>,
    /// The digest of what was loaded instead.
    pub(crate) loaded: String,
    time: String,
}

impl Backup {
    /// Whether it is of a later time than the other.
    pub(crate) fn is_later_than(&self, other: &Self) -> bool {
        self.time > other.time
    }
}

/// Writes a backup of everything the primary has, and returns the dump's path.
pub(crate) fn write(
    link: &mut Link,
    dir: &Path,
    time: &str,
    before: &Installed,
    loaded: &str,
) -> Result<PathBuf, Problem> {
    let dump: Vec<u8> = link.ask("FUNCTION DUMP", &function(&["DUMP"]))?;
    let base = dir.join(format!("{}{time}", prefix(&link.address)));
    let kept = if before.code().is_some() {
        "library"
    } else {
        "nothing"
    };
    let meta = format!(
        "primary: {}\nbefore: {kept}\nloaded: {loaded}\n",
        link.address
    );
    fs::create_dir_all(dir).map_err(|source| failed(dir, "made", source))?;
    if let Some(code) = before.code() {
        put(&with_extension(&base, "lua"), code)?;
    }
    put(&with_extension(&base, "meta"), meta.as_bytes())?;
    // The dump comes last: where it is, the backup is whole.
    let path = with_extension(&base, "dump");
    put(&path, &dump)?;
    Ok(path)
}

/// The primary's backups, latest first.
pub(crate) fn list(dir: &Path, address: &Address) -> Result<Vec<Backup>, Problem> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(dir, "listed", source)),
    };
    let prefix = prefix(address);
    let mut backups = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|source| failed(dir, "listed", source))?
            .path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if let Some(time) = name
            .strip_prefix(&prefix)
            .and_then(|rest| rest.strip_suffix(".dump"))
        {
            backups.push(read(path, time)?);
        }
    }
    backups.sort_by(|a, b| b.time.cmp(&a.time));
    Ok(backups)
}

fn read(path: PathBuf, time: &str) -> Result<Backup, Problem> {
    let meta_path = path.with_extension("meta");
    let meta =
        fs::read_to_string(&meta_path).map_err(|source| failed(&meta_path, "read", source))?;
    let value = |name: &str| {
        meta.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    let code = match value("before") {
        Some("nothing") => None,
        Some("library") => {
            let code_path = path.with_extension("lua");
            Some(fs::read(&code_path).map_err(|source| failed(&code_path, "read", source))?)
        }
        _ => return Err(Problem::BrokenBackup(path)),
    };
    let Some(loaded) = value("loaded").map(str::to_owned) else {
        return Err(Problem::BrokenBackup(path));
    };
    Ok(Backup {
        path,
        code,
        loaded,
        time: time.to_owned(),
    })
}

/// The time now as it stands in a backup's name: sorted by name is sorted by time.
pub(crate) fn timestamp() -> String {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format_time(since_epoch.as_secs(), since_epoch.subsec_millis())
}

fn format_time(seconds: u64, millis: u32) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_date(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{millis:03}Z")
}

/// The date of a day after 1970-01-01, by counting from the March that begins a 400-year era.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

fn prefix(address: &Address) -> String {
    // An IPv6 address has colons, which not every file system takes.
    let host: String = address
        .host
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || ".-".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    format!("{host}-{}-", address.port)
}

/// Appends, because the time in the name has a dot of its own.
fn with_extension(base: &Path, extension: &str) -> PathBuf {
    PathBuf::from(format!("{}.{extension}", base.display()))
}

fn put(path: &Path, content: &[u8]) -> Result<(), Problem> {
    fs::write(path, content).map_err(|source| failed(path, "written", source))
}

fn failed(path: &Path, action: &'static str, source: io::Error) -> Problem {
    Problem::Backup {
        path: path.to_owned(),
        action,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(format_time(0, 0), "19700101T000000.000Z");
        assert_eq!(format_time(951_782_400, 7), "20000229T000000.007Z");
        assert_eq!(format_time(1_767_225_599, 999), "20251231T235959.999Z");
    }

    #[test]
    fn the_backups_of_one_primary_come_latest_first_and_without_those_of_others() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, meta: &str| {
            fs::write(dir.path().join(format!("{name}.dump")), "dump").unwrap();
            fs::write(dir.path().join(format!("{name}.meta")), meta).unwrap();
        };
        put(
            "host-1-20250101T000000.000Z",
            "before: nothing\nloaded: aa\n",
        );
        put(
            "host-1-20260101T000000.000Z",
            "before: library\nloaded: bb\n",
        );
        put(
            "host-11-20270101T000000.000Z",
            "before: nothing\nloaded: cc\n",
        );
        fs::write(dir.path().join("host-1-20260101T000000.000Z.lua"), "code").unwrap();
        let backups = list(
            dir.path(),
            &Address {
                host: "host".to_owned(),
                port: 1,
            },
        )
        .unwrap();
        let shown: Vec<_> = backups
            .iter()
            .map(|b| (b.loaded.as_str(), b.code.as_deref()))
            .collect();
        assert_eq!(shown, [("bb", Some(b"code".as_slice())), ("aa", None)]);
    }

    #[test]
    fn a_directory_that_is_not_there_has_no_backups() {
        let address = Address {
            host: "host".to_owned(),
            port: 1,
        };
        assert_eq!(list(Path::new("/nowhere/at/all"), &address).unwrap(), []);
    }
}
