//! Makes the large cell.

use redis::Connection;

use crate::Error;
use crate::run::Run;
use crate::wire::fcall;

use super::{CLASSES, ROOT};

/// How large the cell is.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) nodes: usize,
    /// Jobs on nodes.
    pub(super) dispatched: usize,
    /// Jobs that wait.
    pub(super) queued: usize,
    pub(super) deployments: usize,
}

/// The size that is promised.
pub(super) const FULL: Size = Size {
    nodes: 10_000,
    dispatched: 50_000,
    queued: 50_000,
    deployments: 2000,
};

/// A quarter of it, for the checks of a change.
pub(super) const QUICK: Size = Size {
    nodes: 1000,
    dispatched: 5000,
    queued: 5000,
    deployments: 1000,
};

const SLOTS: usize = 8;
pub(super) const POOLS: usize = 10;
pub(super) const LABELS: usize = 20;
/// As many combinations of wishes as a cell takes.
const QUEUES: usize = 1000;
/// Calls that are sent at once.
const BATCH: usize = 500;

/// Sends calls to a cell, given as lines, many at a time; all must succeed.
pub(super) fn send(
    run: &Run,
    connection: &mut Connection,
    root: &str,
    lines: impl Iterator<Item = String>,
) -> Result<(), Error> {
    let lines: Vec<String> = lines.collect();
    for batch in lines.chunks(BATCH) {
        run.check()?;
        let mut pipe = redis::pipe();
        for line in batch {
            let mut words = line.split_whitespace();
            let function = words.next().unwrap_or_default();
            let args: Vec<String> = words.map(str::to_owned).collect();
            pipe.add_command(fcall(root, function, &args)).ignore();
        }
        pipe.exec(connection).map_err(|source| Error::Command {
            command: format!("{} and so on", batch[0]),
            source,
        })?;
    }
    Ok(())
}

/// Fills the cell, and says with what.
pub(super) fn cell(run: &Run, connection: &mut Connection, size: Size) -> Result<String, Error> {
    let settings = "config heartbeat_ttl_ms 1800000 events_max 100000";
    send(run, connection, ROOT, [settings.to_owned()].into_iter())?;
    let node = |number: usize| {
        format!(
            "register n{number} {SLOTS} POOL p{} LABEL l{} PAIR en fr REGION r{}",
            number % POOLS,
            number % LABELS,
            number % 3
        )
    };
    send(run, connection, ROOT, (0..size.nodes).map(node))?;
    let dispatched = |number: usize| {
        let ack = if number.is_multiple_of(10) {
            " ACK 600000"
        } else {
            ""
        };
        format!(
            "dispatch s{number} en fr payload JOB d{number} POOL p{}{ack}",
            number % POOLS
        )
    };
    send(run, connection, ROOT, (0..size.dispatched).map(dispatched))?;
    let submitted = |number: usize| {
        let delay = if number.is_multiple_of(5) {
            " DELAY 3000000"
        } else {
            ""
        };
        // A pool and a label of their own for some, so that there are as many queues as may be.
        let wish = number % (QUEUES - 10);
        format!(
            "submit q{number} payload POOL p{} REQUIRE l{} REGION x{wish} PRIORITY {}{delay}",
            wish % POOLS,
            wish % LABELS,
            number % 100
        )
    };
    send(run, connection, ROOT, (0..size.queued / 2).map(submitted))?;
    // Those that nodes can run.
    let runnable = |number: usize| {
        let pool = number % POOLS;
        format!("submit w{number} payload POOL p{pool} PRIORITY 500")
    };
    send(run, connection, ROOT, (0..size.queued / 2).map(runnable))?;
    let deployed = |number: usize| format!("deploy d{number} POOL p{}", number % POOLS);
    send(run, connection, ROOT, (0..size.deployments).map(deployed))?;
    Ok(format!(
        "{} nodes, {} jobs on them, {} waiting in {QUEUES} queues, {} deployments",
        size.nodes, size.dispatched, size.queued, size.deployments
    ))
}

/// Fills the cell in which no node is like another, and says with what.
pub(super) fn classes(run: &Run, connection: &mut Connection, size: Size) -> Result<String, Error> {
    let settings = "config heartbeat_ttl_ms 1800000".to_owned();
    send(run, connection, CLASSES, [settings].into_iter())?;
    let node = |number: usize| format!("register n{number} {SLOTS} POOL p LABEL own{number}");
    send(run, connection, CLASSES, (0..size.nodes).map(node))?;
    let dispatched = |number: usize| format!("dispatch s{number} - - payload JOB d{number}");
    send(run, connection, CLASSES, (0..size.nodes).map(dispatched))?;
    let submitted = |number: usize| format!("submit q{number} payload POOL p");
    send(run, connection, CLASSES, (0..size.nodes).map(submitted))?;
    Ok(format!(
        "{0} nodes that are a class each, {0} jobs on them, {0} waiting",
        size.nodes
    ))
}
