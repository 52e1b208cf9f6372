//! kill -9 of a server under load, at random moments.

use std::ops::Range;
use std::time::Duration;

use crate::Error;
use crate::history::{Durability, Recorder};
use crate::load::{self, Load, Plan};
use crate::outcome::{Outcome, Tally};
use crate::rules;
use crate::run::Run;
use crate::server::{Server, Settings};

/// What `appendfsync everysec` may lose: it writes at the latest two seconds after the reply.
const EVERYSEC_WINDOW: Duration = Duration::from_secs(2);
/// Where a kill may undo what was answered just before it, every other one comes after so long, the first one too: so there is something that it
/// may not undo. All others come sooner.
const LONG_MS: Range<u64> = 2500..4000;
const SHORT_MS: Range<u64> = 100..1200;
/// A server and its cell live through so many kills; then a new one begins, so that histories stay short enough to be judged.
const KILLS_PER_LIFE: u64 = 6;
const DRAIN: Duration = Duration::from_secs(40);

/// How a server keeps what it was told.
#[derive(Clone, Copy)]
struct Keeping {
    name: &'static str,
    arguments: &'static str,
    durability: Durability,
}

const EVERYSEC: Keeping = Keeping {
    name: "everysec",
    arguments: "--appendonly yes --appendfsync everysec",
    durability: Durability::AnsweredBefore(EVERYSEC_WINDOW),
};
const ALWAYS: Keeping = Keeping {
    name: "always",
    arguments: "--appendonly yes --appendfsync always",
    durability: Durability::Answered,
};
/// The control: what is answered is taken for kept, and nothing is.
const NOTHING: Keeping = Keeping {
    name: "nothing",
    arguments: "--appendonly no",
    durability: Durability::Answered,
};

pub(super) fn run(run: &Run) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    for (keeping, kills) in [(EVERYSEC, run.rounds(2, 50)), (ALWAYS, run.rounds(2, 50))] {
        let mut left = kills;
        while left > 0 {
            let now = left.min(KILLS_PER_LIFE);
            let life = format!("{}-{left}", keeping.name);
            let (tally, recovery) = live(run, keeping, &life, now)?;
            left -= now;
            outcome.rounds += now;
            outcome.protected.add(tally);
            if let Some(took) = recovery {
                outcome.recovered_in(took);
            }
        }
    }
    let (tally, _) = live(run, NOTHING, "control", 2)?;
    outcome.control = Some(tally);
    Ok(outcome)
}

/// One server, killed so many times under load.
fn live(
    run: &Run,
    keeping: Keeping,
    life: &str,
    kills: u64,
) -> Result<(Tally, Option<Duration>), Error> {
    let purpose = life.bytes().fold(1, |sum, byte| sum * 31 + u64::from(byte));
    let mut random = run.random(purpose);
    let plan = Plan::small("scheduler:{kill}", random.u64(..));
    let settings = Settings::new(run.directory().join(life), keeping.arguments);
    let mut server = Server::start(run, settings)?;
    server.load_library()?;
    let route = server.route();
    load::prepare(&plan, route.as_ref())?;
    let recorder = Recorder::new(keeping.durability, plan.heartbeat_ttl_ms);
    let load = Load::start(plan.clone(), route.clone(), &recorder);
    let mut unsound = Vec::new();
    let mut slowest = Duration::ZERO;
    for number in 0..kills {
        let may_lose = matches!(keeping.durability, Durability::AnsweredBefore(_));
        let is_long = may_lose && number.is_multiple_of(2);
        let range_ms = if is_long { LONG_MS } else { SHORT_MS };
        run.pause(Duration::from_millis(random.u64(range_ms)))?;
        let begin_us = recorder.now_us();
        server.crash(run);
        slowest = slowest.max(server.start_again(run)?);
        if keeping.name == NOTHING.name {
            server.load_library()?;
        }
        recorder.healed(begin_us);
        unsound.extend(rules::cell::unsound(
            crate::wire::Route::open(route.as_ref()).as_mut(),
            &plan.roots[0],
        )?);
    }
    run.pause(Duration::from_millis(500))?;
    load.drain(run, DRAIN)?;
    let mut verdict = rules::verdict(run, &plan, route.as_ref(), &recorder)?;
    verdict.tally.violations.extend(unsound);
    run.say_found(&verdict.tally.violations);
    run.say(format_args!(
        "{life}: {kills} kills, {} calls, {} without reply, {} found wrong; up again within {slowest:?}",
        verdict.tally.operations,
        verdict.tally.maybes,
        verdict.tally.violations.len(),
    ));
    Ok((verdict.tally, verdict.recovery))
}
