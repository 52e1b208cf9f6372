//! The turns of a node that runs deployments: it claims what is free, and runs what the cell says that it has.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::book::{Assigned, Wanted};
use super::{Deploying, run};
use crate::agent::Agent;
use crate::cell::{Call, Trouble};
use crate::complaints::Complaints;
use crate::loops::until_answered;
use crate::node::Standing;
use crate::pace::at_most;

/// As many as a claim may name. More are no loss: what is assigned decides what runs.
const NAMED: usize = 1024;
/// A node that got something comes back after this part of the interval.
const SOON: u32 = 10;

/// Claims until the agent ends.
pub(crate) async fn claim(agent: Arc<Agent>, deploying: Arc<Deploying>) {
    let mut complaints = Complaints::about("a claim");
    let mut reading = Complaints::about("reading a deployment");
    let mut hurry_until = Instant::now();
    let mut standings = agent.node.standings();
    loop {
        let epoch = standings.borrow_and_update().epoch;
        let call = Call::new("lockless_claim")
            .maybe("policy", deploying.policy)
            .each("running", agent.deployments.ids().into_iter().take(NAMED));
        let mut is_whole = false;
        if let Some(reply) = until_answered(&agent, epoch, call, &mut complaints, None).await {
            tracing::debug!(%reply, "claimed");
            let claimed = reply["claimed"].as_str().unwrap_or_default();
            if !claimed.is_empty() {
                tracing::info!(deployment = claimed, "claimed");
                hurry_until = Instant::now() + deploying.interval;
            }
            is_whole = converge(&agent, &deploying, epoch, &reply, &mut reading).await;
        }
        let pause = if is_whole && Instant::now() >= hurry_until {
            at_most(deploying.interval)
        } else {
            at_most(deploying.interval / SOON)
        };
        tokio::select! {
            is_closing = agent.is_closing_within(pause) => if is_closing { return },
            // A node that was lost asks at once what it has now.
            () = epoch_is_over(&mut standings, epoch) => {}
        }
    }
}

async fn epoch_is_over(standings: &mut watch::Receiver<Standing>, epoch: u64) {
    let is_over = standings.wait_for(|standing| standing.epoch != epoch);
    if is_over.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Runs what a reply assigns, and nothing else. Says whether all of it is known.
async fn converge(
    agent: &Arc<Agent>,
    deploying: &Arc<Deploying>,
    epoch: u64,
    reply: &Value,
    reading: &mut Complaints,
) -> bool {
    let assigned = assigned(&reply["assigned"]);
    let Some(unknown) = agent.deployments.keep_only(epoch, &assigned) else {
        return true;
    };
    let mut is_whole = true;
    for (id, revision) in unknown {
        let wanted = if reply["claimed"] == id.as_str() {
            let spec = reply["spec"].clone();
            Wanted { revision, spec }
        } else {
            match read(agent, epoch, &id).await {
                Ok(wanted) => {
                    reading.clear();
                    wanted
                }
                Err(trouble) => {
                    reading.note(&trouble);
                    is_whole = false;
                    continue;
                }
            }
        };
        if let Some(wishes) = agent.deployments.want(epoch, &id, wanted) {
            let (agent, deploying) = (Arc::clone(agent), Arc::clone(deploying));
            tokio::spawn(run::look_after(agent, deploying, id, wishes));
        }
    }
    is_whole
}

/// What a deployment is now; the next claim says whether the node still has it.
async fn read(agent: &Agent, epoch: u64, id: &str) -> Result<Wanted, Trouble> {
    let call = Call::new("lockless_deployment").with("id", id);
    let reply = agent.node.say_in(epoch, call).await?;
    Ok(Wanted {
        revision: reply["revision"].as_u64().unwrap_or_default(),
        spec: reply["spec"].clone(),
    })
}

/// What a reply says that the node has.
pub(crate) fn assigned(list: &Value) -> Assigned {
    let entries = list.as_array().into_iter().flatten();
    let pairs = entries.filter_map(|entry| {
        let id = entry["id"].as_str()?.to_owned();
        Some((id, entry["revision"].as_u64()?))
    });
    pairs.collect()
}
