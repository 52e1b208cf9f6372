//! One run of one job, from its being handed out to its report.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::agent::Agent;
use crate::books::{Source, Stop, Wish};
use crate::cell::Call;
use crate::guarded::Guarded;
use crate::order::order;
use crate::outcome::Outcome;
use crate::output::{Output, Tail};
use crate::payload;
use crate::report::Report;

/// Later than anyone waits.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// A job as the cell hands it out.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// Its id.
    pub(crate) job: String,
    /// What it is to do.
    pub(crate) payload: Value,
    /// How often it was handed out.
    pub(crate) attempt: u64,
    /// When its run limit passes, by the cell's clock.
    pub(crate) deadline_ts: u64,
    /// How it came.
    pub(crate) source: Source,
    /// The epoch in which it did.
    pub(crate) epoch: u64,
}

/// Why a run that had begun was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Wish(Stop),
    Limit,
}

impl Item {
    /// Reads a job item of a reply. A payload that is no JSON comes as text with its encoding beside it.
    pub(crate) fn read(item: &Value, source: Source, epoch: u64) -> Self {
        let is_json = item.get("payload_encoding").is_none();
        Self {
            job: item["job_id"].as_str().unwrap_or_default().to_owned(),
            payload: if is_json {
                item["payload"].clone()
            } else {
                Value::Null
            },
            attempt: item["attempt"].as_u64().unwrap_or_default(),
            deadline_ts: item["deadline_ts"].as_u64().unwrap_or_default(),
            source,
            epoch,
        }
    }
}

/// Runs a job and reports it. `number` is its place in the books.
pub(crate) async fn run(agent: Arc<Agent>, item: Item, number: u64, wishes: watch::Receiver<Wish>) {
    agent.books.earlier_ones_are_over(&item.job, number).await;
    let report = carry_out(&agent, &item, number, wishes).await;
    agent.books.note_processes(number, false);
    if let Some(report) = report {
        report.deliver(&agent, &item).await;
    }
    agent.books.leave(number);
}

async fn carry_out(
    agent: &Agent,
    item: &Item,
    number: u64,
    mut wishes: watch::Receiver<Wish>,
) -> Option<Report> {
    if let Some(stop) = *wishes.borrow_and_update() {
        return Report::of_stop(stop, item.source, None);
    }
    let job = &item.job;
    let command = match payload::read(&item.payload, &agent.settings.allow, agent.capacity) {
        Ok(command) => command,
        Err(why) => {
            tracing::warn!(job, attempt = item.attempt, "refused: {why}");
            return Some(Report::Failed(why, None));
        }
    };
    if agent.settings.dry_run {
        tracing::info!(job, attempt = item.attempt, program = %command.program.display(), "would start (dry run)");
        let stop = tokio::select! {
            () = agent.next_turn() => None,
            Ok(()) = wishes.changed() => *wishes.borrow_and_update(),
        };
        return stop.map_or(Some(Report::DryRun), |stop| {
            Report::of_stop(stop, item.source, None)
        });
    }
    tokio::select! {
        () = shorten_limit(agent, item, command.timeout) => {}
        Ok(()) = wishes.changed() => {}
    }
    // Nothing may run that is not in the books. Whoever wants it stopped from here on waits for it, so that is looked at after.
    agent.books.note_processes(number, true);
    if let Some(stop) = *wishes.borrow_and_update() {
        return Report::of_stop(stop, item.source, None);
    }
    let own = [
        ("LOCKLESS_JOB_ID", item.job.clone()),
        ("LOCKLESS_ATTEMPT", item.attempt.to_string()),
    ];
    let order = order(&agent.settings, &command, own);
    let run = agent.run_id(number);
    let tail = Arc::new(Mutex::new(Tail::default()));
    let output = Output::Tail(Arc::clone(&tail));
    match Guarded::start(&agent.state, job, run, order, output).await {
        Ok(guarded) => {
            tracing::info!(
                job,
                attempt = item.attempt,
                pid = guarded.pid(),
                program = %command.program.display(),
                "started"
            );
            watch_over(agent, item, (guarded, &tail), command.timeout, wishes).await
        }
        Err(why) => {
            tracing::warn!(job, attempt = item.attempt, "not started: {why}");
            Some(Report::Failed(why, None))
        }
    }
}

/// Sees a run to its end, whoever brings it about.
async fn watch_over(
    agent: &Agent,
    item: &Item,
    (mut guarded, tail): (Guarded, &Mutex<Tail>),
    timeout: Option<Duration>,
    mut wishes: watch::Receiver<Wish>,
) -> Option<Report> {
    let limit = Instant::now() + timeout.unwrap_or(NEVER);
    let mut cause = None;
    let mut is_asked = false;
    let mut give_up_at = None;
    loop {
        tokio::select! {
            _ = guarded.ended() => break,
            Ok(()) = wishes.changed() => {
                if let Some(stop) = *wishes.borrow_and_update() {
                    is_asked |= stop == Stop::Asked;
                    cause = match cause {
                        Some(Cause::Limit) if stop == Stop::Asked => cause,
                        _ => Some(Cause::Wish(stop)),
                    };
                }
            }
            () = sleep_until(limit), if cause.is_none() => cause = Some(Cause::Limit),
            () = sleep_until(give_up_at.unwrap_or(limit)), if give_up_at.is_some() => {
                tracing::error!(job = item.job, pid = guarded.pid(), "its processes can't be ended");
                if is_asked {
                    tell_that_it_can_not_be_stopped(agent, item).await;
                }
                give_up_at = Some(Instant::now() + agent.settings.stop_grace + agent.settings.kill_wait);
            }
        }
        if let Some(cause) = cause
            && give_up_at.is_none()
        {
            tracing::info!(job = item.job, pid = guarded.pid(), why = ?cause, "stopping");
            guarded.ask_to_stop();
            give_up_at =
                Some(Instant::now() + agent.settings.stop_grace + agent.settings.kill_wait);
        }
    }
    let mut is_stuck = false;
    let ending = loop {
        if let Some(ending) = guarded.try_ending().await {
            break ending;
        }
        is_stuck = true;
        tracing::error!(
            job = item.job,
            "its guardian was lost, and its processes can't be ended"
        );
        tell_that_it_can_not_be_stopped(agent, item).await;
    };
    if is_stuck && cause.is_none() {
        cause = wishes.borrow().map(Cause::Wish);
    }
    let outcome = Outcome::new(ending, &tail.lock().unwrap_or_else(PoisonError::into_inner));
    tracing::info!(
        job = item.job,
        attempt = item.attempt,
        exit = outcome.exit_code,
        signal = outcome.signal,
        ms = outcome.ms,
        "{}",
        if cause.is_some() { "stopped" } else { "ended" }
    );
    report(cause, item.source, outcome, timeout)
}

fn report(
    cause: Option<Cause>,
    source: Source,
    outcome: Outcome,
    timeout: Option<Duration>,
) -> Option<Report> {
    match cause {
        Some(Cause::Wish(stop)) => Report::of_stop(stop, source, Some(outcome)),
        Some(Cause::Limit) => {
            let ms = timeout.unwrap_or_default().as_millis();
            Some(Report::Failed(
                format!("its time limit of {ms} ms passed"),
                Some(outcome),
            ))
        }
        None if outcome.is_success() => Some(Report::Finished(outcome)),
        None => Some(Report::Failed(outcome.reason(), Some(outcome))),
    }
}

/// Said each time that the cell could expect it to be gone; until it is, it stays in the books.
async fn tell_that_it_can_not_be_stopped(agent: &Agent, item: &Item) {
    let call = Call::new("lockless_stopped")
        .with("job", &item.job)
        .with("attempt", item.attempt)
        .with("outcome", "failed");
    if let Err(trouble) = agent.node.say_in(item.epoch, call).await {
        tracing::debug!(
            job = item.job,
            "that it can't be stopped was not heard: {trouble}"
        );
    }
}

/// Tells the cell of a limit that is shorter than the one it knows. If that fails, the limit holds here all the same.
async fn shorten_limit(agent: &Agent, item: &Item, timeout: Option<Duration>) {
    let Some(ms) = timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok()) else {
        return;
    };
    // By this machine's clock, which may differ from the cell's: the limit of a payload is not for prolonging a job.
    let now_ms = std::time::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default()
        .as_millis();
    if u128::from(item.deadline_ts) <= now_ms + u128::from(ms) {
        return;
    }
    let call = Call::new("lockless_extend")
        .with("job", &item.job)
        .with("attempt", item.attempt)
        .with("ms", ms);
    if let Err(trouble) = agent.node.say_in(item.epoch, call).await {
        tracing::debug!(
            job = item.job,
            "its time limit was not told to the cell: {trouble}"
        );
    }
}
