//! The comparisons that have a target.

use lockless_functions::LIBRARY;
use lockless_lua_tests::{Host, InProcess, Reply};

use crate::cell::{Cell, PAYLOAD, ROOT, fcall, node, plain_node};
use crate::link::Server;
use crate::native::{self, Recording};
use crate::report::{Report, Target};
use crate::rounds::compare;
use crate::seed::SeedCell;
use crate::{Effort, Error};

/// A dispatch of the minimal spec takes milliseconds.
const SEED_CALLS: usize = 5;
const NODES: usize = 1000;
const FULL: usize = 900;

/// Measures and prints all of them.
pub fn run(server: &mut Server, effort: Effort, report: &mut Report) -> Result<(), Error> {
    Report::comparisons(
        "Dispatch, us of server time (INFO commandstats)",
        "first",
        "second",
    );
    growth_with_nodes(server, effort, report)?;
    labels_on_nodes(server, effort, report)?;
    minimal_spec(server, effort, report)?;
    Report::comparisons(
        "Dispatch, us of server CPU, protocol included (INFO cpu)",
        "FCALL",
        "native",
    );
    native_commands(server, effort, report)?;
    println!("\nInner calls (in-process host)");
    let total: usize = inner_calls()?
        .iter()
        .map(|(function, calls)| {
            println!("  {function:<54} {:>19} {calls:>7}", "");
            calls
        })
        .sum();
    report.counted(
        "dispatch + ack + complete",
        total as f64,
        Target::AtMost(25.0),
    );
    Ok(())
}

fn growth_with_nodes(
    server: &mut Server,
    effort: Effort,
    report: &mut Report,
) -> Result<(), Error> {
    let mut large = Cell::plain(server, effort.nodes)?;
    let mut small = Cell::plain(server, 100)?;
    let sides = compare(
        effort.rounds,
        || large.dispatch_cost(effort.calls, &[]),
        || small.dispatch_cost(effort.calls, &[]),
    )?;
    let what = format!("{} nodes / 100 nodes", effort.nodes);
    report.compared(&what, sides, Some(Target::AtMost(1.5)));
    Ok(())
}

fn labels_on_nodes(server: &mut Server, effort: Effort, report: &mut Report) -> Result<(), Error> {
    let mut labelled = Cell::new(server, NODES, |_| labelled_node())?;
    let mut plain = Cell::plain(server, NODES)?;
    let sides = compare(
        effort.rounds,
        || labelled.dispatch_cost(effort.calls, &[]),
        || plain.dispatch_cost(effort.calls, &[]),
    )?;
    let what = "12 labels per node / none";
    report.compared(what, sides, Some(Target::AtMost(1.2)));
    Ok(())
}

/// The description of a usual node with 12 labels, `label-00` and so on.
pub(crate) fn labelled_node() -> Vec<String> {
    let mut words = plain_node();
    for label in 0..12 {
        words.push("LABEL".to_owned());
        words.push(format!("label-{label:02}"));
    }
    words
}

fn minimal_spec(server: &mut Server, effort: Effort, report: &mut Report) -> Result<(), Error> {
    let mut ours = Cell::plain(server, NODES)?;
    fill(&mut ours)?;
    let mut seed = SeedCell::new(server, NODES, FULL)?;
    let sides = compare(
        effort.rounds,
        || seed.dispatch_cost(SEED_CALLS),
        || ours.dispatch_cost(effort.calls, &[]),
    )?;
    let what = "minimal spec / ours, 1000 nodes, 900 full";
    report.compared(what, sides, Some(Target::AtLeast(60.0)));
    let sides = compare(
        effort.rounds,
        || seed.dispatch_cost_with_holes(SEED_CALLS),
        || ours.dispatch_cost(effort.calls, &[]),
    )?;
    let what = "  the same, a slot free somewhere among the full nodes";
    report.compared(what, sides, None);
    Ok(())
}

/// Takes every slot of 900 nodes.
fn fill(cell: &mut Cell) -> Result<(), Error> {
    let reserve: Vec<_> = (0..FULL * 4)
        .map(|slot| {
            let job = format!("filler-{slot}");
            fcall("lockless_reserve", &[&node(slot / 4), &job, "604800000"])
        })
        .collect();
    cell.all(&reserve).map(drop)
}

fn native_commands(server: &mut Server, effort: Effort, report: &mut Report) -> Result<(), Error> {
    let mut replayed = Cell::plain(server, NODES)?;
    let mut called = Cell::plain(server, NODES)?;
    let recording = Recording::of(server, &mut replayed, effort.calls)?;
    let commands = recording.commands_per_dispatch();
    let mut measure = |pipelined: usize| {
        compare(
            effort.rounds,
            || native::cpu_cost_of_fcall(&mut called, effort.calls, pipelined),
            || recording.cpu_cost(&mut replayed, pipelined),
        )
    };
    let what = format!("FCALL / its {commands:.1} commands natively, pipelined by 50");
    report.compared(&what, measure(50)?, Some(Target::AtMost(1.4)));
    report.compared("  the same, one round trip per dispatch", measure(1)?, None);
    Ok(())
}

/// How many `redis.call`s each step of a job takes on the common path.
pub fn inner_calls() -> Result<[(&'static str, usize); 3], Error> {
    let mut host = InProcess::new(LIBRARY)?;
    let mut call = |function: &str, args: &[&str]| -> Result<(Reply, usize), Error> {
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        let reply = host.fcall(function, &[ROOT.as_bytes()], &args)?;
        if matches!(reply, Reply::Error(_)) {
            return Err(Error::unexpected(function, &reply));
        }
        Ok((reply, host.call_count()?))
    };
    let register = ["node", "4", "POOL", "general", "PAIR", "en", "zh"];
    call("lockless_register", &register)?;
    // The session's first job leaves its pool behind, the second one what matches in that pool.
    for _ in 0..2 {
        call("lockless_dispatch", &["session", "en", "zh", PAYLOAD])?;
    }
    let dispatch = ["session", "en", "zh", PAYLOAD, "JOB", "job"];
    let (_, dispatch) = call("lockless_dispatch", &dispatch)?;
    let (_, ack) = call("lockless_ack", &["job", "node"])?;
    let (_, complete) = call("lockless_complete", &["job", "node", "finished"])?;
    Ok([("dispatch", dispatch), ("ack", ack), ("complete", complete)])
}
