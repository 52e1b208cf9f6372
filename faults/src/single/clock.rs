//! The server's clock jumps, by two minutes or a day, forwards or backwards, under load.

mod guests;
pub(super) mod shim;

use std::time::Duration;

use lockless_functions::LIBRARY;

use crate::Error;
use crate::history::{Durability, Injury, Recorder};
use crate::load::{self, Load, Plan};
use crate::outcome::{Outcome, Rule, Violation};
use crate::rules::{self, Verdict, cell};
use crate::run::Run;
use crate::server::{Server, Settings};
use crate::wire::{Answer, Route};
use guests::Guests;
use shim::Shim;

const MINUTES_MS: i64 = 2 * 60 * 1000;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Each cell sees two jumps: out, and back or further.
const JUMPS: [[i64; 2]; 6] = [
    [DAY_MS, -DAY_MS],
    [MINUTES_MS, -MINUTES_MS],
    [-MINUTES_MS, MINUTES_MS],
    [-DAY_MS, DAY_MS],
    [MINUTES_MS, DAY_MS],
    [-MINUTES_MS, DAY_MS],
];
const DRAIN: Duration = Duration::from_secs(40);
/// How long the guests stay after a jump forwards, and after one backwards.
const AFTER_MS: u64 = guests::TTL_MS * 3 / 2;
const STILL_MS: u64 = 1000;
const GUESTS: &str = "scheduler:{guests}";

pub(super) fn run(run: &Run) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let rounds = run.rounds(1, 12);
    let mut overtaken = 0;
    for round in 0..rounds {
        let jumps = JUMPS[usize::try_from(round).unwrap_or(0) % JUMPS.len()];
        let verdict = live(run, &format!("jumps-{round}"), jumps, LIBRARY)?;
        outcome.rounds += jumps.len() as u64;
        overtaken += verdict.overtaken;
        outcome.protected.add(verdict.tally);
        if let Some(took) = verdict.recovery {
            outcome.recovered_in(took);
        }
    }
    // The same library without the rule that an outage is no loss.
    let without = LIBRARY.replacen("local OUTAGE_MS = 10000", "local OUTAGE_MS = 1e15", 1);
    let control = live(run, "control", [DAY_MS, -DAY_MS], &without)?;
    outcome.control = Some(control.tally);
    outcome.notes.push(
        "Whoever speaks within one heartbeat_ttl_ms of a jump forwards goes on: nodes, sessions that renew, jobs that are extended, reservations that \
         are acknowledged. What the jump overtakes and nobody speaks for ends after that: at most the run limits and leases that end within the jump. \
         A lock that it overtakes is free at once; its next token is greater, as ever. After a jump backwards the cell's time stands still until the \
         clock has caught up: nothing ends by its time until then, also no wait for the next try, and everything else goes on. A leap of less than 10 s, or \
         of half a heartbeat_ttl_ms, counts as time that passed."
            .to_owned(),
    );
    outcome.notes.push(format!(
        "{overtaken} jobs of the load expired for no other reason than a jump; each jump forwards may end as many as there are slots."
    ));
    Ok(outcome)
}

fn live(run: &Run, life: &str, jumps: [i64; 2], library: &str) -> Result<Verdict, Error> {
    let mut random = run.random(life.bytes().fold(3, |sum, byte| sum * 31 + u64::from(byte)));
    let mut plan = Plan::small("scheduler:{clock}", random.u64(..));
    plan.pause = Duration::from_millis(4);
    // So long that a leap which is no outage (up to 10 s) loses no node that speaks four times within it.
    plan.heartbeat_ttl_ms = 14_000;
    let directory = run.directory().join(life);
    let mut shim = Shim::make(run, &directory)?;
    let mut settings = Settings::new(&directory, "");
    settings.environment = shim.environment();
    let server = Server::start(run, settings)?;
    server.load(library)?;
    let route = server.route();
    load::prepare(&plan, route.as_ref())?;
    // All of them are looked at in the end.
    let events = "events_max 1000000";
    cell::ask(route.open().as_mut(), &plan.roots[0], "config", events)?;
    let recorder = Recorder::new(Durability::Answered, plan.heartbeat_ttl_ms);
    let load = Load::start(plan.clone(), route.clone(), &recorder);
    let mut guests = Guests::arrive(route.open(), GUESTS)?;
    guests.stay(run, Duration::from_millis(random.u64(500..1500)))?;
    let mut found = Vec::new();
    for jump_ms in jumps {
        guests.reserve()?;
        let begin_us = recorder.now_us();
        shim.jump(run, jump_ms)?;
        recorder.note(Injury {
            begin_us,
            mended_us: recorder.now_us(),
            healed_us: recorder.now_us(),
            moves_time: true,
        });
        guests.overtaken_by(jump_ms);
        // After a jump forwards, beyond the time in which nothing is overdue; after one backwards nothing ever is.
        let stay_ms = if jump_ms > 0 { AFTER_MS } else { STILL_MS };
        guests.stay(run, Duration::from_millis(stay_ms))?;
        found.extend(guests.missing()?);
    }
    // From now on nobody speaks for the guests.
    found.extend(silent_nodes(run, route.as_ref(), GUESTS)?);
    // The clock catches up with the cell's time.
    shim.jump(run, guests.stands_still_for_ms())?;
    load.drain(run, DRAIN)?;
    found.extend(silent_nodes(run, route.as_ref(), &plan.roots[0])?);
    let mut verdict = rules::verdict(run, &plan, route.as_ref(), &recorder)?;
    found.extend(too_many_expired(&plan, jumps, verdict.overtaken));
    found.extend(cell::unsound(route.open().as_mut(), GUESTS)?);
    verdict.tally.violations.extend(found);
    run.say_found(&verdict.tally.violations);
    run.say(format_args!(
        "{life}: jumps of {:?} s, {} calls, {} jobs overtaken, {} found wrong",
        jumps.map(|ms| ms / 1000),
        verdict.tally.operations,
        verdict.overtaken,
        verdict.tally.violations.len(),
    ));
    Ok(verdict)
}

/// A jump forwards may end what runs then, and nothing that begins after it: a job for each slot.
fn too_many_expired(plan: &Plan, jumps: [i64; 2], expired: usize) -> Option<Violation> {
    let forwards = jumps.iter().filter(|ms| **ms > 0).count();
    let cap = forwards * plan.nodes * usize::try_from(plan.max_jobs).unwrap_or(0);
    let sentence =
        format!("{expired} jobs expired by {forwards} jumps forwards, and at most {cap} ran then");
    (expired > cap).then(|| Violation::new(Rule::Deadline, sentence))
}

/// Nodes that were lost, although all of them spoke all the time.
fn silent_nodes(run: &Run, route: &dyn Route, root: &str) -> Result<Vec<Violation>, Error> {
    let mut wire = route.open();
    let mut found = Vec::new();
    let mut after = "-".to_owned();
    loop {
        run.check()?;
        let page = cell::ask(wire.as_mut(), root, "events", &format!("{after} 1000"))?;
        let events = page.list().get(1).map(Answer::list).unwrap_or_default();
        if events.is_empty() {
            return Ok(found);
        }
        for texts in events.iter().map(Answer::texts) {
            let is = |word: &str| texts.iter().any(|text| text == word);
            if is("node_lost") && is("silent") {
                let sentence = format!("{root}: a node that spoke was lost: {texts:?}");
                found.push(Violation::new(Rule::Deadline, sentence));
            }
        }
        after = page.list().first().map(Answer::text).unwrap_or_default();
    }
}
