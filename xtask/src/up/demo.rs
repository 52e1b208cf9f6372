//! Three nodes and a trickle of jobs, over HTTP, as a program of a user would do it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

const NODES: [Node; 3] = [
    Node {
        name: "demo-1",
        slots: 4,
        pairs: &[["en", "zh"], ["zh", "en"]],
        labels: &[],
    },
    Node {
        name: "demo-2",
        slots: 4,
        pairs: &[["en", "zh"], ["en", "de"]],
        labels: &[],
    },
    Node {
        name: "demo-3",
        slots: 2,
        pairs: &[["en", "zh"], ["en", "de"]],
        labels: &["fast"],
    },
];
const PAIRS: [[&str; 2]; 3] = [["en", "zh"], ["en", "de"], ["zh", "en"]];
const JOB_EVERY: Duration = Duration::from_millis(400);
const HEARTBEAT_EVERY: Duration = Duration::from_secs(5);
/// Shorter than the time between two heartbeats, which one thread of a node sends in turn with taking jobs.
const WAIT_MS: u64 = 4000;
const AFTER_AN_ERROR: Duration = Duration::from_secs(1);

/// A node as it registers.
struct Node {
    name: &'static str,
    slots: u32,
    pairs: &'static [[&'static str; 2]],
    labels: &'static [&'static str],
}

/// Threads that play nodes and clients until they are told to stop.
pub(super) struct Demo {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Clone)]
struct Http {
    agent: ureq::Agent,
    address: String,
    stop: Arc<AtomicBool>,
}

impl Demo {
    /// Registers the nodes and starts the load.
    pub(super) fn start(address: &str) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(30)))
            .build();
        let http = Http {
            agent: agent.into(),
            address: address.to_owned(),
            stop: Arc::clone(&stop),
        };
        let mut demo = Self {
            stop,
            threads: Vec::new(),
        };
        for node in &NODES {
            http.register(node)
                .with_context(|| format!("the node {} could not be registered", node.name))?;
            let http = http.clone();
            demo.threads
                .push(std::thread::spawn(move || http.play_node(node)));
        }
        demo.threads
            .push(std::thread::spawn(move || http.play_client()));
        Ok(demo)
    }

    /// Asks all threads to end; dropping waits for them.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Http {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, ureq::Error> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address))
            .header("content-type", "application/json")
            .body(body.to_string())?;
        let mut response = self.agent.run(request)?;
        let text = response.body_mut().read_to_string()?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, ureq::Error> {
        self.send("POST", path, body)
    }

    fn register(&self, node: &Node) -> Result<Value, ureq::Error> {
        let description = json!({ "max_jobs": node.slots, "pairs": node.pairs, "labels": node.labels, "region": "here" });
        self.send("PUT", &format!("/v1/nodes/{}", node.name), &description)
    }

    /// Heartbeats, takes jobs, and completes each after its time. Errors end nothing: a node goes on.
    fn play_node(&self, node: &Node) {
        let name = node.name;
        let mut running: Vec<(Instant, String)> = Vec::new();
        let mut heartbeat_at = Instant::now();
        while !self.is_stopped() {
            let now = Instant::now();
            if now >= heartbeat_at {
                let load = json!({ "cpu": 10 + 20 * running.len(), "mem": 40 });
                if self
                    .post(&format!("/v1/nodes/{name}/heartbeat"), &load)
                    .is_err()
                {
                    sleep(AFTER_AN_ERROR);
                    let _ = self.register(node);
                    continue;
                }
                heartbeat_at = now + HEARTBEAT_EVERY;
            }
            for (_, job) in running.extract_if(.., |(end, _)| *end <= now) {
                let done = json!({ "node": name, "status": "finished", "result": { "by": name } });
                let _ = self.post(&format!("/v1/jobs/{job}/complete"), &done);
            }
            // With work under way it asks again when the next job ends.
            let next = running
                .iter()
                .map(|(end, _)| end.saturating_duration_since(now))
                .min();
            let wait_ms = next.map_or(WAIT_MS, |left| {
                left.as_millis().try_into().unwrap_or(WAIT_MS)
            });
            let Ok(taken) = self.post(
                &format!("/v1/nodes/{name}/take"),
                &json!({ "wait_ms": wait_ms.min(WAIT_MS) }),
            ) else {
                sleep(AFTER_AN_ERROR);
                continue;
            };
            for job in taken["jobs"].as_array().into_iter().flatten() {
                let id = job["job_id"].as_str().unwrap_or_default();
                let length = 300 + id.bytes().map(u64::from).sum::<u64>() % 1500;
                running.push((
                    Instant::now() + Duration::from_millis(length),
                    id.to_owned(),
                ));
            }
            for job in taken["stop"].as_array().into_iter().flatten() {
                running.retain(|(_, own)| Some(own.as_str()) != job.as_str());
                let stopped = json!({ "node": name, "status": "failed", "reason": "stopped" });
                let _ = self.post(
                    &format!("/v1/jobs/{}/complete", job.as_str().unwrap_or_default()),
                    &stopped,
                );
            }
        }
    }

    /// Has a job done now and then.
    fn play_client(&self) {
        for (count, pair) in PAIRS.iter().cycle().enumerate() {
            if self.is_stopped() {
                return;
            }
            let job = json!({
                "session": format!("demo-session-{}", count % 5),
                "src": pair[0],
                "tgt": pair[1],
                "payload": { "text": format!("sentence {count}") },
                "job": format!("demo-{count}"),
            });
            // A fleet that is full, or a gateway that goes away, is no reason to end the demonstration.
            let _ = self.post("/v1/jobs", &job);
            sleep(JOB_EVERY);
        }
    }
}
