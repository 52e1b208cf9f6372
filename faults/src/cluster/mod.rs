//! Faults of a Cluster, of the network, of gateway and agent.

mod agent_halted;
mod agent_killed;
mod desk;
mod failover;
mod gateway_killed;
mod halted;
mod http;
mod http_load;
mod library;
mod moving;
mod network;
mod node;
mod parted;
mod programs;
mod promotions;
mod proxy;
mod queued;
mod route;
mod servers;
mod slots;
mod slow_sockets;
mod trial;
mod weather;

use std::time::Duration;

use crate::fault::Fault;

/// All of them, in the order they are run.
pub const FAULTS: &[Fault] = &[
    failover::FAULT,
    halted::FAULT,
    parted::FAULT,
    moving::FAULT,
    library::FAULT,
    gateway_killed::FAULT,
    agent_halted::FAULT,
    agent_killed::FAULT,
    weather::FAULT,
    slow_sockets::FAULT,
];

/// How long cells took no work, in a sentence.
fn outages(lasted: &mut [Duration]) -> String {
    lasted.sort_unstable();
    let half = lasted.get(lasted.len() / 2).copied().unwrap_or_default();
    let longest = lasted.last().copied().unwrap_or_default();
    format!(
        "no work was confirmed in the cell that was hit for {:.1} s in half of the rounds or less, for {:.1} s at most",
        half.as_secs_f64(),
        longest.as_secs_f64()
    )
}
