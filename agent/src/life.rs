//! The agent's life: it begins, works until it is told to end, and ends without leaving anything behind.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use crate::agent::{Agent, Phase};
use crate::books::Stop;
use crate::cell::{Call, Cell, Gateway, Redis};
use crate::complaints::Complaints;
use crate::deployments::{claim, weights};
use crate::node::Node;
use crate::pace::Backoff;
use crate::sample::Sampler;
use crate::settings::{Settings, Way};
use crate::state::StateDir;
use crate::{leftovers, loops};

/// For the cell to hear the last words, when nothing runs any more.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// For calls that are under way.
const CALLS_UNDER_WAY: Duration = Duration::from_secs(2);

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Is a node until SIGTERM or SIGINT. The error is a sentence for the user.
pub async fn run(settings: Settings) -> Result<(), String> {
    let mut signals =
        Signals::new().map_err(|error| format!("signals can't be listened for: {error}"))?;
    let state = Arc::new(StateDir::open(&settings.state_dir)?);
    let (left_in, grace, kill_wait) = (Arc::clone(&state), settings.stop_grace, settings.kill_wait);
    let left = spawn_blocking(move || leftovers::end_all(&left_in, grace, kill_wait))
        .await
        .unwrap_or_default();
    if left > 0 {
        tracing::warn!(runs = left, "ended what an earlier agent left");
    }
    let sampler = Sampler::new(settings.sample_from.clone());
    let capacity = sampler.capacity().await;
    let cell = match &settings.way {
        Way::Redis(redis) => Cell::Redis(Redis::start((**redis).clone(), &settings.cell)?),
        Way::Gateway(gateway) => Cell::Gateway(Box::new(Gateway::new(gateway, &settings.cell)?)),
    };
    let instance = instance()?;
    let node = Node::new(&settings, cell, instance.clone());
    let agent = Arc::new(Agent::new(
        settings, node, state, sampler, capacity, instance,
    ));
    tokio::select! {
        registered = register(&agent) => registered?,
        () = signals.next() => return Ok(()),
    }
    announce(&agent);

    // Heartbeats go on until nothing runs any more, and are ended with what watches over lost epochs.
    let mut beside = JoinSet::new();
    beside.spawn(loops::heartbeat(Arc::clone(&agent)));
    beside.spawn(Arc::clone(&agent).abandon_what_is_lost());
    let mut tasks = JoinSet::new();
    tasks.spawn(loops::take(Arc::clone(&agent)));
    if let Some(every) = agent.settings.tick {
        tasks.spawn(loops::tick(Arc::clone(&agent), every));
    }
    if let Some(deploying) = &agent.settings.deploying {
        let deploying = Arc::new(deploying.clone());
        beside.spawn(loops::collect(Arc::clone(&agent)));
        beside.spawn(weights::set(Arc::clone(&agent), Arc::clone(&deploying)));
        tasks.spawn(claim::claim(Arc::clone(&agent), deploying));
    }
    tokio::select! {
        () = signals.next() => end(&agent, &mut signals, tasks, beside).await,
        () = taken_over(&agent) => {
            agent.enter(Phase::Closing);
            agent.books.stop_all(Stop::Lost);
            agent.deployments.close();
            end_processes(&agent).await;
            end_deployments(&agent).await;
            Err(format!("node '{}' was taken over by another process: give each agent its own --node", agent.node.name()))
        }
    }
}

/// Registers, however long that takes. Only what can never succeed is an error.
async fn register(agent: &Agent) -> Result<(), String> {
    let mut tries = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
    let mut complaints = Complaints::about("registering");
    loop {
        match agent.node.register().await {
            Ok(()) => break complaints.clear(),
            Err(trouble) if !trouble.may_pass() => {
                return Err(format!("the node can't be registered: {trouble}"));
            }
            Err(trouble) => complaints.note(&trouble),
        }
        sleep(tries.pause()).await;
    }
    if agent.state.was_draining() {
        // An agent that drained the node, and was gone before it could deregister.
        let undrain = Call::new("lockless_drain").with("drain", "off");
        match agent.node.say(undrain).await {
            Ok(_) => agent.state.note_drain(false),
            Err(trouble) => tracing::warn!("the node stays drained: {trouble}"),
        }
    }
    Ok(())
}

/// Says that it is ready. Whoever started it may have stopped listening to it.
fn announce(agent: &Agent) {
    let settings = &agent.settings;
    let mut text = format!(
        "lockless-agent {} is node {} of {}\n",
        env!("CARGO_PKG_VERSION"),
        settings.node,
        settings.cell
    );
    if settings.allow.is_empty() {
        text.push_str(
            "No program is allowed: every job that names a command is refused (--allow PATH).\n",
        );
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
    tracing::info!(
        node = settings.node,
        incarnation = agent.node.standing().incarnation,
        mem_mb = agent.capacity.mem_mb,
        gpu_mb = agent.capacity.gpu_mb,
        "registered"
    );
}

async fn taken_over(agent: &Agent) {
    let mut standings = agent.node.standings();
    let _ = standings.wait_for(|standing| standing.is_taken_over).await;
}

/// Drains, waits, stops what is left, and leaves the cell.
async fn end(
    agent: &Arc<Agent>,
    signals: &mut Signals,
    mut tasks: JoinSet<()>,
    mut beside: JoinSet<()>,
) -> Result<(), String> {
    tracing::info!(
        jobs = agent.books.count(),
        "draining; a second signal stops what runs at once"
    );
    agent.state.note_drain(true);
    match timeout(CALLS_UNDER_WAY, agent.node.drain()).await {
        Ok(Ok(())) => {}
        Ok(Err(trouble)) => tracing::warn!("the node could not be drained: {trouble}"),
        Err(_) => tracing::warn!("the node could not be drained: the cell does not answer"),
    }
    agent.enter(Phase::Draining);
    tokio::select! {
        () = work_is_done(agent) => {}
        () = sleep(agent.settings.drain_timeout) => tracing::warn!(jobs = agent.books.count(), "the time for draining is over"),
        () = taken_over(agent) => {}
        () = signals.next() => tracing::warn!(jobs = agent.books.count(), "second signal: stopping what runs"),
    }
    agent.enter(Phase::Closing);
    agent.node.is_about_to_leave();
    // What they are handed now is stopped below.
    let _ = timeout(CALLS_UNDER_WAY, async {
        while tasks.join_next().await.is_some() {}
    })
    .await;
    tasks.shutdown().await;
    agent.books.stop_all(Stop::Shutdown);
    end_processes(agent).await;
    agent.deployments.close();
    end_deployments(agent).await;
    let is_heard = timeout(LAST_WORDS, agent.books.is_empty()).await.is_ok();
    beside.shutdown().await;
    let is_out = leave(agent).await;
    // What took too long above may be gone by now.
    let is_left = agent.books.count_alive() > 0
        || timeout(Duration::ZERO, agent.deployments.are_gone())
            .await
            .is_err();
    if is_left {
        return Err("some processes could not be ended; their guardians go on trying".to_owned());
    }
    if is_heard && is_out {
        agent.state.note_drain(false);
        tracing::info!("stopped");
        return Ok(());
    }
    Err(
        "nothing runs here any more, but the cell could not be told; it finds out when the node's time is up"
            .to_owned(),
    )
}

/// Returns when all that was dispatched before the drain has been taken, run and reported.
async fn work_is_done(agent: &Agent) {
    let takes = &agent.handings.takes;
    let begun = takes.begun() + 1;
    while !takes.is_over(begun) {
        sleep(Duration::from_millis(20)).await;
    }
    agent.books.has_no_processes().await;
    let _ = timeout(LAST_WORDS, agent.books.is_empty()).await;
}

/// Waits for processes that were told to end, as long as that should take.
async fn end_processes(agent: &Agent) {
    let _ = timeout(time_to_end(agent), agent.books.has_no_processes()).await;
}

/// The same for deployments.
async fn end_deployments(agent: &Agent) {
    let _ = timeout(time_to_end(agent), agent.deployments.are_gone()).await;
}

fn time_to_end(agent: &Agent) -> Duration {
    let settings = &agent.settings;
    settings.stop_grace + settings.kill_wait + Duration::from_secs(1)
}

/// Says whether the cell has heard that the node is gone.
async fn leave(agent: &Agent) -> bool {
    let mut tries = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
    let leaving = async {
        loop {
            match agent.node.say(Call::new("lockless_deregister")).await {
                Ok(_) => return,
                // Said twice, because the first answer got lost; or the node was lost before.
                Err(trouble) if matches!(trouble.code(), Some("UNKNOWN_NODE" | "STALE_NODE")) => {
                    return;
                }
                Err(trouble) => tracing::debug!("the node could not leave: {trouble}"),
            }
            sleep(tries.pause()).await;
        }
    };
    timeout(LAST_WORDS, leaving).await.is_ok()
}

/// A name for this process that no other has.
fn instance() -> Result<String, String> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes)
        .map_err(|error| format!("no name for this process can be made: {error}"))?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}
