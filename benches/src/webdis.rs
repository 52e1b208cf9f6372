//! webdis, another gateway from HTTP to Redis, as a process.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::failed;
use crate::processes::{Process, free_port};
use crate::{Error, harness::interrupt};

/// Where packages put its settings.
const SETTINGS: [&str; 2] = ["/etc/webdis/webdis.json", "/usr/share/webdis/webdis.json"];

/// webdis with the settings of its package, but for ports and log.
pub struct Webdis {
    _process: Process,
    _dir: tempfile::TempDir,
    /// Its port on this machine.
    pub port: u16,
}

impl Webdis {
    /// Starts it and waits until it listens.
    pub fn start(redis_port: u16) -> Result<Self, Error> {
        let port = free_port()?;
        let dir = tempfile::tempdir().map_err(failed("a directory"))?;
        let found = SETTINGS
            .iter()
            .find_map(|path| fs::read_to_string(path).ok());
        let given = found.ok_or_else(|| Error::unexpected("webdis's settings", &SETTINGS))?;
        let settings = adapted(&given, redis_port, port, dir.path())?;
        let file = dir.path().join("webdis.json");
        fs::write(&file, settings).map_err(failed("webdis's settings"))?;
        let mut command = Command::new("webdis");
        command
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = lockless_servers::launch(command)
            .map_err(failed("webdis (Debian: apt-get install webdis)"))?;
        let process = Process(child);
        let begin = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            interrupt::check()?;
            if begin.elapsed() > Duration::from_secs(10) {
                return Err(Error::unexpected("webdis", &"nothing"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self {
            _process: process,
            _dir: dir,
            port,
        })
    }
}

/// The package's settings with these ports, a log of our own, and in the foreground, so that it ends with the bench.
fn adapted(given: &str, redis_port: u16, port: u16, dir: &Path) -> Result<String, Error> {
    let mut settings: Value = serde_json::from_str(given).map_err(failed("webdis's settings"))?;
    for (name, value) in [
        ("redis_host", json!("127.0.0.1")),
        ("redis_port", json!(redis_port)),
        ("http_host", json!("127.0.0.1")),
        ("http_port", json!(port)),
        ("daemonize", json!(false)),
        ("pidfile", json!(dir.join("pid"))),
        ("logfile", json!(dir.join("log"))),
    ] {
        settings[name] = value;
    }
    Ok(settings.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ports_log_and_the_background_differ_from_the_package() {
        let given =
            r#"{"redis_port":6379,"threads":2,"daemonize":true,"acl":[{"disabled":["DEBUG"]}]}"#;
        let text = adapted(given, 1, 2, Path::new("/tmp/x")).unwrap();
        let settings: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(settings["redis_port"], 1);
        assert_eq!(settings["http_port"], 2);
        assert_eq!(settings["daemonize"], false);
        assert_eq!(settings["threads"], 2);
        assert_eq!(settings["acl"], json!([{"disabled":["DEBUG"]}]));
    }
}
