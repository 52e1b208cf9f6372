//! What goes on as long as the agent does: heartbeats, ticks, takes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::agent::Agent;
use crate::books::Source;
use crate::cell::Call;
use crate::complaints::Complaints;
use crate::pace::{Backoff, jittered};
use crate::sample::Sample;

/// How often the use of the agent and all its children is looked at.
const COLLECT_EVERY: Duration = Duration::from_secs(1);
/// When the first heartbeat is sent.
const FIRST_HEARTBEAT: Duration = Duration::from_secs(1);
/// How long a take waits for a job: shorter than proxies and gateways wait.
const TAKE_WAIT: Duration = Duration::from_secs(20);
/// The same while the node is drained.
const TAKE_WAIT_DRAINING: Duration = Duration::from_millis(200);
/// Between takes that are answered at once.
const TAKE_PAUSE: Duration = Duration::from_millis(500);
/// The same while something is being stopped.
const TAKE_WAIT_STOPPING: Duration = Duration::from_secs(1);

fn backoff() -> Backoff {
    Backoff::new(Duration::from_millis(200), Duration::from_secs(5))
}

/// Heartbeats, each a third of the time after which a silent node is lost. Whoever wants no more of them ends the task.
pub(crate) async fn heartbeat(agent: Arc<Agent>) {
    let mut complaints = Complaints::about("a heartbeat");
    let mut tries = backoff();
    // Registering was a word of presence, and a processor's use is seen only after a while.
    let first = FIRST_HEARTBEAT.min(heartbeat_every(&agent));
    sleep(first).await;
    loop {
        let epoch = agent.node.standing().epoch;
        let pause = match agent.node.say_in(epoch, heartbeat_call(&agent).await).await {
            Ok(reply) => {
                complaints.clear();
                tries = backoff();
                agent.stop(&reply["stop"], epoch).await;
                jittered(heartbeat_every(&agent))
            }
            Err(trouble) => {
                complaints.note(&trouble);
                tries.pause().min(jittered(heartbeat_every(&agent)))
            }
        };
        sleep(pause).await;
    }
}

fn heartbeat_every(agent: &Agent) -> Duration {
    let usual = agent.node.standing().heartbeat_ttl / 3;
    match &agent.settings.deploying {
        // What nodes are compared by is not older than a turn.
        Some(deploying) if tells_own_use(agent) => usual.min(deploying.interval.max(COLLECT_EVERY)),
        _ => usual,
    }
}

/// Nodes that run deployments are compared by what they themselves use. Where ticks tell the cell of the whole machine every
/// second, heartbeats say the same, so that what is compared does not jump.
fn tells_own_use(agent: &Agent) -> bool {
    agent.settings.deploying.is_some() && agent.settings.tick.is_none()
}

/// Collects what the agent and all its children use.
pub(crate) async fn collect(agent: Arc<Agent>) {
    loop {
        agent.note_own_use(agent.sampler.own_use().await);
        sleep(COLLECT_EVERY).await;
    }
}

async fn heartbeat_call(agent: &Agent) -> Call {
    let sample = agent.sampler.sample().await;
    let own = agent.own_use().await;
    tracing::debug!(?own, ?sample, "sampled");
    let caps = json!({
        "agent": env!("CARGO_PKG_VERSION"),
        "programs": agent.settings.allow.names().collect::<Vec<_>>(),
        "own_cpu_pct": rounded(own.cpu_pct),
        "own_mem_pct": rounded(own.mem_pct),
        "own_mem_mb": own.mem_mb,
    });
    let (cpu, mem_mb) = if tells_own_use(agent) {
        (own.cpu_pct, own.mem_mb)
    } else {
        (sample.cpu, sample.used_mb)
    };
    Call::new("lockless_heartbeat")
        .with("foreign", agent.books.foreign(agent.node.standing().epoch))
        .with("cpu", rounded(cpu))
        .with("gpu", sample.gpu_pct().map_or(-1.0, rounded))
        .with("mem", rounded(sample.mem))
        .with("mem_mb", mem_mb)
        .with("caps", caps)
}

/// Ticks, which bring jobs from the queue.
pub(crate) async fn tick(agent: Arc<Agent>, every: Duration) {
    let mut complaints = Complaints::about("a tick");
    let mut turn = Turn::default();
    while !agent.is_closing_within(jittered(every)).await {
        let sample = agent.sampler.sample().await;
        if sample.total_mb == 0 {
            // There was no sample yet, and the reason was said.
            continue;
        }
        let epoch = agent.node.standing().epoch;
        agent.handings.ticks.begin();
        let no_report = agent.going_back.write().await;
        let reply = until_answered(&agent, epoch, tick_call(&sample), &mut complaints, None).await;
        drop(no_report);
        if let Some(reply) = reply {
            turn.note(&reply, &sample);
            agent.start(&reply["start"], Source::Queue, epoch);
            agent.handings.ticks.end();
            agent.turn_is_over();
            agent.stop(&reply["stop"], epoch).await;
        } else {
            agent.handings.ticks.end();
        }
    }
}

/// What the last tick said, so that only news is logged.
#[derive(Default)]
struct Turn {
    mode: String,
    reasons: BTreeSet<String>,
}

impl Turn {
    fn note(&mut self, reply: &Value, sample: &Sample) {
        let mode = reply["mode"].as_str().unwrap_or_default();
        if mode != self.mode {
            tracing::info!(mode, target_workers = %reply["target_workers"], mem = sample.mem, cpu = sample.cpu, "mode");
            mode.clone_into(&mut self.mode);
        }
        let blocked = reply["blocked"].as_array().into_iter().flatten();
        let reasons: BTreeSet<String> = blocked
            .filter_map(|blocked| blocked["reason"].as_str().map(str::to_owned))
            .collect();
        if !reasons.is_empty() && reasons != self.reasons {
            tracing::info!(why = ?reasons, "jobs may not start yet");
        }
        self.reasons = reasons;
    }
}

fn tick_call(sample: &Sample) -> Call {
    Call::new("lockless_tick")
        .with("mem", rounded(sample.mem))
        .with("used_mb", sample.used_mb)
        .with("total_mb", sample.total_mb)
        .with("avail_mb", sample.avail_mb)
        .with("swap", rounded(sample.swap))
        .with("cpu", rounded(sample.cpu))
        .maybe("gpu_used_mb", sample.gpu_used_mb)
        .maybe("gpu_total_mb", sample.gpu_total_mb)
}

/// Takes, which bring jobs that were dispatched to this node.
pub(crate) async fn take(agent: Arc<Agent>) {
    let mut complaints = Complaints::about("a take");
    let mut stop = Value::Null;
    while !agent.is_closing_within(Duration::ZERO).await {
        let epoch = agent.node.standing().epoch;
        let begun = Instant::now();
        agent.handings.takes.begin();
        let wait = match stop.as_array() {
            _ if agent.is_draining() => TAKE_WAIT_DRAINING,
            Some(jobs) if !jobs.is_empty() => TAKE_WAIT_STOPPING,
            _ => TAKE_WAIT,
        };
        let call = Call::new("lockless_take");
        let reply = until_answered(&agent, epoch, call, &mut complaints, Some((wait, &stop))).await;
        let Some(reply) = reply else {
            agent.handings.takes.end();
            continue;
        };
        agent.start(&reply["jobs"], Source::Pushed, epoch);
        agent.handings.takes.end();
        stop = reply["stop"].clone();
        agent.stop(&stop, epoch).await;
        let has_nothing = [&reply["jobs"], &stop]
            .iter()
            .all(|list| list.as_array().is_none_or(Vec::is_empty));
        if has_nothing && begun.elapsed() < TAKE_WAIT_DRAINING / 2 {
            // A gateway that lets nobody wait is not asked all the time.
            sleep(TAKE_PAUSE).await;
        }
    }
}

/// Makes a call that hands out jobs until it is answered, always as the same request, so that no job is handed out twice. None
/// when the node's epoch or the agent is over.
pub(crate) async fn until_answered(
    agent: &Agent,
    epoch: u64,
    call: Call,
    complaints: &mut Complaints,
    wait: Option<(Duration, &Value)>,
) -> Option<Value> {
    let call = call.with("request", agent.request_id());
    let mut tries = backoff();
    loop {
        let answer = match wait {
            // A wait is given up when the agent begins to drain; the reply may be lost with it, and is asked for again.
            Some((wait, stop)) => tokio::select! {
                answer = agent.node.take_until(epoch, call.clone(), stop, wait) => answer,
                () = agent.begins_to_drain() => agent.node.say_in(epoch, call.clone()).await,
            },
            None => agent.node.say_in(epoch, call.clone()).await,
        };
        let trouble = match answer {
            Ok(reply) => {
                complaints.clear();
                return Some(reply).filter(|_| agent.node.standing().epoch == epoch);
            }
            Err(trouble) => trouble,
        };
        complaints.note(&trouble);
        if !trouble.may_pass() {
            sleep(tries.pause()).await;
            return None;
        }
        if agent.is_closing_within(tries.pause()).await {
            return None;
        }
    }
}

/// As many decimals as the figures deserve.
fn rounded(share: f64) -> f64 {
    (share * 100.0).round() / 100.0
}
