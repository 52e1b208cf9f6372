//! The weights of the policy `resource_usage`, which are settings of the cell.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use super::Deploying;
use crate::agent::Agent;
use crate::cell::{Call, Trouble};
use crate::complaints::Complaints;
use crate::pace::Backoff;

/// Sets the cell's weights to those that the agent was started with, where they differ, and says so.
pub(crate) async fn set(agent: Arc<Agent>, deploying: Arc<Deploying>) {
    let given = [
        ("cpu_weight", deploying.cpu_weight),
        ("mem_weight", deploying.mem_weight),
    ];
    let given: Vec<(&'static str, f64)> = given
        .into_iter()
        .filter_map(|(name, weight)| Some((name, weight?)))
        .collect();
    if given.is_empty() {
        return;
    }
    let mut complaints = Complaints::about("setting the cell's weights");
    let mut tries = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
    loop {
        match set_once(&agent, &given).await {
            Ok(()) => return complaints.clear(),
            Err(Trouble::Refused(why)) => {
                let settings: Vec<String> = given
                    .iter()
                    .map(|(name, weight)| format!("{name} {weight}"))
                    .collect();
                tracing::warn!(
                    "the cell's weights stay as they are, this agent may not set them: {why}; have an operator call lockless_config {}",
                    settings.join(" ")
                );
                return;
            }
            Err(trouble) if !trouble.may_pass() => {
                tracing::warn!("the cell's weights stay as they are: {trouble}");
                return;
            }
            Err(trouble) => complaints.note(&trouble),
        }
        if agent.is_closing_within(Duration::ZERO).await {
            return;
        }
        sleep(tries.pause()).await;
    }
}

async fn set_once(agent: &Agent, given: &[(&'static str, f64)]) -> Result<(), Trouble> {
    let now = agent.node.ask(&Call::new("lockless_config")).await?;
    let is_other = |(name, weight): &(&'static str, f64)| now[*name].as_f64() != Some(*weight);
    let others: Vec<_> = given.iter().copied().filter(is_other).collect();
    if others.is_empty() {
        return Ok(());
    }
    let mut call = Call::new("lockless_config");
    for (name, weight) in &others {
        call = call.setting(name, weight);
    }
    let then = agent.node.ask(&call).await?;
    for (name, _) in others {
        let shown = |settings: &Value| settings[name].to_string();
        tracing::info!(
            setting = name,
            before = shown(&now),
            now = shown(&then),
            "set a weight of the cell"
        );
    }
    Ok(())
}
