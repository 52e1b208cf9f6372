//! Slots of live cells that are moved between primaries under load, back and forth.

mod by_gateway;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use lockless_topology::slot_of_key;

use super::route::ToCluster;
use super::servers::Cluster;
use super::trial::cells;
use crate::Error;
use crate::fault::Fault;
use crate::history::{Durability, Recorder};
use crate::load::{Load, Plan, prepare};
use crate::mistake::library_in_which;
use crate::outcome::{Outcome, Rule, Tally, Violation};
use crate::rules::{self, cell::unsound};
use crate::run::Run;
use crate::wire::Route;

pub(super) const FAULT: Fault = Fault {
    name: "moving",
    summary: "Cluster: slots of live cells are moved between primaries under load, back and forth.",
    control: "a library that does not ask whether the cell is all there.",
    quick_limit: Duration::from_secs(90),
    full_limit: Duration::from_secs(900),
    run,
};

/// Moves whose calls are judged together.
const MOVES_TOGETHER: u64 = 10;
/// The pause after each few keys, in which calls meet a cell that is half here and half there.
const HALF_WAY: Duration = Duration::from_millis(8);
const PACE: Duration = Duration::from_millis(4);
const DRAIN_WITHIN: Duration = Duration::from_secs(40);
const CONTROL_MOVES: u64 = 4;
const CONTROL_DRAIN_WITHIN: Duration = Duration::from_secs(5);
/// What a moving slot may have a call meet: redirects and refusals.
const PASSING: [&str; 4] = ["MOVED", "ASK", "TRYAGAIN", "CELL_MOVING"];

fn run(run: &Run) -> Result<Outcome, Error> {
    let moves = run.rounds(4, 50);
    let cluster = Arc::new(Cluster::on_loopback(run)?);
    // Nobody asks for a replica's word here, so a replica that takes over on a busy machine would undo what was answered.
    cluster.may_fail_over(run, false)?;
    let mut outcome = Outcome::default();
    let mut seen = BTreeMap::new();
    while outcome.rounds < moves {
        let count = MOVES_TOGETHER.min(moves - outcome.rounds);
        let name = format!("moving{}", outcome.rounds);
        let mut part = Part {
            run,
            cluster: &cluster,
            name: &name,
            keeps_history: true,
            outcome: &mut outcome,
            seen: &mut seen,
        };
        part.play(count, DRAIN_WITHIN)?;
    }
    by_gateway::place(run, &cluster, run.rounds(4, 10), &mut outcome)?;
    let counts: Vec<String> = seen
        .iter()
        .map(|(code, count)| format!("{code} {count}"))
        .collect();
    outcome.notes.push(format!(
        "calls met, while slots moved: {}",
        counts.join(", ")
    ));
    for code in ["ASK", "CELL_MOVING"] {
        if !seen.contains_key(code) {
            let sentence = format!("no call met {code}: no slot was seen half moved");
            outcome
                .protected
                .violations
                .push(Violation::new(Rule::Blind, sentence));
        }
    }
    outcome.control = Some(unguarded(run, &cluster)?);
    Ok(outcome)
}

/// The same with a library in which calls that meet half of a cell write into that half.
fn unguarded(run: &Run, cluster: &Arc<Cluster>) -> Result<Tally, Error> {
    let library = library_in_which(
        "nobody asks whether the cell is all there",
        "  if not c.guarded then redis.call('EXISTS', c.root, keys.none(c.root)) end\n",
        "",
    )?;
    for primary in cluster.primaries() {
        let node = &cluster.nodes()[primary];
        node.say_order(run, "FUNCTION LOAD REPLACE ...    # without cell.guard");
        node.say::<()>(&["FUNCTION", "LOAD", "REPLACE", &library])?;
    }
    let mut shown = Outcome::default();
    let mut part = Part {
        run,
        cluster,
        name: "unguarded",
        keeps_history: false,
        outcome: &mut shown,
        seen: &mut BTreeMap::new(),
    };
    let played = part.play(CONTROL_MOVES, CONTROL_DRAIN_WITHIN);
    let mut tally = shown.protected;
    match played {
        Ok(()) => {}
        // A cell that was torn in two need not answer, come to an end, or let itself be moved.
        Err(error @ (Error::Waited { .. } | Error::Call { .. } | Error::Command { .. })) => {
            let torn = Violation::new(Rule::Sound, error.to_string());
            tally.violations.push(torn);
        }
        Err(error) => return Err(error),
    }
    run.say(format_args!("{} losses without a guard", tally.losses()));
    Ok(tally)
}

/// Some moves under one load.
struct Part<'a> {
    run: &'a Run,
    cluster: &'a Arc<Cluster>,
    name: &'a str,
    /// Whether the history of one that loses something is left behind.
    keeps_history: bool,
    outcome: &'a mut Outcome,
    seen: &'a mut BTreeMap<String, u64>,
}

impl Part<'_> {
    fn play(&mut self, moves: u64, drain_within: Duration) -> Result<(), Error> {
        let Self {
            run,
            cluster,
            name,
            keeps_history,
            outcome,
            seen,
        } = self;
        let route = Arc::new(ToCluster::new(cluster, PACE));
        let plan = Plan {
            roots: cells(cluster, name)?,
            nodes: 2,
            callers: 4,
            heartbeat_ttl_ms: 6000,
            ..Plan::small("", run.seed())
        };
        prepare(&plan, route.as_ref())?;
        // Nothing that was answered may be lost: no server is.
        let recorder = Recorder::new(Durability::Answered, plan.heartbeat_ttl_ms);
        let load = Load::start(
            plan.clone(),
            Arc::clone(&route) as Arc<dyn Route>,
            &recorder,
        );
        let mut wire = route.open();
        let mut random = run.random(outcome.rounds);
        let home: Vec<_> = plan
            .roots
            .iter()
            .map(|root| cluster.primary_of(root))
            .collect();
        for number in 0..moves {
            run.pause(Duration::from_millis(150))?;
            // Back and forth: what was moved away comes back with the next move.
            let at = (number as usize / 2) % plan.roots.len();
            let slot = slot_of_key(&plan.roots[at]);
            let from = cluster.owner_of(slot);
            let others = cluster
                .primaries()
                .into_iter()
                .filter(|primary| Some(*primary) != from);
            let others: Vec<usize> = others.collect();
            let to = match home[at] {
                Some(home) if from != Some(home) => home,
                _ => others[random.usize(..others.len())],
            };
            let begin_us = recorder.now_us();
            let keys = cluster.move_slot(run, slot, to, || sleep(HALF_WAY))?;
            recorder.healed(begin_us);
            outcome.rounds += 1;
            let found = unsound(wire.as_mut(), &plan.roots[at])?;
            outcome.protected.violations.extend(found);
            run.say(format_args!(
                "move {}: {keys} keys of {} to {}",
                outcome.rounds,
                plan.roots[at],
                cluster.nodes()[to]
            ));
        }
        // So that work can be seen to be taken after the last move too.
        run.pause(Duration::from_millis(500))?;
        load.drain(run, drain_within)?;
        let verdict = rules::verdict(run, &plan, route.as_ref(), &recorder)?;
        if *keeps_history && verdict.tally.losses() > 0 {
            run.keep_history(&recorder.history());
        }
        outcome.protected.add(verdict.tally);
        if let Some(recovery) = verdict.recovery {
            outcome.recovered_in(recovery);
        }
        for (code, count) in route.seen().counts() {
            if PASSING.contains(&code.as_str()) {
                *seen.entry(code).or_default() += count;
            }
        }
        let known = &lockless_functions::contract().errors;
        let strange = recorder.latest(|record| {
            let code = record.said.code()?;
            let is_known = PASSING.contains(&code) || known.iter().any(|error| error.code == code);
            (!is_known).then(|| record.line())
        });
        if let Some(line) = strange {
            let sentence = format!("a call met neither a redirect nor a refusal: {line}");
            outcome
                .protected
                .violations
                .push(Violation::new(Rule::Fault, sentence));
        }
        Ok(())
    }
}
