//! One deployment on this node: it runs, is started again, and is stopped when it is wanted no more or otherwise.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::Deploying;
use super::book::{Wanted, Wish};
use super::spec::Spec;
use crate::agent::Agent;
use crate::guarded::{Ending, Guarded};
use crate::logfile::LogFile;
use crate::order::order;
use crate::output::Output;

/// Looks after a deployment until it is wanted no more and nothing of it is left.
pub(crate) async fn look_after(
    agent: Arc<Agent>,
    deploying: Arc<Deploying>,
    id: String,
    mut wishes: watch::Receiver<Wish>,
) {
    loop {
        let wish = wishes.borrow_and_update().clone();
        match wish {
            Some(wanted) => keep_running(&agent, &deploying, &id, &wanted, &mut wishes).await,
            None if agent.deployments.leave(&id) => return,
            None => {}
        }
    }
}

/// Runs a revision until something else is wanted. When this returns nothing of it is left.
async fn keep_running(
    agent: &Agent,
    deploying: &Deploying,
    id: &str,
    wanted: &Wanted,
    wishes: &mut watch::Receiver<Wish>,
) {
    let revision = wanted.revision;
    let spec = match Spec::read(&wanted.spec, &agent.settings.allow) {
        Ok(spec) => spec,
        Err(why) => {
            tracing::warn!(deployment = id, revision, "not run: {why}");
            let _ = wishes.changed().await;
            return;
        }
    };
    if agent.settings.dry_run {
        tracing::info!(deployment = id, revision, program = %spec.command.program.display(), "would start (dry run)");
        let _ = wishes.changed().await;
        return;
    }
    let log = LogFile::new(
        &deploying.log_dir,
        id,
        deploying.log_max_bytes,
        deploying.log_files,
    );
    let log = Output::Log(Arc::new(Mutex::new(log)));
    let mut pauses = spec.pauses();
    loop {
        let began = Instant::now();
        let End::Itself(is_success) = run_once(agent, id, revision, &spec, &log, wishes).await
        else {
            return;
        };
        if !spec.is_started_again(is_success) {
            tracing::info!(deployment = id, revision, restart = ?spec.restart, "is not started again");
            let _ = wishes.changed().await;
            return;
        }
        if spec.ran_well(began.elapsed()) {
            pauses = spec.pauses();
        }
        let pause = pauses.pause();
        tracing::info!(
            deployment = id,
            revision,
            after_ms = pause.as_millis(),
            "is started again"
        );
        tokio::select! {
            () = sleep(pause) => {}
            _ = wishes.changed() => return,
        }
    }
}

/// How a run came to its end.
enum End {
    /// By itself, well or not.
    Itself(bool),
    /// Because something else is wanted.
    Wish,
}

async fn run_once(
    agent: &Agent,
    id: &str,
    revision: u64,
    spec: &Spec,
    log: &Output,
    wishes: &mut watch::Receiver<Wish>,
) -> End {
    let own = [
        ("LOCKLESS_DEPLOYMENT_ID", id.to_owned()),
        ("LOCKLESS_REVISION", revision.to_string()),
    ];
    let order = order(&agent.settings, &spec.command, own);
    let run = agent.deployment_run_id();
    let mut guarded = match Guarded::start(&agent.state, id, run, order, log.clone()).await {
        Ok(guarded) => guarded,
        Err(why) => {
            tracing::warn!(deployment = id, revision, "not started: {why}");
            return End::Itself(false);
        }
    };
    let pid = guarded.pid();
    tracing::info!(deployment = id, revision, pid, program = %spec.command.program.display(), "started");
    tokio::select! {
        _ = guarded.ended() => {
            let ending = guarded.ending().await;
            say(id, revision, ending, "ended");
            End::Itself(ending.exit_code == Some(0))
        }
        _ = wishes.changed() => {
            tracing::info!(deployment = id, revision, pid, "stopping");
            stop(agent, id, &mut guarded).await;
            say(id, revision, guarded.ending().await, "stopped");
            End::Wish
        }
    }
}

/// Has it stopped, and returns when nothing of it is left, however long that takes.
async fn stop(agent: &Agent, id: &str, guarded: &mut Guarded) {
    guarded.ask_to_stop();
    let time: Duration = agent.settings.stop_grace + agent.settings.kill_wait;
    let mut complain_at = Instant::now() + time;
    loop {
        tokio::select! {
            _ = guarded.ended() => return,
            () = sleep_until(complain_at) => {
                tracing::error!(deployment = id, pid = guarded.pid(), "its processes can't be ended");
                complain_at = Instant::now() + time;
            }
        }
    }
}

fn say(id: &str, revision: u64, ending: Ending, how: &str) {
    tracing::info!(
        deployment = id,
        revision,
        exit = ending.exit_code,
        signal = ending.signal,
        ms = ending.ms,
        "{how}"
    );
}
