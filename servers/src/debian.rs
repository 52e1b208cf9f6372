//! Installs Debian's packages on a machine that lacks what they bring, without starting a service.

use std::env;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::Error;

/// Debian's post-install scripts ask this program whether they may start a service; 101 means no.
const POLICY_FILE: &str = "/usr/sbin/policy-rc.d";
const POLICY: &str = "#!/bin/sh\nexit 101\n";

/// A mirror that is not there, or another installation that does not end, is given up within a minute or two.
const WITHOUT_WAITING: [&str; 8] = [
    "-o",
    "Acquire::http::Timeout=30",
    "-o",
    "Acquire::https::Timeout=30",
    "-o",
    "Acquire::Retries=1",
    "-o",
    "DPkg::Lock::Timeout=60",
];

/// Two tests may find out at once that something is missing.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Whether this process may install packages here.
#[allow(unsafe_code)]
pub fn can_install() -> bool {
    // SAFETY: geteuid has no preconditions and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    is_root && program("apt-get").is_some()
}

/// Where a program is on the PATH.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut places = env::split_paths(&path).map(|dir| dir.join(name));
    places.find(|place| place.is_file())
}

/// Installs packages unless `is_there` says that someone else just did, and says on standard error that it does and why.
pub fn install(packages: &[&str], why: &str, is_there: impl Fn() -> bool) -> Result<(), Error> {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if is_there() {
        return Ok(());
    }
    let names = packages.join(" ");
    eprintln!("{why}; installing from Debian: {names}.");
    let _policy = ServicePolicy::forbid_starting();
    apt_get(&names, &["update", "-q"])?;
    let mut arguments = vec!["install", "-q", "-y", "--no-install-recommends"];
    arguments.extend(packages);
    apt_get(&names, &arguments)
}

/// Installs the server.
pub(crate) fn install_redis() -> Result<(), Error> {
    install(&["redis-server"], "No Redis server was found", || {
        Path::new("/usr/bin/redis-server").is_file()
    })
}

fn apt_get(packages: &str, arguments: &[&str]) -> Result<(), Error> {
    let failed = |reason: String| Error::Install {
        packages: packages.to_owned(),
        command: format!("apt-get {}", arguments.join(" ")),
        reason,
    };
    let output = Command::new("apt-get")
        .args(WITHOUT_WAITING)
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(
        String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    ))
}

/// Keeps the package from starting its service for as long as it lives.
struct ServicePolicy {
    is_ours: bool,
}

impl ServicePolicy {
    /// A policy that is already there belongs to the machine's owner and stays as it is.
    fn forbid_starting() -> Self {
        let made = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(POLICY_FILE);
        let is_ours = made
            .and_then(|mut file| std::io::Write::write_all(&mut file, POLICY.as_bytes()))
            .is_ok();
        Self { is_ours }
    }
}

impl Drop for ServicePolicy {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = fs::remove_file(POLICY_FILE);
        }
    }
}
