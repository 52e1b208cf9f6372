//! A wall clock that can be moved, for one server alone.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use crate::Error;
use crate::run::Run;

const SOURCE: &str = include_str!("shim.c");

/// A library that moves the clock of the server that loads it, and the file that says how far.
pub(crate) struct Shim {
    library: String,
    path: String,
    file: fs::File,
    offset_ms: i64,
}

impl Shim {
    /// Builds it with the C compiler.
    pub(crate) fn make(run: &Run, directory: &Path) -> Result<Self, Error> {
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
        let text = |name: &str| directory.join(name).display().to_string();
        let [source, library, path] = ["shim.c", "shim.so", "clock"].map(text);
        fs::write(&source, SOURCE).map_err(Error::file(&source))?;
        let words = ["-O2", "-shared", "-fPIC", "-o", &library, &source];
        run.say_command(format_args!("cc {}", words.join(" ")));
        let built = Command::new("cc").args(words).output();
        let built = built.map_err(|error| {
            Error::CannotRunHere(format!("the C compiler cc could not be started: {error}"))
        })?;
        if !built.status.success() {
            return Err(Error::Program {
                command: format!("cc {}", words.join(" ")),
                reason: String::from_utf8_lossy(&built.stderr).into_owned(),
            });
        }
        fs::write(&path, [0; 16]).map_err(Error::file(&path))?;
        let file = fs::File::options()
            .write(true)
            .open(&path)
            .map_err(Error::file(&path))?;
        Ok(Self {
            library,
            path,
            file,
            offset_ms: 0,
        })
    }

    /// What the server's environment must have.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        vec![
            ("LD_PRELOAD".to_owned(), self.library.clone()),
            ("LOCKLESS_CLOCK_FILE".to_owned(), self.path.clone()),
        ]
    }

    /// Moves the clock from where it is now.
    pub(crate) fn jump(&mut self, run: &Run, ms: i64) -> Result<(), Error> {
        self.offset_ms += ms;
        run.say_command(format_args!(
            "# the clock jumps by {ms} ms: {} says {} ms",
            self.path, self.offset_ms
        ));
        self.write(self.offset_ms, 0)
    }

    /// Has the clock stand still at this time, in ms since 1970.
    pub(crate) fn stand_still_at(&self, ms: i64) -> Result<(), Error> {
        self.write(ms, 8)
    }

    fn write(&self, ms: i64, at: u64) -> Result<(), Error> {
        let bytes = (ms * 1000).to_ne_bytes();
        let written = self.file.write_all_at(&bytes, at);
        written.map_err(Error::file(&self.path))
    }
}
