//! A small disk of its own, in memory, that only this test's server sees: it is mounted in a private mount namespace, and is gone with the
//! process that keeps it, however the test ends.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Error;
use crate::run::Run;

const SIZE_MB: u64 = 24;

/// The disk, and the process that keeps it.
pub(super) struct SmallDisk {
    keeper: Child,
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts it at `path`, which is made.
    pub(super) fn make(run: &Run, path: &Path) -> Result<Self, Error> {
        fs::create_dir_all(path).map_err(Error::file(path))?;
        let script = format!(
            "mount -t tmpfs -o size={SIZE_MB}m tmpfs '{}' && echo mounted && exec sleep infinity",
            path.display()
        );
        run.say_command(format_args!("unshare --mount sh -c \"{script}\""));
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut keeper = lockless_servers::launch(command).map_err(|error| {
            Error::CannotRunHere(format!("unshare could not be started: {error}"))
        })?;
        let mut said = String::new();
        if let Some(output) = keeper.stdout.take() {
            let _ = BufReader::new(output).read_line(&mut said);
        }
        if said.trim() != "mounted" {
            let ended = keeper.wait_with_output().map_err(Error::file(path))?;
            let reason = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
            return Err(Error::CannotRunHere(format!(
                "a disk of its own needs a mount namespace, which takes root: {reason}"
            )));
        }
        Ok(Self {
            keeper,
            path: path.to_owned(),
        })
    }

    /// The words before a program that is to see it.
    pub(super) fn enter(&self) -> Vec<String> {
        let target = format!("--target={}", self.keeper.id());
        ["nsenter", &target, "--mount"].map(str::to_owned).to_vec()
    }

    /// Where it is, for whoever sees it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The same place, for this process.
    fn seen_from_here(&self) -> PathBuf {
        let inside = self.path.strip_prefix("/").unwrap_or(&self.path);
        PathBuf::from(format!("/proc/{}/root", self.keeper.id())).join(inside)
    }

    fn ballast(&self) -> PathBuf {
        self.seen_from_here().join("ballast")
    }

    /// Takes all its room but so much.
    pub(super) fn fill(&self, room_bytes: u64) -> Result<(), Error> {
        let path = self.ballast();
        let mut file = fs::File::create(&path).map_err(Error::file(&path))?;
        let block = vec![b'x'; 4096];
        let mut written = 0;
        loop {
            match file.write(&block) {
                Ok(bytes) => written += bytes as u64,
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => return Err(Error::file(&path)(error)),
            }
        }
        file.set_len(written.saturating_sub(room_bytes))
            .map_err(Error::file(&path))
    }

    /// Gives the room back.
    pub(super) fn empty(&self) -> Result<(), Error> {
        let path = self.ballast();
        fs::remove_file(&path).map_err(Error::file(&path))
    }

    /// What is on it.
    pub(super) fn describe(&self) -> String {
        let size = fs::metadata(self.ballast()).map_or(0, |file| file.len());
        format!("of {SIZE_MB} MiB {size} bytes are taken by the test")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
