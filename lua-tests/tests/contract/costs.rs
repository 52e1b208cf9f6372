//! What calls cost, in commands: no more than the headers of the functions say.

use std::{collections::BTreeSet, fs, path::Path};

use lockless_lua_tests::{Host, InProcess, Model};

use super::allowed::ALLOWED;
use crate::{
    after,
    cell::{self, ROOT, command, in_process, must, state},
    run,
};

/// One node with a pushed job.
const ONE_JOB: [&str; 3] = ["register n1 4", "dispatch s - - p JOB j", "bind b r"];

/// The numbers after `-- Calls:` in a function's source: the common way's first, then those of other ways.
pub(crate) fn promised(function: &str) -> Vec<usize> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../functions/src/{function}.lua"));
    let source = fs::read_to_string(path).unwrap();
    let (_, text) = source.split_once("-- Calls:").unwrap();
    let more = text
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("--  "));
    let text: String = text.lines().take(1).chain(more).collect();
    let numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|word| word.parse().ok());
    numbers.collect()
}

fn promised_calls(function: &str) -> usize {
    let numbers = promised(function);
    *numbers
        .first()
        .unwrap_or_else(|| panic!("{function}: no number of calls"))
}

pub(crate) fn calls_of(host: &mut InProcess, line: &str) -> usize {
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
    ("fleet 0 100", &[]),
    ("holds n1 0 100", &[]),
    (
        "dispatch s en fr p JOB a",
        &[
            "dispatch s en fr p JOB warm",
            "dispatch s en fr p JOB warmer POOL a",
        ],
    ),
    ("ack a n1", &[]),
    ("complete a n1 finished", &[]),
    ("session s", &[]),
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
    ("submit q p", &["submit warm-q p"]),
    ("pull n1", &["pull n1"]),
    (
        "tick n1 MEM 20 USED 2000 TOTAL 10000 AVAIL 8000 SWAP 0 CPU 10",
        &[],
    ),
    ("stopped q n1 ok", &["submit other-q p"]),
    (
        "retry r",
        &[
            "complete warm n1 finished",
            "submit r p RETRIES 0 PRIORITY 0",
            "pull n1 COUNT 1",
            "complete r n1 failed",
        ],
    ),
    ("deploy d POOL a", &["deploy first POOL a", "claim n1"]),
    ("claim n1", &["undeploy d", "deploy d POOL b"]),
    ("deployment d", &[]),
    ("undeploy d", &[]),
    ("deployments 0 100", &["undeploy first"]),
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
        .filter(|function| !measured.contains(function) && !["check", "repair"].contains(function))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

/// The ways that most jobs take, whatever the settings that do not concern them.
#[test]
fn the_plain_way_costs_the_same_in_a_cell_with_settings() {
    for settings in ["heartbeat_ttl_ms 20000", "keep_finished_ms 500000"] {
        let mut host = after(&ONE_JOB);
        must(&mut host, &format!("config {settings}"));
        let is_plain = !settings.starts_with("keep");
        for line in [
            "dispatch s - - p JOB k",
            "ack k n1",
            "complete k n1 finished",
        ] {
            let function = line.split(' ').next().unwrap();
            let is_cheap = calls_of(&mut host, line) <= promised_calls(function);
            assert_eq!(
                is_cheap,
                is_plain || function == "ack",
                "{settings}: {line}"
            );
        }
    }
}

#[test]
fn a_repair_costs_what_check_does_and_what_it_mends() {
    let mut host = after(&ONE_JOB);
    let check = calls_of(&mut host, "check");
    assert_eq!(calls_of(&mut host, "repair"), check);
    for damage in [
        format!("ZREM {ROOT}:due nn1"),
        format!("ZADD {ROOT}:ready:0000000001000004 7 n1"),
        format!("DEL {ROOT}:pool:default:members"),
    ] {
        command(&mut host, &damage);
        let check = calls_of(&mut host, "check");
        let violations = cell::violations(&mut host).len();
        let repair = calls_of(&mut host, "repair");
        assert!(
            repair <= check + 12 * violations,
            "{damage}: {repair} calls, {check} of them to check"
        );
        assert_eq!(cell::violations(&mut host), Vec::<String>::new());
    }
}

/// Calls, what comes before each, and how many more commands it needs while someone listens.
const WHILE_LISTENING: &[(&str, &[&str], usize)] = &[
    ("dispatch s - - p", &ONE_JOB, 1),
    ("dispatch s - - p JOB j", &ONE_JOB, 0),
    ("complete j n1 finished", &ONE_JOB, 1),
    // Its end, and the event of it.
    ("complete j n1 failed", &ONE_JOB, 2),
    ("drain n1 on", &ONE_JOB, 1),
    ("bind s r", &ONE_JOB, 1),
    ("model_unavailable n1 m", &ONE_JOB, 1),
    ("config job_ttl_ms 5000", &ONE_JOB, 1),
    (
        "complete j n1 finished",
        &["register n1 4", "dispatch s - - p JOB j", "cancel j"],
        0,
    ),
    ("release j n1", &ONE_JOB, 1),
    ("release k n1", &["register n1 4", "reserve n1 k -"], 1),
    ("release k n1", &["register n1 4"], 0),
    ("cancel k", &["register n1 4", "reserve n1 k -"], 1),
    ("cancel j", &ONE_JOB, 2),
    ("deregister n1", &ONE_JOB, 2),
    ("deregister n1", &["register n1 4"], 1),
    ("sweep", &ONE_JOB, 0),
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
    ("reserve n1 k -", &ONE_JOB, 0),
    ("ack j n1", &ONE_JOB, 0),
    ("heartbeat n1", &ONE_JOB, 0),
];

#[test]
fn listening_costs_one_command_per_announcement() {
    for (line, before, more) in WHILE_LISTENING {
        let mut host = after(before);
        let start = host.snapshot().unwrap();
        let quiet = calls_of(&mut host, line);
        host.restore(&start).unwrap();
        // What a call of listen leaves behind; the call itself would settle what is due.
        state::set(&mut host, "listen", i64::MAX >> 10);
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

#[test]
fn a_class_of_its_own_costs_what_the_headers_say() {
    // Its attributes: all, pool and pair.
    const ATTRIBUTES: usize = 3;
    let n0 = "register n0 4 POOL a PAIR en fr";
    let alike = calls_of(&mut after(&[n0]), "register n1 4 POOL a PAIR en fr");
    let alone = calls_of(&mut after(&[n0]), "register n1 5 POOL a PAIR en fr");
    let said = promised("register");
    assert_eq!(alone, alike + said[1] + said[2] * ATTRIBUTES);
    let two = [n0, "register n1 4 POOL a PAIR en fr"];
    let alike = calls_of(&mut after(&two), "deregister n1");
    let alone = calls_of(&mut after(&[n0]), "deregister n0");
    let said = promised("deregister");
    assert_eq!(alone, alike + said[1] + said[2] * ATTRIBUTES);
}

/// A job's way through the cell: dispatch, ack, complete.
const A_JOBS_WAY: usize = 24;

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
