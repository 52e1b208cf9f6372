//! What a caller of the cell does.

use std::collections::BTreeMap;

use redis::{RedisResult, Value};

use super::eventually;

const ROOT: &str = "scheduler:{main}";

/// The cell, as a caller sees it.
pub(crate) struct Cell {
    client: redis::Client,
}

/// A job's or a node's fields.
pub(crate) type Fields = BTreeMap<String, String>;

impl Cell {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            client: redis::Client::open(url).unwrap(),
        }
    }

    pub(crate) fn load(&self) {
        let mut load = redis::cmd("FUNCTION");
        load.arg("LOAD")
            .arg("REPLACE")
            .arg(lockless_functions::LIBRARY);
        load.exec(&mut self.client.get_connection().unwrap())
            .unwrap();
    }

    /// Forgets everything but the library.
    pub(crate) fn flush(&self) {
        let flush = redis::cmd("FLUSHALL");
        flush
            .exec(&mut self.client.get_connection().unwrap())
            .unwrap();
    }

    /// Breaks all connections of others, with whatever replies are on their way.
    pub(crate) fn break_connections(&self) {
        let mut kill = redis::cmd("CLIENT");
        kill.arg("KILL")
            .arg("TYPE")
            .arg("normal")
            .arg("SKIPME")
            .arg("yes");
        kill.exec(&mut self.client.get_connection().unwrap())
            .unwrap();
    }

    pub(crate) fn try_call(&self, words: &[&str]) -> RedisResult<Value> {
        let (function, arguments) = words.split_first().unwrap();
        let mut call = redis::cmd("FCALL");
        call.arg(format!("lockless_{function}"))
            .arg(1)
            .arg(ROOT)
            .arg(arguments);
        call.query(&mut self.client.get_connection()?)
    }

    #[track_caller]
    pub(crate) fn call(&self, words: &[&str]) -> Value {
        self.try_call(words)
            .unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// Puts a job into the queue that runs a script.
    #[track_caller]
    pub(crate) fn submit(&self, job: &str, script: &str, options: &[&str]) {
        let payload = payload(script);
        let mut words = vec!["submit", job, payload.as_str()];
        words.extend(options);
        self.call(&words);
    }

    /// Has a node found for a job that runs a script.
    #[track_caller]
    pub(crate) fn dispatch(&self, job: &str, script: &str) {
        let payload = payload(script);
        // Until its first heartbeat a node may look busy, or full.
        eventually("a node can take it", || {
            self.try_call(&["dispatch", "s", "-", "-", &payload, "JOB", job])
                .is_ok()
        });
    }

    /// Wants something run for as long as it is wanted.
    #[track_caller]
    pub(crate) fn deploy(&self, id: &str, spec: &serde_json::Value) {
        self.call(&["deploy", id, "SPEC", &spec.to_string()]);
    }

    pub(crate) fn deployment(&self, id: &str) -> Fields {
        self.fields(&["deployment", id])
    }

    /// The cell's settings.
    pub(crate) fn settings(&self) -> Fields {
        self.fields(&["config"])
    }

    /// The node that has a deployment.
    pub(crate) fn node_of(&self, id: &str) -> String {
        self.deployment(id).remove("node_id").unwrap_or_default()
    }

    fn fields(&self, words: &[&str]) -> Fields {
        let Ok(Value::Array(values)) = self.try_call(words) else {
            return Fields::new();
        };
        let pairs = values
            .chunks_exact(2)
            .map(|pair| (text(&pair[0]), text(&pair[1])));
        pairs.collect()
    }

    pub(crate) fn job(&self, job: &str) -> Fields {
        self.fields(&["job", job])
    }

    pub(crate) fn node(&self, node: &str) -> Fields {
        self.fields(&["node", node])
    }

    pub(crate) fn status(&self, job: &str) -> String {
        self.job(job).remove("status").unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, job: &str, status: &str) -> Fields {
        eventually(
            &format!("{job} is {status}; it is {:?}", self.job(job)),
            || self.status(job) == status,
        );
        self.job(job)
    }

    /// The result of a job that has ended so.
    #[track_caller]
    pub(crate) fn result(&self, job: &str, status: &str) -> serde_json::Value {
        let fields = self.wait_for(job, status);
        serde_json::from_str(&fields["result"])
            .unwrap_or_else(|error| panic!("{error}: {fields:?}"))
    }

    /// What has happened, as text.
    pub(crate) fn events(&self) -> String {
        format!("{:?}", self.call(&["events", "-", "1000"]))
    }

    /// The slots of a node that are taken.
    pub(crate) fn held(&self, node: &str) -> String {
        self.node(node).remove("current_jobs").unwrap_or_default()
    }

    /// The cell finds nothing wrong with itself.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        assert_eq!(self.call(&["check"]), Value::Array(Vec::new()));
    }
}

pub(crate) fn payload(script: &str) -> String {
    serde_json::json!({ "argv": ["sh", "-c", script] }).to_string()
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}
