//! A call that fails at any of its commands, as on a lost connection to a dying server, is made whole by making it again.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod cell;
mod injection {
    pub(crate) mod between;
    pub(crate) mod drained;
    pub(crate) mod meanwhile;
    pub(crate) mod seen;
}

use std::collections::BTreeSet;

use cell::{
    ROOT, api, audit::problems, code, command, in_process, keyspace, must, say, state, violations,
};
use injection::{
    drained, meanwhile,
    seen::{seen, without_drawn},
};
use lockless_functions::api::Mode;
use lockless_lua_tests::{Host, InProcess, Model, Reply};

/// A call, and how the cell came to be as it finds it.
#[derive(Default)]
struct Scenario {
    name: &'static str,
    before: Vec<&'static str>,
    call: &'static str,
    again: Again,
}

/// What making an interrupted call again gives.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// The reply and the state of an undisturbed call.
    #[default]
    TheSame,
    /// The same state; the reply says what was done, so that less is left for whoever repeats it.
    TheSameState,
    /// Perhaps another choice, in which nothing is lost, doubled or miscounted.
    NothingLost,
    /// A list of what was done. Made again until that is nothing, it leaves a sound cell.
    UntilNothing,
}

/// More repairs than any damage takes.
const REPAIRS: usize = 8;

fn scenarios() -> Vec<Scenario> {
    let text = include_str!("injection/scenarios.txt");
    let blocks = text.split("\n\n").filter(|block| !block.starts_with('#'));
    let read = |block: &'static str| {
        let mut scenario = Scenario::default();
        for line in block.lines() {
            match line.trim_start().split_once(' ') {
                _ if !line.starts_with(' ') => scenario.name = line,
                Some((mark @ (">" | "~" | "?" | "!"), call)) => {
                    scenario.call = call;
                    scenario.again = match mark {
                        ">" => Again::TheSame,
                        "~" => Again::TheSameState,
                        "!" => Again::UntilNothing,
                        _ => Again::NothingLost,
                    };
                }
                _ => scenario.before.push(line.trim_start()),
            }
        }
        scenario
    };
    blocks.map(read).collect()
}

fn prepare(host: &mut InProcess, before: &[&str]) {
    for line in before {
        if let Some(ms) = line.strip_prefix("pass ") {
            host.pass_time(ms.parse().unwrap()).unwrap();
        } else if let Some(count) = line.strip_prefix("fill ") {
            for number in 0..count.parse().unwrap() {
                must(host, &format!("dispatch s - - p JOB f{number}"));
            }
        } else if let Some(plain) = line.strip_prefix("redis ") {
            command(host, plain);
        } else if let Some(word) = line.strip_prefix("state ") {
            let (name, value) = word.split_once(' ').unwrap();
            state::set(host, name, value);
        } else {
            must(host, line);
        }
    }
}

/// What a deregistration left to later calls is settled, so that two ways there can be compared.
fn settle_rest(host: &mut InProcess) {
    while must(host, "sweep") != Reply::Int(0) {}
}

/// Leaves behind what a call of listen does, which itself would settle what is due. A cell that is not there has nobody.
fn have_someone_listen(host: &mut InProcess) {
    if command(host, &format!("EXISTS {ROOT}")) == Reply::Int(1) {
        state::set(host, "listen", i64::MAX >> 10);
    }
}

/// The faults of one scenario: at which command it was interrupted, and what was wrong then.
fn faults(scenario: &Scenario, is_heard: bool) -> Vec<String> {
    let mut host = in_process();
    prepare(&mut host, &scenario.before);
    if is_heard {
        have_someone_listen(&mut host);
    }
    let (start, start_keys) = (host.snapshot().unwrap(), host.dump().unwrap());
    let undisturbed = say(&mut host, scenario.call);
    assert!(
        code(&undisturbed).is_none(),
        "{}: {undisturbed:?}",
        scenario.name
    );
    let calls = host.call_count().unwrap();
    let trace = host.call_trace().unwrap();
    let undisturbed_keys = host.dump().unwrap();
    settle_rest(&mut host);
    let expected = seen(&mut host);
    let mut faults = Vec::new();
    for at in 1..=calls {
        host.restore(&start).unwrap();
        host.fail_at(at).unwrap();
        let interrupted = say(&mut host, scenario.call);
        let key = trace[at - 1].key.escape_ascii().to_string();
        let mut fault = |what: String| {
            faults.push(format!(
                "{} at {at} ({} {key}): {what}",
                scenario.name,
                trace[at - 1].command
            ));
        };
        // Waking those who wait is the one call that may fail, and then nothing else is different.
        if trace[at - 1].command == "spublish" {
            if interrupted != undisturbed {
                fault(format!("it replied {undisturbed:?}, now {interrupted:?}"));
            }
            if host.dump().unwrap() != undisturbed_keys {
                fault("it left other keys".to_owned());
            }
            continue;
        }
        if code(&interrupted).is_none() {
            fault(format!("it succeeded, {interrupted:?}"));
        }
        // What is to be repaired may be oversold from the start.
        let is_damaged = scenario.again == Again::UntilNothing;
        if !is_damaged && host.dump().unwrap() != start_keys {
            meanwhile::faults(&mut host, scenario.call)
                .into_iter()
                .for_each(&mut fault);
        }
        let again = say(&mut host, scenario.call);
        let is_gone = (scenario.call.starts_with("deregister")
            && code(&again) == Some("UNKNOWN_NODE"))
            || (scenario.call.starts_with("undeploy")
                && code(&again) == Some("NO_SUCH_DEPLOYMENT"));
        if code(&again).is_some() && !is_gone {
            fault(format!("again it replied {again:?}"));
        }
        if scenario.again == Again::UntilNothing {
            let is_over = |reply: &Reply| matches!(reply, Reply::Array(items) if items.is_empty());
            let mut replies = (0..REPAIRS).map(|_| say(&mut host, scenario.call));
            if !replies.any(|reply| is_over(&reply)) {
                fault("again and again it finds something to do".to_owned());
            }
            violations(&mut host).into_iter().for_each(fault);
            continue;
        }
        if scenario.again == Again::NothingLost {
            settle_rest(&mut host);
            drained::faults(&mut host).into_iter().for_each(fault);
            continue;
        }
        if scenario.again == Again::TheSame
            && format!("{again:?}") != format!("{undisturbed:?}")
            && !differs_in_drawn(&again, &undisturbed)
        {
            fault(format!("it replied {undisturbed:?}, again {again:?}"));
        }
        for violation in violations(&mut host) {
            fault(violation);
        }
        settle_rest(&mut host);
        for (got, wanted) in seen(&mut host)
            .iter()
            .zip(&expected)
            .filter(|(got, wanted)| got != wanted)
        {
            fault(format!("\n  wanted {wanted}\n  but it is {got}"));
        }
        for problem in problems(&keyspace(&mut host))
            .into_iter()
            .chain(violations(&mut host))
        {
            fault(problem);
        }
    }
    faults
}

fn differs_in_drawn(one: &Reply, other: &Reply) -> bool {
    match (one, other) {
        (Reply::Array(a), Reply::Array(b))
            if a.len() == b.len() && a.first() == Some(&Reply::Bulk(b"incarnation".to_vec())) =>
        {
            without_drawn(one) == without_drawn(other)
        }
        _ => false,
    }
}

fn assert_no_faults(is_heard: bool) {
    let faults: Vec<String> = scenarios()
        .iter()
        .flat_map(|scenario| faults(scenario, is_heard))
        .collect();
    assert!(faults.is_empty(), "{}", shown(&faults));
}

/// How many faults there are, and the first of them.
fn shown(faults: &[String]) -> String {
    let first = &faults[..faults.len().min(40)];
    format!("{} faults:\n{}", faults.len(), first.join("\n"))
}

#[test]
fn an_interrupted_call_is_made_whole_by_making_it_again() {
    assert_no_faults(false);
}

#[test]
fn an_interrupted_call_is_made_whole_also_while_someone_listens() {
    assert_no_faults(true);
}

fn function(scenario: &Scenario) -> String {
    format!("lockless_{}", scenario.call.split(' ').next().unwrap())
}

/// The functions that can announce something: of its own, or what it settles first.
const ANNOUNCE: [&str; 21] = [
    "bind",
    "cancel",
    "claim",
    "complete",
    "config",
    "deploy",
    "deregister",
    "dispatch",
    "drain",
    "listen",
    "model_unavailable",
    "pull",
    "register",
    "release",
    "repair",
    "retry",
    "stopped",
    "submit",
    "sweep",
    "tick",
    "undeploy",
];

#[test]
fn every_announcement_is_interrupted() {
    let announces = |scenario: &&Scenario| {
        let mut host = in_process();
        prepare(&mut host, &scenario.before);
        have_someone_listen(&mut host);
        must(&mut host, scenario.call);
        let trace = host.call_trace().unwrap();
        trace.iter().any(|call| call.command == "spublish")
    };
    let tried: BTreeSet<String> = scenarios().iter().filter(announces).map(function).collect();
    let wanted = ANNOUNCE.map(|name| format!("lockless_{name}"));
    assert_eq!(tried, BTreeSet::from(wanted));
}

#[test]
fn every_write_function_is_interrupted() {
    let tried: BTreeSet<String> = scenarios().iter().map(function).collect();
    let writes = api()
        .functions
        .into_iter()
        .filter(|function| function.mode == Mode::Write);
    let missing: Vec<String> = writes
        .map(|function| function.name)
        .filter(|name| !tried.contains(name))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}
