//! A browser of its own for each test, and its driver.

use std::cell::RefCell;
use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::{Client, ClientBuilder};
use lockless_servers::launch;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::PATIENCE;
use super::commands::Extension;
use super::programs::Programs;

/// No window, no profile, and no word to anyone outside.
const FLAGS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
];

/// How often a driver is started before the test gives up.
const STARTS: usize = 5;

/// A browser with one window. Dropping it ends it, and fails the test if a page complained in the console.
pub(crate) struct Browser {
    // `None` once it is closed.
    client: Option<Client>,
    runtime: Runtime,
    pub(super) allowed: RefCell<Vec<String>>,
    driver: Driver,
    // Kept until the browser has ended.
    _profile: TempDir,
}

struct Driver {
    child: Child,
    port: u16,
}

impl Browser {
    /// Starts it, with a window the size of a desktop's.
    pub(crate) fn start() -> Self {
        let programs = Programs::find();
        let driver = Driver::start(programs);
        let profile = tempfile::tempdir().unwrap();
        let mut flags: Vec<String> = FLAGS.iter().map(ToString::to_string).collect();
        flags.push(format!("--user-data-dir={}", profile.path().display()));
        let wanted = json!({
            "goog:chromeOptions": { "binary": programs.browser, "args": flags },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let wanted: Map<String, Value> = wanted.as_object().cloned().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let address = format!("http://127.0.0.1:{}", driver.port);
        let client = runtime.block_on(async {
            let mut builder =
                ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
            builder
                .capabilities(wanted)
                .connect(&address)
                .await
                .unwrap()
        });
        let browser = Self {
            client: Some(client),
            runtime,
            allowed: RefCell::default(),
            driver,
            _profile: profile,
        };
        browser.set_size(super::DESKTOP);
        browser
    }

    pub(super) fn client(&self) -> &Client {
        self.client.as_ref().expect("the browser is open")
    }

    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// One command of the DevTools protocol.
    pub(crate) fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let command = Extension::devtools(command, parameters);
        self.wait(self.client().issue_cmd(command)).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let complaints = if std::thread::panicking() {
            Vec::new()
        } else {
            self.complaints()
        };
        if let Some(client) = self.client.take() {
            let _ = self.runtime.block_on(client.close());
        }
        self.driver.stop();
        assert!(complaints.is_empty(), "in the console: {complaints:#?}");
    }
}

impl Driver {
    /// Starts it. It draws a free port for one family of addresses and ends when the other one has it taken, as it may be on
    /// a machine that is busy with other tests, so it is started again.
    fn start(programs: &Programs) -> Self {
        let mut said = String::new();
        for _ in 0..STARTS {
            match Self::try_start(programs) {
                Ok(driver) => return driver,
                Err(output) => said = output,
            }
        }
        panic!("the driver was started {STARTS} times and never said its port, but: {said}");
    }

    /// What it said instead, when it ended without saying its port.
    fn try_start(programs: &Programs) -> Result<Self, String> {
        let mut command = Command::new(&programs.driver);
        command
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = launch(command).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = String::new();
        // "ChromeDriver was started successfully on port 36311."
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            said.push_str(&line);
            said.push('\n');
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let Some(port) = port else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(said);
        };
        // It must not meet a closed pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, port })
    }

    /// Asks it to end, which ends the browser as well.
    fn stop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let _ = stream.write_all(b"GET /shutdown HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
            let _ = stream.read(&mut [0; 64]);
        }
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(super::LOOK_AGAIN);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
