//! A slot on its way, as callers of a gateway meet it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use lockless_topology::slot_of_key;

use super::super::http::Caller;
use super::super::http_load::{HttpLoad, joined, new_cell};
use super::super::programs::Program;
use super::super::route::ToCluster;
use super::super::servers::Cluster;
use super::HALF_WAY;
use crate::Error;
use crate::outcome::{Outcome, Rule, Violation};
use crate::run::Run;
use crate::wire::Route;

const READY_WITHIN: Duration = Duration::from_secs(15);
/// What a gateway may answer meanwhile, with the word that nothing was done.
const REFUSALS: [&str; 2] = ["503 CELL_MOVING", "503 REDIS_AWAY"];

/// Moves a slot that a gateway's callers use. What it acknowledged is there, and what it refused is not.
pub(super) fn place(
    run: &Run,
    cluster: &Arc<Cluster>,
    moves: u64,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let url = cluster.nodes()[0].url();
    let cells = ["--cell", "faults:{main}", "--cell", "faults:{*}"];
    let arguments = [&["--redis", url.as_str()], cells.as_slice()].concat();
    let gateway = Program::gateway(run, None, "gateway", &arguments)?;
    let caller = Caller::new(gateway.address(), Duration::from_secs(5));
    run.wait_for("a ready gateway", READY_WITHIN, || caller.is_ready())?;
    let primaries = cluster.primaries();
    let cell = new_cell(cluster, primaries[0], "by-gateway")?;
    let is_over = AtomicBool::new(false);
    let load = HttpLoad {
        namespace: None,
        address: gateway.address(),
        cell: &cell,
        is_durable: false,
        is_over: &is_over,
        placed: AtomicU64::new(0),
    };
    let placed = thread::scope(|scope| {
        let calling = scope.spawn(|| load.run());
        let moved = (0..moves).try_for_each(|number| {
            run.pause(Duration::from_millis(200))?;
            let to = primaries[(number as usize + 1) % 2];
            cluster.move_slot(run, slot_of_key(&cell), to, || sleep(HALF_WAY))?;
            outcome.rounds += 1;
            Ok(())
        });
        is_over.store(true, Ordering::Relaxed);
        moved.and_then(|()| joined(calling))
    })?;
    let tally = &mut outcome.protected;
    let mut wire = ToCluster::new(cluster, Duration::ZERO).open();
    tally.add(placed.acknowledged.judged(wire.as_mut())?);
    let mut wrong = |sentence| tally.violations.push(Violation::new(Rule::Fault, sentence));
    for job in &placed.refused {
        if wire
            .call(&cell, "job", std::slice::from_ref(job))
            .reply()
            .is_some()
        {
            wrong(format!(
                "the gateway said that nothing was done, and {job} is there"
            ));
        }
    }
    for (code, count) in &placed.codes {
        if !REFUSALS.contains(&code.as_str()) {
            wrong(format!("the gateway answered {code} {count} times"));
        }
    }
    outcome.notes.push(format!(
        "a gateway placed {} of {} jobs while their slot moved, and said of the others that nothing was done, which is so: {:?}",
        placed.acknowledged.jobs.len(),
        placed.acknowledged.asked.len(),
        placed.codes
    ));
    Ok(())
}
