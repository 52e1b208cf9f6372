//! A gateway with a Redis of its own, or with none.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use lockless_servers::{Standalone, launch};
use serde_json::{Value, json};

use super::{LOOK_AGAIN, PATIENCE};

/// A running gateway and its Redis; dropping it ends both.
pub(crate) struct Stage {
    gateway: Child,
    address: String,
    agent: ureq::Agent,
    token: Option<String>,
    server: Option<Standalone>,
    redis_port: u16,
}

impl Stage {
    /// A gateway that is ready, with these arguments more.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let server = Standalone::builder().private().start().unwrap();
        load(&server.url());
        Self::of(Some(server), arguments)
    }

    /// The same without a Redis: the gateway is the scheduler.
    pub(crate) fn embedded() -> Self {
        Self::of(None, &[])
    }

    fn of(server: Option<Standalone>, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockless-browser-tests"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("LOCKLESS_")) {
            command.env_remove(name);
        }
        if let Some(server) = &server {
            command.args(["--redis", &server.url()]);
        }
        command
            .args(["--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut gateway = launch(command).unwrap();
        let mut said = String::new();
        let mut output = BufReader::new(gateway.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        let address = said.trim().split(' ').find(|word| word.starts_with("http"));
        let address = address.unwrap_or_else(|| panic!("it said '{said}'"));
        let stage = Self {
            gateway,
            address: address.to_owned(),
            agent: ureq::Agent::config_builder()
                .http_status_as_error(false)
                .timeout_global(Some(PATIENCE))
                .build()
                .into(),
            token: None,
            redis_port: server.as_ref().map_or(0, Standalone::port),
            server,
        };
        eventually("the gateway is ready", || {
            stage.try_send("GET", "/readyz", None).0 == 200
        });
        stage
    }

    /// Sends this token with what the test itself asks.
    pub(crate) fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Where its Redis is.
    pub(crate) fn redis_url(&self) -> String {
        self.server.as_ref().expect("Redis runs").url()
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The status and body of an answer.
    pub(crate) fn try_send(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let answer = match body {
            Some(body) => {
                let request = request.header("content-type", "application/json");
                self.agent.run(request.body(body.to_string()).unwrap())
            }
            None => self.agent.run(request.body(()).unwrap()),
        };
        let mut answer = answer.unwrap();
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(64 << 20);
        (status, body.read_to_string().unwrap())
    }

    #[track_caller]
    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let (status, text) = self.try_send(method, path, body);
        assert_eq!(status, 200, "{method} {path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        self.send("GET", path, None)
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        self.send("POST", path, Some(body))
    }

    #[track_caller]
    pub(crate) fn put(&self, path: &str, body: &Value) -> Value {
        self.send("PUT", path, Some(body))
    }

    /// Makes many calls, each a function and its arguments; all must go well.
    #[track_caller]
    pub(crate) fn batch(&self, calls: &[(&str, Value)]) {
        for result in self.try_batch(calls) {
            assert_eq!(result["status"], 200, "{result}");
        }
    }

    /// The same, with the results as they are.
    #[track_caller]
    pub(crate) fn try_batch(&self, calls: &[(&str, Value)]) -> Vec<Value> {
        let mut results = Vec::with_capacity(calls.len());
        for calls in calls.chunks(1000) {
            let calls: Vec<Value> = calls
                .iter()
                .map(
                    |(function, arguments)| json!({ "function": function, "arguments": arguments }),
                )
                .collect();
            let answer = self.post("/v1/batch", &json!({ "calls": calls }));
            results.extend(answer["results"].as_array().unwrap().iter().cloned());
        }
        results
    }

    /// Ends Redis, as an outage does.
    pub(crate) fn end_redis(&mut self) {
        self.server = None;
    }

    /// Starts one again where it was, empty but for the library.
    pub(crate) fn restart_redis(&mut self) {
        let server = Standalone::builder().port(self.redis_port).start().unwrap();
        load(&server.url());
        self.server = Some(server);
        eventually("the gateway is ready again", || {
            self.try_send("GET", "/readyz", None).0 == 200
        });
    }

    pub(crate) fn end_gateway(&mut self) {
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
    }
}

fn load(url: &str) {
    let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
    let mut load = redis::cmd("FUNCTION");
    load.arg("LOAD")
        .arg("REPLACE")
        .arg(lockless_functions::LIBRARY);
    load.exec(&mut connection).unwrap();
}

/// Waits for a condition.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "not so: {what}");
        std::thread::sleep(LOOK_AGAIN);
    }
}
