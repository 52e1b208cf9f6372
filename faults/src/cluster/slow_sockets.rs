//! A thousand callers of a gateway that are slow on purpose, beside others that are not.

mod latency;
mod memory;
mod sockets;

use std::time::Duration;

use super::desk::{CELL, Desk};
use super::http::Caller;
use super::programs::Program;
use crate::Error;
use crate::fault::Fault;
use crate::outcome::{Outcome, Rule, Violation};
use crate::run::Run;

pub(super) const FAULT: Fault = Fault {
    name: "slow",
    summary: "1,000 sockets that send heads and bodies byte by byte, or never read: others are served, and memory is bounded.",
    control: "none: the same requests without slow sockets are the measure that it is held to, and nothing is there to be lost.",
    quick_limit: Duration::from_secs(120),
    full_limit: Duration::from_secs(300),
    run,
};

const SOCKETS: usize = 1000;
const READY_WITHIN: Duration = Duration::from_secs(15);
/// What the gateway may take with all of them, whatever they send.
const MEMORY_BYTES: u64 = 256 << 20;
/// Of each body all but the last byte is sent.
const BODY_BYTES: usize = 1_000_000;

fn run(run: &Run) -> Result<Outcome, Error> {
    let mut desk = Desk::start(run)?;
    desk.ask("config", "heartbeat_ttl_ms 1800000 keep_finished_ms 1000")?;
    desk.ask("register", "n1 1000")?;
    let gateway = Program::gateway(run, None, "gateway", &["--redis", &desk.url()])?;
    let caller = Caller::new(gateway.address(), Duration::from_secs(5));
    run.wait_for("a ready gateway", READY_WITHIN, || caller.is_ready())?;
    let mut outcome = Outcome::default();
    let idle_bytes = gateway.memory_bytes()?;

    latency::compare(run, &gateway, &mut outcome)?;
    let most_bytes = memory::fill(run, &gateway, &mut outcome)?;
    let mib = |bytes: u64| bytes >> 20;
    outcome.notes.push(format!(
        "memory: {} MiB idle, {} MiB with {SOCKETS} bodies of {BODY_BYTES} bytes that do not end",
        mib(idle_bytes),
        mib(most_bytes)
    ));
    if most_bytes > MEMORY_BYTES {
        let sentence = format!(
            "the gateway took {} MiB, more than {}",
            mib(most_bytes),
            mib(MEMORY_BYTES)
        );
        outcome
            .protected
            .violations
            .push(Violation::new(Rule::Fault, sentence));
    }
    // It is none the worse for it.
    let took = run.wait_for("an answer", READY_WITHIN, || {
        let page = caller.dispatch(CELL, "after", false)?;
        if page.is_ok() { Ok(()) } else { Err(page.body) }
    })?;
    outcome.recovered_in(took);
    outcome.protected.violations.extend(desk.unsound()?);
    Ok(outcome)
}
