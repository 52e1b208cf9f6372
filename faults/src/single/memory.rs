//! `maxmemory` is reached under load.

use std::sync::Arc;
use std::time::Duration;

use crate::Error;
use crate::history::{Durability, Injury, Recorder};
use crate::load::{self, Load, Plan};
use crate::outcome::{Outcome, Rule, Violation};
use crate::rules::{self, Verdict};
use crate::run::Run;
use crate::server::{Server, Settings};

const DRAIN: Duration = Duration::from_secs(40);
const CONTROL_DRAIN: Duration = Duration::from_secs(2);
/// How long the server stays full.
const FULL: Duration = Duration::from_millis(1500);
/// How long it may take until it is.
const FILLING: Duration = Duration::from_secs(20);
/// What is left when the limit is set.
const ROOM_BYTES: u64 = 400_000;

pub(super) fn run(run: &Run) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    for round in 0..run.rounds(1, 10) {
        let life = format!("full-{round}");
        let verdict = live(run, &life, "noeviction")?;
        outcome.rounds += 1;
        outcome.protected.add(verdict.tally);
        if let Some(took) = verdict.recovery {
            outcome.recovered_in(took);
        }
    }
    outcome.control = Some(live(run, "control", "allkeys-random")?.tally);
    outcome.notes.push(
        "A full server refuses `dispatch`, `submit`, `bind`, `register` and `reserve`; nodes go on speaking, taking, ending and giving \
         back, so it drains."
            .to_owned(),
    );
    Ok(outcome)
}

fn used_bytes(server: &Server) -> Result<u64, Error> {
    let info = crate::wire::Answer::from_redis(server.ask("INFO memory")?).text();
    let used = info
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    used.and_then(|used| used.trim().parse().ok())
        .ok_or_else(|| Error::Call {
            call: "INFO memory".to_owned(),
            said: info.clone(),
        })
}

/// Fills a server, keeps it full for a while, and gives it room again.
fn live(run: &Run, life: &str, policy: &str) -> Result<Verdict, Error> {
    let mut random = run.random(life.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte)));
    let mut plan = Plan::small("scheduler:{memory}", random.u64(..));
    plan.payload_bytes = 2000;
    let arguments = format!("--maxmemory-policy {policy}");
    let server = Server::start(run, Settings::new(run.directory().join(life), &arguments))?;
    server.load_library()?;
    let route = server.route();
    load::prepare(&plan, route.as_ref())?;
    let recorder = Recorder::new(Durability::Answered, plan.heartbeat_ttl_ms);
    let load = Load::start(plan.clone(), route.clone(), &recorder);
    run.pause(Duration::from_millis(random.u64(200..800)))?;
    let limit = used_bytes(&server)? + ROOM_BYTES;
    server.order(run, &format!("CONFIG SET maxmemory {limit}"))?;
    let begin_us = recorder.now_us();
    let evicts = policy != "noeviction";
    let mut kept_on = Vec::new();
    if evicts {
        run.pause(2 * FULL)?;
    } else {
        run.wait_for("a refusal for want of memory", FILLING, || {
            let count = recorder.count();
            let is_oom =
                recorder.latest(|record| (record.said.code() == Some("OOM")).then_some(()));
            is_oom.ok_or_else(|| format!("{count} calls, none was"))
        })?;
        let full_us = recorder.now_us();
        run.pause(FULL)?;
        kept_on = gave_nothing_back(&recorder, full_us);
    }
    server.order(run, "CONFIG SET maxmemory 0")?;
    recorder.note(Injury {
        begin_us,
        mended_us: recorder.now_us(),
        healed_us: recorder.now_us(),
        moves_time: false,
    });
    run.pause(Duration::from_millis(500))?;
    let patience = if evicts { CONTROL_DRAIN } else { DRAIN };
    match load.drain(run, patience) {
        // With part of its keys evicted a cell need not come to an end.
        Err(Error::Waited { .. } | Error::Call { .. }) if evicts => {}
        other => other?,
    }
    let mut verdict = match rules::verdict(run, &plan, route.as_ref(), &recorder) {
        Err(Error::Call { call, said }) if evicts => evicted(&recorder, &call, &said),
        other => other?,
    };
    verdict.tally.violations.extend(kept_on);
    run.say_found(&verdict.tally.violations);
    run.say(format_args!(
        "{life}: {} calls, {} refused for want of memory, {} found wrong",
        verdict.tally.operations,
        refused(&recorder),
        verdict.tally.violations.len(),
    ));
    Ok(verdict)
}

/// A cell with keys evicted may answer nothing at all: that is a loss too.
fn evicted(recorder: &Arc<Recorder>, call: &str, said: &str) -> Verdict {
    let history = recorder.history();
    Verdict {
        tally: crate::outcome::Tally {
            operations: history.records.len() as u64,
            maybes: history.maybes(),
            violations: vec![Violation::new(Rule::Sound, format!("{call}: {said}"))],
        },
        recovery: None,
        overtaken: 0,
    }
}

fn refused(recorder: &Recorder) -> usize {
    let history = recorder.history();
    let refused = history.records.iter();
    refused
        .filter(|record| record.said.code() == Some("OOM"))
        .count()
}

/// Calls that keep or give back capacity, and were refused while the server was full.
fn gave_nothing_back(recorder: &Recorder, full_us: u64) -> Vec<Violation> {
    const GIVE_BACK: [&str; 10] = [
        "complete",
        "release",
        "cancel",
        "stopped",
        "unbind",
        "heartbeat",
        "take",
        "renew",
        "holds",
        "job",
    ];
    let history = recorder.history();
    let after = history.records.iter().filter(|one| one.start_us > full_us);
    let (of_them, others): (Vec<_>, Vec<_>) =
        after.partition(|record| GIVE_BACK.contains(&record.function));
    let mut found: Vec<Violation> = of_them
        .iter()
        .filter(|record| record.said.code() == Some("OOM"))
        .map(|record| {
            Violation::new(
                Rule::Fault,
                format!("a full server refused {}", record.line()),
            )
        })
        .collect();
    if !others
        .iter()
        .any(|record| record.said.code() == Some("OOM"))
    {
        found.push(Violation::new(Rule::Fault, "the server was not full"));
    }
    found
}
