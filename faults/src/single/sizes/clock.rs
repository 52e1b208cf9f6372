//! The time a server has computed, which does not count when other programs had its processor.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::Error;

/// The time of a process's main thread on a processor, which is the one that runs functions.
pub(super) struct CpuClock {
    path: PathBuf,
}

impl CpuClock {
    pub(super) fn of(pid: u32) -> Result<Self, Error> {
        let clock = Self {
            path: format!("/proc/{pid}/task/{pid}/schedstat").into(),
        };
        clock.read()?;
        Ok(clock)
    }

    pub(super) fn read(&self) -> Result<Duration, Error> {
        let text = fs::read_to_string(&self.path).map_err(Error::file(&self.path))?;
        let nanos = text.split(' ').next().and_then(|word| word.parse().ok());
        nanos
            .map(Duration::from_nanos)
            .ok_or_else(|| Error::CannotRunHere(format!("{} is {text:?}", self.path.display())))
    }
}
