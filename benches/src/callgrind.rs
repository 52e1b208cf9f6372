//! A server whose instructions are counted, by valgrind. The counts repeat where times do not.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lockless_servers::debian;
use tempfile::TempDir;

use crate::{Error, failed};

/// Starting under valgrind takes some seconds on a busy machine.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// A server under valgrind. It stops when it is dropped.
pub(crate) struct CountedServer {
    child: Child,
    counter: Arc<Counter>,
    pub(crate) port: u16,
}

/// Asks how many instructions a server has run.
pub(crate) struct Counter {
    pid: u32,
    dumps: AtomicUsize,
    total: AtomicU64,
    dir: TempDir,
}

/// Finds valgrind, or installs Debian's where that is allowed.
pub fn find() -> Result<(), Error> {
    let is_there = || debian::program("callgrind_control").is_some();
    if is_there() {
        return Ok(());
    }
    if !debian::can_install() {
        return Err(Error::Failed {
            what: "valgrind".to_owned(),
            reason: "it is not there; install it (Debian: apt-get install valgrind), or run as root where apt is".to_owned(),
        });
    }
    Ok(debian::install(
        &["valgrind"],
        "No valgrind was found",
        is_there,
    )?)
}

impl CountedServer {
    /// Starts redis-server with these arguments.
    pub(crate) fn start(arguments: &[&str]) -> Result<Self, Error> {
        find()?;
        let program = debian::program("redis-server").ok_or_else(|| Error::Failed {
            what: "redis-server".to_owned(),
            reason: "instructions are counted in the program itself, which is not on the PATH"
                .to_owned(),
        })?;
        let dir = tempfile::tempdir().map_err(failed("a directory"))?;
        let port = crate::processes::free_port()?;
        let mut command = Command::new("valgrind");
        command
            .arg("--tool=callgrind")
            .arg(format!(
                "--callgrind-out-file={}",
                dir.path().join("out").display()
            ))
            .arg(program)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(arguments)
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = lockless_servers::launch(command).map_err(failed("valgrind"))?;
        let counter = Arc::new(Counter {
            pid: child.id(),
            dumps: AtomicUsize::new(0),
            total: AtomicU64::new(0),
            dir,
        });
        let mut server = CountedServer {
            child,
            counter,
            port,
        };
        server.wait_until_ready()?;
        Ok(server)
    }

    pub(crate) fn counter(&self) -> Arc<Counter> {
        Arc::clone(&self.counter)
    }

    fn wait_until_ready(&mut self) -> Result<(), Error> {
        let begin = Instant::now();
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port));
        let client = client.map_err(failed("a client"))?;
        loop {
            crate::harness::interrupt::check()?;
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(Error::unexpected("redis-server under valgrind", &status));
            }
            match client.get_connection_with_timeout(Duration::from_secs(5)) {
                Ok(_) => return Ok(()),
                Err(error) if begin.elapsed() > READY_TIMEOUT => {
                    return Err(failed("redis-server under valgrind")(error));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

impl Drop for CountedServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Counter {
    /// How many instructions the server has run since one of these was asked last.
    pub(crate) fn spent(&self) -> Result<f64, Error> {
        let before = self.total.load(Ordering::Relaxed);
        Ok(self.total()? - before as f64)
    }

    /// How many instructions the server has run.
    pub(crate) fn total(&self) -> Result<f64, Error> {
        let asked = Command::new("callgrind_control")
            .args(["--dump", &self.pid.to_string()])
            .stdin(Stdio::null())
            .output()
            .map_err(failed("callgrind_control"))?;
        let number = 1 + self.dumps.fetch_add(1, Ordering::Relaxed);
        let path: PathBuf = self.dir.path().join(format!("out.{number}"));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let since = text
            .lines()
            .find_map(|line| line.strip_prefix("totals: ")?.trim().parse::<u64>().ok());
        let _ = fs::remove_file(&path);
        let Some(since) = since else {
            let said = String::from_utf8_lossy(&asked.stderr).into_owned();
            return Err(Error::unexpected("callgrind_control", &said));
        };
        Ok((since + self.total.fetch_add(since, Ordering::Relaxed)) as f64)
    }
}
