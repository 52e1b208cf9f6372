//! The library is what its contract, `api.toml`, says: functions, flags, errors, their order, and the cost of each call.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod cell;
mod contract {
    pub(crate) mod provoked;
}

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use cell::{ROOT, api, code, command, in_process, library, must, say, words};
use contract::provoked::{ALLOWED, BOTH, CHANGING, ROWS, Row};
use lockless_functions::{
    LIBRARY,
    api::{Mode, RetryBy},
    bundle::bundle,
};
use lockless_lua_tests::{Host, InProcess, Real, Reply};
use lockless_servers::Standalone;

/// The model's clock starts at a fixed time, so the first lease is 1-1767225600000.
const ONE_NODE: [&str; 3] = ["register n1 4", "dispatch s - - p JOB j", "bind b r"];
const MOVED_AWAY: &str = "ERR Script attempted to access a non local key in a cluster node";
/// Errors that any function gives, whatever it does, so they need no row each.
const GENERAL: [&str; 4] = ["BAD_ARGUMENT", "BAD_CELL", "SCHEMA_MISMATCH", "CELL_MOVING"];

fn run(host: &mut InProcess, lines: &[&str]) {
    for line in lines {
        match line.strip_prefix("pass ") {
            Some(ms) => host.pass_time(ms.parse().unwrap()).unwrap(),
            None => drop(must(host, line)),
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
fn without_cache(host: &InProcess) -> Vec<String> {
    let dump = host.dump().unwrap();
    let lines = dump.lines().filter(|line| !line.contains(":match:"));
    lines.map(str::to_owned).collect()
}

fn refused(row: &Row) -> Option<String> {
    let (function, _, before, args) = row;
    let mut host = after(before);
    let state = without_cache(&host);
    let reply = say(&mut host, &format!("{function} {args}"));
    assert_eq!(
        state,
        without_cache(&host),
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
    command(&mut host, &format!("HSET {ROOT} schema 99"));
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
        command(&mut host, &format!("HSET {ROOT} schema 99"));
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

/// The first number after `-- Calls:` in a function's source.
fn promised_calls(function: &str) -> usize {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../functions/src/{function}.lua"));
    let source = fs::read_to_string(path).unwrap();
    let line = source
        .lines()
        .find_map(|line| line.strip_prefix("-- Calls:"))
        .unwrap()
        .to_owned();
    let digits = line
        .split(|c: char| !c.is_ascii_digit())
        .find(|word| !word.is_empty());
    digits
        .unwrap_or_else(|| panic!("{function}: no number in {line}"))
        .parse()
        .unwrap()
}

fn calls_of(host: &mut InProcess, line: &str) -> usize {
    must(host, line);
    host.call_count().unwrap()
}

/// The common way through each function, and what comes before it: the session and the match results are known, and nobody
/// listens until the end.
const COMMON: &[(&str, &[&str])] = &[
    (
        "register n1 4 POOL a PAIR en fr",
        &["register n0 4 POOL a PAIR en fr"],
    ),
    ("deregister n0", &[]),
    ("heartbeat n1 CPU 10 MEM 10 GPU 10", &["pass 1000"]),
    ("drain n1 on", &[]),
    ("drain n1 off", &[]),
    ("node n1", &[]),
    ("nodes 0 100", &[]),
    (
        "dispatch s en fr p JOB a",
        &[
            "dispatch s en fr p JOB warm",
            "dispatch s en fr p JOB warmer",
        ],
    ),
    ("ack a n1", &[]),
    ("complete a n1 finished", &[]),
    ("reserve n1 b 5000000", &[]),
    ("release b n1", &[]),
    ("dispatch s en fr p JOB c", &[]),
    ("extend c n1 5000000", &["ack c n1"]),
    ("job c", &[]),
    ("jobs failed 0 10", &[]),
    ("reserve n1 d 5000000", &[]),
    ("cancel d", &[]),
    ("config", &[]),
    ("stats", &[]),
    ("events - 10", &[]),
    ("explain s en fr", &[]),
    ("sweep", &[]),
    ("snapshot", &[]),
    ("overview", &[]),
    ("version", &[]),
    ("complete c n1 finished", &[]),
    ("bind s r1 PAIR en fr", &[]),
    ("renew s 1-1767225601000", &[]),
    ("unbind s 1-1767225601000", &[]),
    (
        "model_unavailable n1 m REQUEST r",
        &["model_unavailable n1 m"],
    ),
    ("limit l 9 60000", &["limit l 9 60000"]),
    ("lock l a 60000", &["lock k a 60000"]),
    ("unlock l a", &[]),
    ("take n1", &["take n1"]),
    ("listen", &[]),
];

#[test]
fn the_common_way_costs_no_more_than_its_header_says() {
    let mut host = in_process();
    let (mut measured, mut too_dear) = (BTreeSet::new(), Vec::new());
    for (line, before) in COMMON {
        run(&mut host, before);
        let calls = calls_of(&mut host, line);
        let function = line.split(' ').next().unwrap();
        let allowed = promised_calls(function);
        if calls > allowed {
            too_dear.push(format!("{line}: {calls} calls, its header says {allowed}"));
        }
        measured.insert(function);
    }
    assert_eq!(too_dear, Vec::<String>::new());
    let functions = ALLOWED.iter().map(|(function, _)| *function);
    let missing: Vec<_> = functions
        .filter(|function| !measured.contains(function) && *function != "check")
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

/// Calls, what comes before each, and how many more commands it needs while someone listens.
const WHILE_LISTENING: &[(&str, &[&str], usize)] = &[
    ("dispatch s - - p", &ONE_NODE, 1),
    ("dispatch s - - p JOB j", &ONE_NODE, 0),
    ("complete j n1 finished", &ONE_NODE, 1),
    // Its end, and the event of it.
    ("complete j n1 failed", &ONE_NODE, 2),
    ("drain n1 on", &ONE_NODE, 1),
    ("bind s r", &ONE_NODE, 1),
    ("model_unavailable n1 m", &ONE_NODE, 1),
    ("config job_ttl_ms 5000", &ONE_NODE, 1),
    (
        "complete j n1 finished",
        &["register n1 4", "dispatch s - - p JOB j", "cancel j"],
        0,
    ),
    ("release j n1", &ONE_NODE, 1),
    ("release k n1", &["register n1 4", "reserve n1 k -"], 1),
    ("release k n1", &["register n1 4"], 0),
    ("cancel k", &["register n1 4", "reserve n1 k -"], 1),
    ("cancel j", &ONE_NODE, 2),
    ("deregister n1", &ONE_NODE, 2),
    ("deregister n1", &["register n1 4"], 1),
    ("sweep", &ONE_NODE, 0),
    (
        "sweep",
        &["register n1 4", "reserve n1 k 1000", "pass 2000"],
        2,
    ),
    (
        "sweep",
        &[
            "register n1 4",
            "dispatch s - - p JOB j TTL 1000",
            "ack j n1",
            "pass 2000",
        ],
        3,
    ),
    ("reserve n1 k -", &ONE_NODE, 0),
    ("ack j n1", &ONE_NODE, 0),
    ("heartbeat n1", &ONE_NODE, 0),
];

#[test]
fn listening_costs_one_command_per_announcement() {
    for (line, before, more) in WHILE_LISTENING {
        let mut host = after(before);
        let start = host.snapshot().unwrap();
        let quiet = calls_of(&mut host, line);
        host.restore(&start).unwrap();
        // What a call of listen leaves behind; the call itself would settle what is due.
        command(&mut host, &format!("HSET {ROOT} listen 9007199254740991"));
        let heard = calls_of(&mut host, line);
        assert_eq!(heard, quiet + more, "{line} after {before:?}");
    }
}

#[test]
fn listening_writes_once_a_minute() {
    let mut host = after(&["config heartbeat_ttl_ms 1800000", "register n1 4"]);
    let mut cost = |ms: u64| {
        host.pass_time(ms).unwrap();
        // So that the clock is not written for its own sake, as any call does after a second without one.
        must(&mut host, "sweep");
        calls_of(&mut host, "listen")
    };
    let common = promised_calls("listen");
    assert_eq!(
        [cost(0), cost(0), cost(60_000)],
        [common + 1, common, common]
    );
    assert_eq!([cost(1), cost(0)], [common + 1, common]);
}

/// A job's way through the cell: dispatch, ack, complete.
const A_JOBS_WAY: usize = 25;

#[test]
fn a_jobs_way_costs_the_same_whatever_the_size_of_the_cell() {
    let many = |keyword: &str, count: usize| {
        (0..count)
            .map(|n| format!(" {keyword} {keyword}{n}"))
            .collect::<String>()
    };
    for (nodes, labels, pools) in [
        (1, 1, 1),
        (2_000, 1, 1),
        (1, 64, 1),
        (1, 1, 16),
        (2_000, 64, 16),
    ] {
        let mut host = in_process();
        let described = format!(
            "4 PAIR en fr{}{}",
            many("LABEL", labels),
            many("POOL", pools)
        );
        for node in 0..nodes {
            must(&mut host, &format!("register n{node} {described}"));
        }
        // The first job of a session asks for any pool, the second for the one it remembers.
        must(&mut host, "dispatch s en fr p JOB warm");
        must(&mut host, "dispatch s en fr p JOB warmer");
        let dispatched = must(&mut host, "dispatch s en fr p JOB j");
        let dispatch = host.call_count().unwrap();
        let node = cell::texts(&dispatched)[0].clone();
        let ack = calls_of(&mut host, &format!("ack j {node}"));
        let complete = calls_of(&mut host, &format!("complete j {node} finished"));
        let told = format!(
            "{nodes} nodes, {labels} labels, {pools} pools: {dispatch} + {ack} + {complete} calls"
        );
        assert!(dispatch <= promised_calls("dispatch"), "{told}");
        assert!(dispatch + ack + complete <= A_JOBS_WAY, "{told}");
    }
}
