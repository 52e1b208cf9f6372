//! A fleet for pictures, with work coming and going for a while.

use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::{Value, json};

use super::{lasting, node};
use crate::support::Stage;

type Call = (&'static str, Value);

const NODES: usize = 96;
const POOLS: [&str; 4] = ["general", "speech", "vision", "batch"];
/// Jobs that are kept running.
const RUNNING: usize = 300;
/// The pace of a picture's time.
const TURN: Duration = Duration::from_millis(400);

pub(super) fn load(stage: &Stage, time: Duration) {
    lasting(stage);
    let mut random = Rng::with_seed(7);
    let nodes: Vec<Call> = (0..NODES).map(|i| some_node(i, &mut random)).collect();
    stage.batch(&nodes);
    let names: Vec<&str> = nodes
        .iter()
        .filter_map(|(_, node)| node["node"].as_str())
        .collect();
    let mut calls: Vec<Call> = names.iter().map(|name| spoken(name, &mut random)).collect();
    for (at, word) in [(11, "drain"), (40, "drain"), (5, "online")] {
        calls.push(if word == "drain" {
            (
                "lockless_drain",
                json!({ "node": names[at], "drain": "on" }),
            )
        } else {
            (
                "lockless_heartbeat",
                json!({ "node": names[at], "online": false }),
            )
        });
    }
    for n in 0..24 {
        calls.push(("lockless_submit", json!({ "job": format!("render-{n}"), "payload": n, "pool": "batch", "require": ["a100"] })));
    }
    for n in 0..8 {
        calls.push(("lockless_bind", json!({ "session": format!("caller-{n}"), "request_id": "r", "lease": 600_000, "pool": "speech" })));
    }
    calls.extend(studio());
    stage.batch(&calls);
    a_failure(stage, if time.is_zero() { time } else { TURN * 6 });
    work(stage, &names, &mut random, time);
    stage.batch(&in_the_slots());
}

fn some_node(i: usize, random: &mut Rng) -> Call {
    let kind = ["worker", "gpu", "edge"][i % 3];
    let labels = if kind == "gpu" {
        json!(["gpu", "model:whisper-3"])
    } else {
        json!(["model:nllb"])
    };
    let pool = POOLS[random.usize(..4)];
    let region = ["eu-west", "us-east", "ap-south"][random.usize(..3)];
    let more = json!({ "max_jobs": 4 << random.u32(..3), "pools": [pool], "region": region, "labels": labels, "pairs": [["en", "zh"], ["de", "en"]] });
    node(&format!("{kind}-{i:02}"), &more)
}

/// What a node says of itself now.
fn spoken(name: &str, random: &mut Rng) -> Call {
    let is_hot = random.u32(..24) == 0;
    let cpu = if is_hot { 95 } else { random.u32(12..80) };
    let mem = random.u32(25..78);
    if name.starts_with("edge") {
        let sample = json!({ "node": name, "mem": mem, "used_mb": mem * 160, "total_mb": 16000, "avail_mb": 16000 - mem * 160, "swap": 0, "cpu": cpu.min(70) });
        return ("lockless_tick", sample);
    }
    let foreign = random.u32(..12) / 10;
    (
        "lockless_heartbeat",
        json!({ "node": name, "cpu": cpu, "mem": mem, "mem_mb": mem * 640, "foreign": foreign }),
    )
}

/// A pool in which nobody can take a job of its kind, each for another reason, but for one node that is full.
fn studio() -> Vec<Call> {
    let gpu = json!(["gpu", "model:whisper-3"]);
    let own = |id: &str, region: &str, labels: &Value| {
        let more =
            json!({ "max_jobs": 12, "pools": ["studio"], "region": region, "labels": labels });
        node(id, &more)
    };
    let mut calls = vec![
        own("studio-1", "us-east", &gpu),
        own("studio-2", "ap-south", &gpu),
        own("studio-3", "ap-south", &gpu),
        own("studio-4", "eu-west", &json!([])),
        own("studio-5", "eu-west", &json!([])),
        own("studio-6", "eu-west", &gpu),
        own("studio-7", "eu-west", &gpu),
        own("studio-8", "eu-west", &gpu),
        own("studio-9", "eu-west", &gpu),
    ];
    calls.push((
        "lockless_drain",
        json!({ "node": "studio-6", "drain": "on" }),
    ));
    calls.push((
        "lockless_heartbeat",
        json!({ "node": "studio-7", "cpu": 97, "mem": 60 }),
    ));
    calls.push((
        "lockless_heartbeat",
        json!({ "node": "studio-8", "online": false }),
    ));
    let busy = json!({ "node": "studio-9", "cpu": 64, "mem": 71, "mem_mb": 45_440, "gpu": 83, "foreign": 2 });
    calls.push(("lockless_heartbeat", busy));
    calls
}

/// Jobs in every state on the node that is still free, until it is full.
fn in_the_slots() -> Vec<Call> {
    let mut calls = Vec::new();
    let wishes = json!({ "pool": "studio", "region": "eu-west", "require": ["gpu"], "payload": { "file": "take.wav" } });
    let dispatch = |job: &str, more: &Value| {
        let mut given = wishes.clone();
        given["session"] = json!(format!("user-{job}"));
        given["job"] = json!(job);
        for (name, value) in more.as_object().into_iter().flatten() {
            given[name] = value.clone();
        }
        ("lockless_dispatch", given)
    };
    for n in 1..=6 {
        calls.push(dispatch(&format!("take-{n}"), &json!({})));
        calls.push((
            "lockless_ack",
            json!({ "job": format!("take-{n}"), "node": "studio-9" }),
        ));
    }
    calls.push((
        "lockless_cancel",
        json!({ "job": "take-6", "reason": "superseded" }),
    ));
    calls.push(dispatch("take-7", &json!({})));
    calls.push(dispatch("take-8", &json!({ "ack": 600_000 })));
    for session in ["live-1", "live-2"] {
        calls.push(("lockless_bind", json!({ "session": session, "request_id": "r", "pool": "studio", "region": "eu-west", "require": ["gpu"], "lease": 600_000 })));
    }
    calls
}

/// A job that runs for a while and fails.
fn a_failure(stage: &Stage, after: Duration) {
    let job = json!({ "job": "transcribe-481", "payload": { "file": "part-17.wav", "model": "whisper-3" }, "pool": "speech", "retries": 0, "require": ["gpu"] });
    stage.post("/v1/queue", &job);
    let asked = "/v1/explain?session=x&src=-&tgt=-&pool=speech&require=gpu";
    let node = stage.get(asked)["node_id"].as_str().unwrap().to_owned();
    stage.post(&format!("/v1/nodes/{node}/pull"), &json!({}));
    std::thread::sleep(after);
    let end = json!({ "node": node, "status": "failed", "reason": "model ran out of memory" });
    stage.post("/v1/jobs/transcribe-481/complete", &end);
}

/// Jobs come and go.
fn work(stage: &Stage, names: &[&str], random: &mut Rng, time: Duration) {
    let mut running: Vec<(String, String)> = Vec::new();
    let begin = Instant::now();
    let mut placed = 0;
    while begin.elapsed() < time || placed < RUNNING {
        let wave = if (begin.elapsed().as_secs() / 25).is_multiple_of(2) {
            8
        } else {
            18
        };
        let dispatches: Vec<Call> = (0..wave + random.usize(..6))
            .map(|i| {
                let session = format!("user-{}", random.u32(..200));
                let pool = POOLS[random.usize(..4)];
                ("lockless_dispatch", json!({ "session": session, "src": "en", "tgt": "zh", "payload": { "text": "hello" }, "job": format!("job-{}", placed + i), "pool": pool }))
            })
            .collect();
        placed += dispatches.len();
        for result in stage.try_batch(&dispatches) {
            let text = |name: &str| result["body"][name].as_str().map(str::to_owned);
            running.extend(text("job_id").zip(text("node_id")));
        }
        let newest = running.iter().rev().take(dispatches.len());
        let acks: Vec<Call> = newest
            .map(|(job, node)| ("lockless_ack", json!({ "job": job, "node": node })))
            .collect();
        stage.try_batch(&acks);
        random.shuffle(&mut running);
        let over = running.len().saturating_sub(RUNNING / 2) / 8;
        let ends: Vec<Call> = running
            .drain(..over)
            .map(|(job, node)| end(&job, &node, random))
            .collect();
        stage.try_batch(&ends);
        let heard: Vec<Call> = (0..6)
            .map(|_| spoken(names[random.usize(..names.len())], random))
            .collect();
        stage.try_batch(&heard);
        if !time.is_zero() {
            std::thread::sleep(TURN);
        }
    }
}

fn end(job: &str, node: &str, random: &mut Rng) -> Call {
    let given = if random.u32(..50) == 0 {
        json!({ "job": job, "node": node, "status": "failed", "reason": "exit code 1" })
    } else {
        json!({ "job": job, "node": node, "status": "finished" })
    };
    ("lockless_complete", given)
}
