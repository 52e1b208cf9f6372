//! The disk with the AOF is full, while the server is under load: it stays so for a while, or the server dies meanwhile.

mod namespace;

use std::ops::Range;
use std::time::Duration;

use crate::Error;
use crate::history::{Durability, Recorder};
use crate::load::{self, Load, Plan};
use crate::outcome::Outcome;
use crate::rules::{self, Verdict};
use crate::run::Run;
use crate::server::{Server, Settings};
use namespace::SmallDisk;

const DRAIN: Duration = Duration::from_secs(40);
/// How long the disk stays full.
const FULL: Duration = Duration::from_millis(1500);
/// How long it may take until it is.
const FILLING: Duration = Duration::from_secs(20);
/// What is left on it when it begins to fill.
const ROOM_BYTES: u64 = 150_000;
/// What `appendfsync everysec` may lose of what was answered before.
const EVERYSEC_WINDOW: Duration = Duration::from_secs(2);
/// How long the load runs before the disk begins to fill.
const BEFORE_MS: Range<u64> = 300..1200;
/// The same where a part of what was answered may be lost: long enough for calls that may not be.
const LONG_BEFORE_MS: Range<u64> = 2500..4000;

/// What happens to the server on a full disk.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    arguments: &'static str,
    durability: Durability,
    is_killed: bool,
}

const AOF: &str = "--appendonly yes --auto-aof-rewrite-percentage 0 --appendfsync";

const WAYS: [Way; 3] = [
    // It refuses writes until there is room, and goes on.
    Way {
        name: "refuses",
        arguments: "everysec",
        durability: Durability::Answered,
        is_killed: false,
    },
    Way {
        name: "killed",
        arguments: "everysec",
        durability: Durability::AnsweredBefore(EVERYSEC_WINDOW),
        is_killed: true,
    },
    // It ends by itself: what it could not write it did not answer.
    Way {
        name: "ends",
        arguments: "always",
        durability: Durability::Answered,
        is_killed: false,
    },
];

/// The control: nothing is written, and what was answered is taken for kept.
const CONTROL: Way = Way {
    name: "control",
    arguments: "everysec --appendonly no",
    durability: Durability::Answered,
    is_killed: true,
};

pub(super) fn run(run: &Run) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    for round in 0..run.rounds(1, 7) {
        for way in WAYS {
            let verdict = live(run, &format!("{}-{round}", way.name), way)?;
            outcome.rounds += 1;
            outcome.protected.add(verdict.tally);
            if let Some(took) = verdict.recovery {
                outcome.recovered_in(took);
            }
        }
    }
    outcome.control = Some(live(run, CONTROL.name, CONTROL)?.tally);
    outcome.notes.push(
        "With `appendfsync everysec` Redis answers `MISCONF` while the disk is full and goes on when there is room; what it answered in the moment \
         the disk became full is safe as long as it lives, and may be lost if it is killed before there is room. With `always` it ends by itself: \
         start it again when there is room."
            .to_owned(),
    );
    Ok(outcome)
}

fn live(run: &Run, life: &str, way: Way) -> Result<Verdict, Error> {
    let mut random = run.random(life.bytes().fold(5, |sum, byte| sum * 31 + u64::from(byte)));
    let plan = Plan::small("scheduler:{disk}", random.u64(..));
    let directory = run.directory().join(life);
    let disk = SmallDisk::make(run, &directory.join("disk"))?;
    let arguments = format!("--dir {} {AOF} {}", disk.path().display(), way.arguments);
    let mut settings = Settings::new(&directory, &arguments);
    settings.before = disk.enter();
    let mut server = Server::start(run, settings)?;
    server.load_library()?;
    let route = server.route();
    load::prepare(&plan, route.as_ref())?;
    let recorder = Recorder::new(way.durability, plan.heartbeat_ttl_ms);
    let load = Load::start(plan.clone(), route.clone(), &recorder);
    let before_ms = match way.durability {
        Durability::AnsweredBefore(_) => LONG_BEFORE_MS,
        _ => BEFORE_MS,
    };
    run.pause(Duration::from_millis(random.u64(before_ms)))?;

    let begin_us = recorder.now_us();
    run.say_command(format_args!(
        "# {} is filled but for {ROOM_BYTES} bytes",
        disk.path().display()
    ));
    disk.fill(ROOM_BYTES)?;
    if way.name == CONTROL.name {
        run.pause(FULL)?;
    } else {
        run.wait_for("a server whose disk is full", FILLING, || {
            let refused =
                recorder.latest(|record| (record.said.code() == Some("MISCONF")).then_some(()));
            match server.ended() {
                Some(_) => Ok(()),
                None => refused.ok_or_else(|| disk.describe()),
            }
        })?;
        run.pause(FULL.mul_f64(random.f64()))?;
    }
    if way.is_killed {
        server.crash(run);
    }
    run.say_command("# what filled it is removed");
    disk.empty()?;
    if way.is_killed || server.ended().is_some() {
        server.start_again(run)?;
        if way.name == CONTROL.name {
            server.load_library()?;
        }
    } else {
        run.wait_for("a server that takes writes again", FILLING, || {
            let said = route_says(route.as_ref(), &plan.roots[0]);
            said.map_err(|error| error.to_string())
        })?;
    }
    recorder.healed(begin_us);
    let unsound = rules::cell::unsound(
        crate::wire::Route::open(route.as_ref()).as_mut(),
        &plan.roots[0],
    )?;
    run.pause(Duration::from_millis(500))?;
    load.drain(run, DRAIN)?;
    let mut verdict = rules::verdict(run, &plan, route.as_ref(), &recorder)?;
    verdict.tally.violations.extend(unsound);
    run.say_found(&verdict.tally.violations);
    run.say(format_args!(
        "{life}: {} calls, {} without reply, {} found wrong",
        verdict.tally.operations,
        verdict.tally.maybes,
        verdict.tally.violations.len(),
    ));
    Ok(verdict)
}

/// A write of the test's own.
fn route_says(route: &dyn crate::wire::Route, root: &str) -> Result<(), Error> {
    rules::cell::ask(route.open().as_mut(), root, "sweep", "").map(|_| ())
}
