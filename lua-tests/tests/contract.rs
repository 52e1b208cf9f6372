//! The library is what its contract, `api.toml`, says: functions, flags, errors, their order, and the cost of each call.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod cell;
mod contract {
    pub(crate) mod allowed;
    pub(crate) mod costs;
    pub(crate) mod deployment_costs;
    mod large_costs;
    pub(crate) mod provoked;
    pub(crate) mod queue_costs;
}

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use cell::{ROOT, api, code, command, in_process, library, must, say, state, words};
use contract::{
    allowed::{ALLOWED, CHANGING, ONE_NODE},
    provoked::{BOTH, ROWS, Row},
};
use lockless_functions::{
    LIBRARY,
    api::{Mode, RetryBy},
    bundle::bundle,
};
use lockless_lua_tests::{Host, InProcess, Model, Real, Reply};
use lockless_servers::Standalone;

const MOVED_AWAY: &str = "ERR Script attempted to access a non local key in a cluster node";
/// Errors that any function gives, whatever it does, so they need no row each.
const GENERAL: [&str; 4] = ["BAD_ARGUMENT", "BAD_CELL", "SCHEMA_MISMATCH", "CELL_MOVING"];

fn run(host: &mut InProcess, lines: &[&str]) {
    for line in lines {
        if let Some(ms) = line.strip_prefix("pass ") {
            host.pass_time(ms.parse().unwrap()).unwrap();
        } else if let Some(plain) = line.strip_prefix("redis ") {
            command(host, plain);
        } else {
            must(host, line);
        }
    }
}

fn after(lines: &[&str]) -> InProcess {
    let mut host = in_process();
    run(&mut host, lines);
    host
}

#[test]
fn the_bundle_is_what_its_sources_give() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../functions");
    assert!(
        LIBRARY == bundle(&folder).unwrap(),
        "run `cargo xtask bundle`"
    );
}

#[test]
fn a_server_lists_the_functions_and_flags_of_the_contract() {
    let server = Standalone::builder().private().start().unwrap();
    let mut real = Real::standalone(&server.url()).unwrap();
    real.load_library(&library()).unwrap();
    let reply = command(&mut real, "FUNCTION LIST LIBRARYNAME lockless");
    let functions = cell::field(&cell::list(&reply)[0], "functions");
    let described = |function: &Reply| {
        (
            cell::text_of(function, "name"),
            cell::texts(cell::field(function, "flags")),
        )
    };
    let listed: BTreeMap<_, _> = cell::list(functions).iter().map(described).collect();
    let api = api();
    let flags = |function: &lockless_functions::api::Function| {
        function
            .flags()
            .iter()
            .map(|flag| (*flag).to_owned())
            .collect()
    };
    let promised: BTreeMap<String, Vec<String>> = api
        .functions
        .iter()
        .map(|function| (function.name.clone(), flags(function)))
        .collect();
    assert_eq!(listed, promised);
}

/// All keys but the cache of match results, which a refusal may add to.
fn without_cache(host: &mut InProcess) -> Vec<String> {
    let dump = host.dump().unwrap();
    let lines = dump.lines().filter(|line| !line.contains(":match:"));
    lines.map(str::to_owned).collect()
}

fn refused(row: &Row) -> Option<String> {
    let (function, _, before, args) = row;
    let mut host = after(before);
    let state = without_cache(&mut host);
    let reply = say(&mut host, &format!("{function} {args}"));
    assert_eq!(
        state,
        without_cache(&mut host),
        "{function} {args} replied {reply:?} and changed something"
    );
    code(&reply).map(str::to_owned)
}

#[test]
fn every_error_of_the_contract_comes_about_and_no_other() {
    let mut produced = BTreeSet::new();
    for row in ROWS {
        assert_eq!(refused(row).as_deref(), Some(row.1), "{row:?}");
        produced.insert((format!("lockless_{}", row.0), row.1.to_owned()));
    }
    let special = |(_, code): &(String, String)| !GENERAL.contains(&code.as_str());
    let documented: BTreeSet<_> = api()
        .functions
        .into_iter()
        .flat_map(|function| {
            function
                .errors
                .into_iter()
                .map(move |code| (function.name.clone(), code))
        })
        .filter(special)
        .collect();
    assert_eq!(produced, documented);
}

/// What each function answers to the four general mistakes, by the way each is made.
fn general_errors(function: &str, args: &str) -> BTreeMap<&'static str, Option<String>> {
    let name = format!("lockless_{function}");
    let told = |reply: Reply| code(&reply).map(str::to_owned);
    let given = words(&args.split_whitespace().collect::<Vec<_>>());
    let mut host = after(&ONE_NODE);
    let start = host.snapshot().unwrap();
    let mut out = BTreeMap::new();
    out.insert(
        "BAD_ARGUMENT",
        told(say(&mut host, &format!("{function} {args} NOPE"))),
    );
    out.insert(
        "BAD_CELL",
        told(host.fcall(&name, &[b"nocell"], &given).unwrap()),
    );
    state::of_another_schema(&mut host);
    out.insert(
        "SCHEMA_MISMATCH",
        told(say(&mut host, &format!("{function} {args}"))),
    );
    host.restore(&start).unwrap();
    host.fail_at_with(2, MOVED_AWAY).unwrap();
    out.insert(
        "CELL_MOVING",
        told(say(&mut host, &format!("{function} {args}"))),
    );
    out
}

#[test]
fn every_function_knows_the_general_errors() {
    let api = api();
    assert_eq!(ALLOWED.len(), api.functions.len());
    for (function, args) in ALLOWED {
        let mut host = after(&ONE_NODE);
        let reply = say(&mut host, &format!("{function} {args}"));
        assert_eq!(code(&reply), None, "{function}: {reply:?}");
        let documented = &api
            .function(&format!("lockless_{function}"))
            .unwrap()
            .errors;
        for (wanted, given) in general_errors(function, args) {
            let is_documented = documented.iter().any(|known| known == wanted);
            assert_eq!(
                given.as_deref(),
                is_documented.then_some(wanted),
                "{function}"
            );
        }
    }
}

/// Whether a reply is what the contract says that the second call replies.
fn is_told_again(again: &str, first: &Reply, second: &Reply) -> bool {
    match second {
        Reply::Int(number) => number.to_string() == again,
        Reply::Error(_) => code(second) == Some(again),
        Reply::Array(items) if again == "[]" => items.is_empty(),
        // The word in the first field tells the two apart, all others are the same.
        Reply::Array(fields) => {
            cell::text(&fields[1]) == again && fields[2..] == cell::list(first)[2..]
        }
        _ => false,
    }
}

#[test]
fn a_call_that_is_made_again_changes_nothing_and_is_answered_as_the_contract_says() {
    let api = api();
    for (before, line) in CHANGING {
        let function = line.split(' ').next().unwrap();
        let told = format!("{line} after {before:?}");
        let contract = api.function(&format!("lockless_{function}")).unwrap();
        let retry = contract.retry.as_ref().expect(&told);
        let is_known_by = match retry.by {
            RetryBy::Job => {
                line.contains(" JOB ") || contract.args.iter().any(|arg| arg.name == "job")
            }
            RetryBy::RequestId => contract.args.iter().any(|arg| arg.name == "request_id"),
            RetryBy::Request => line.contains(" REQUEST "),
            RetryBy::State => true,
        };
        assert!(is_known_by, "{told}");
        let mut host = after(before);
        let start = host.dump().unwrap();
        let first = must(&mut host, line);
        let once = host.dump().unwrap();
        assert_ne!(start, once, "{told} changes nothing");
        let second = say(&mut host, line);
        let is_answered = match &retry.again {
            Some(again) => is_told_again(again, &first, &second),
            None => first == second,
        };
        assert!(is_answered, "{told}: {first:?}, then {second:?}");
        assert_eq!(once, host.dump().unwrap(), "{told}, made again");
    }
    let tried: BTreeSet<String> = CHANGING
        .iter()
        .map(|(_, line)| format!("lockless_{}", line.split(' ').next().unwrap()))
        .collect();
    let writes = api.functions.iter().filter(|it| it.mode == Mode::Write);
    assert_eq!(tried, writes.map(|it| it.name.clone()).collect());
    let reads = api.functions.iter().filter(|it| it.mode == Mode::Read);
    assert!(reads.map(|it| &it.retry).all(Option::is_none));
}

#[test]
fn a_failure_of_redis_itself_is_passed_on_as_it_is() {
    let mut host = after(&ONE_NODE);
    host.fail_at_with(2, "OOM command not allowed when used memory > 'maxmemory'.")
        .unwrap();
    let reply = say(&mut host, "dispatch s - - p");
    assert_eq!(
        reply,
        Reply::Error("OOM command not allowed when used memory > 'maxmemory'.".to_owned())
    );
}

#[test]
fn of_two_errors_the_earlier_one_is_given() {
    let order: Vec<String> = api().errors.into_iter().map(|error| error.code).collect();
    let place = |code: &str| order.iter().position(|known| known == code).unwrap();
    for (row, other) in BOTH {
        assert!(place(row.1) < place(other), "{row:?} and {other}");
        assert_eq!(
            refused(row).as_deref(),
            Some(row.1),
            "{row:?} although {other}"
        );
    }
}

#[test]
fn the_general_errors_come_before_all_others() {
    for (function, wanted, before, args) in ROWS {
        let name = format!("lockless_{function}");
        let given = words(&args.split_whitespace().collect::<Vec<_>>());
        let told = |reply: Reply| code(&reply).map(str::to_owned);
        let mut host = after(before);
        let spoiled = [given.clone(), words(&["NOPE"])].concat();
        let both = told(host.fcall(&name, &[b"nocell"], &spoiled).unwrap());
        assert_eq!(
            both.as_deref(),
            Some("BAD_ARGUMENT"),
            "{function} instead of {wanted}"
        );
        must(&mut host, "config events all");
        state::of_another_schema(&mut host);
        let both = told(host.fcall(&name, &[b"nocell"], &given).unwrap());
        assert_eq!(
            both.as_deref(),
            Some("BAD_CELL"),
            "{function} instead of {wanted}"
        );
        let both = told(host.fcall(&name, &[ROOT.as_bytes()], &given).unwrap());
        assert_eq!(
            both.as_deref(),
            Some("SCHEMA_MISMATCH"),
            "{function} instead of {wanted}"
        );
    }
}
