//! A real gateway in front of a real Redis, or without one.
#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "every test file uses its own part"
)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lockless_servers::{Standalone, launch, terminate};
use serde_json::Value;
use tempfile::TempDir;

/// Far more than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

const PROGRAM: &str = env!("CARGO_BIN_EXE_lockless-gateway");

/// What a gateway serves from.
pub(crate) enum Host {
    Redis(Standalone),
    Embedded,
}

impl Host {
    pub(crate) fn redis() -> Self {
        Self::Redis(redis())
    }

    /// A gateway that is ready.
    pub(crate) fn gateway(&self, arguments: &[&str]) -> Gateway {
        match self {
            Self::Redis(server) => Gateway::start(&server.url(), arguments),
            Self::Embedded => Gateway::embedded(arguments),
        }
    }
}

/// Makes each of these functions two tests, one for each host.
macro_rules! on_each_host {
    ($($test:ident),* $(,)?) => {$(
        mod $test {
            use crate::support::Host;

            #[test]
            fn on_redis() {
                super::$test(&Host::redis());
            }

            #[test]
            fn embedded() {
                super::$test(&Host::Embedded);
            }
        }
    )*};
}
pub(crate) use on_each_host;

/// A running gateway; dropping it ends it.
pub(crate) struct Gateway {
    child: Child,
    said: String,
    address: String,
    agent: ureq::Agent,
    // Keeps the log until the end.
    dir: TempDir,
}

/// What it answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of an error.
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }

    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> &Self {
        assert_eq!(
            (self.status, self.code().as_str()),
            (status, code),
            "{self:?}"
        );
        assert_eq!(self.header("content-type"), "application/problem+json");
        let body = self.json();
        assert_eq!(body["status"], status);
        assert!(!body["title"].as_str().unwrap().is_empty(), "{self:?}");
        assert!(body["detail"].as_str().unwrap().len() > 5, "{self:?}");
        self
    }
}

/// A private server, with the library unless it is to be missing.
pub(crate) fn redis() -> Standalone {
    let server = Standalone::builder().private().start().unwrap();
    load(&server.url(), lockless_functions::LIBRARY);
    server
}

pub(crate) fn load(url: &str, code: &str) {
    let mut load = redis::cmd("FUNCTION");
    load.arg("LOAD").arg("REPLACE").arg(code);
    load.exec(&mut connect(url)).unwrap();
}

pub(crate) fn connect(url: &str) -> redis::Connection {
    redis::Client::open(url).unwrap().get_connection().unwrap()
}

/// A cell that no other test uses.
pub(crate) fn a_cell() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("t:{{{}}}", COUNT.fetch_add(1, Ordering::Relaxed))
}

impl Gateway {
    /// A gateway that is ready.
    pub(crate) fn start(redis_url: &str, arguments: &[&str]) -> Self {
        let gateway = Self::spawn(redis_url, arguments);
        gateway.wait_until_ready();
        gateway
    }

    /// One without a Redis, which is ready.
    pub(crate) fn embedded(arguments: &[&str]) -> Self {
        Self::embedded_in(Command::new("env"), arguments)
    }

    /// The same, started by another program.
    pub(crate) fn embedded_in(starter: Command, arguments: &[&str]) -> Self {
        let gateway = Self::spawn_in(starter, arguments);
        gateway.wait_until_ready();
        gateway
    }

    /// A gateway that listens.
    pub(crate) fn spawn(redis_url: &str, arguments: &[&str]) -> Self {
        let arguments = [&["--redis", redis_url], arguments].concat();
        Self::spawn_in(Command::new("env"), &arguments)
    }

    fn spawn_in(mut command: Command, arguments: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        without_settings(&mut command)
            .arg(PROGRAM)
            .args(["--listen", "127.0.0.1:0", "--log", "debug"])
            .args(["--cell", "scheduler:{main}", "--cell", "t:{*}"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = launch(command).unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        let address = said.trim().split(' ').find(|word| word.starts_with("http"));
        let Some(address) = address.map(str::to_owned) else {
            let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
            panic!("it said '{said}': {log}");
        };
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .max_idle_connections_per_host(64)
            .build()
            .into();
        Self {
            child,
            said,
            address,
            agent,
            dir,
        }
    }

    /// The program, without the environment's settings.
    pub(crate) fn command() -> Command {
        let mut command = Command::new(PROGRAM);
        without_settings(&mut command);
        command
    }

    /// Its first line.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> &str {
        self.address.split("//").nth(1).unwrap()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    #[track_caller]
    pub(crate) fn wait_until_ready(&self) {
        eventually("the gateway is ready", || self.get("/readyz").status == 200);
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Answer {
        self.try_send(method, path, headers, body).unwrap()
    }

    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Result<Answer, ureq::Error> {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address));
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = match body {
            Some(body) => self.agent.run(request.body(body.to_owned())?)?,
            None => self.agent.run(request.body(())?)?,
        };
        // One of the pages' files is no text.
        let body = response
            .body_mut()
            .with_config()
            .limit(64 << 20)
            .read_to_vec()?;
        Ok(Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: String::from_utf8_lossy(&body).into_owned(),
        })
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], Some(&body.to_string()))
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &[], Some(&body.to_string()))
    }

    /// Asks it to shut down.
    pub(crate) fn terminate(&self) {
        terminate(&self.child);
    }

    /// Waits until it has ended, and says whether it ended well.
    #[track_caller]
    pub(crate) fn wait_for_end(&mut self) -> bool {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            assert!(begin.elapsed() < PATIENCE, "it did not end: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Writes bytes as they are, and reads until the gateway closes or the answer is complete.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.authority()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // The gateway may refuse and close before all is written.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }
}

fn without_settings(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("LOCKLESS_")) {
        command.env_remove(name);
    }
    command
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a condition.
#[track_caller]
pub(crate) fn eventually(what: &str, is_so: impl FnMut() -> bool) {
    assert!(within(PATIENCE, is_so), "not so: {what}");
}

/// Whether a condition comes true in that time.
pub(crate) fn within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
