//! No arguments whatever get anything but a documented reply out of a function, and what is refused changes nothing.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod cell;
mod fuzz {
    pub(crate) mod arguments;
}

use std::collections::BTreeMap;

use cell::{
    ROOT, Value, api, assert_sound, code, in_process, keyspace, library, list, must, seed, shown,
    steps, text, words,
};
use fuzz::arguments::{keys, spoiled};
use lockless_functions::api::{Argument, Function, Kind, ReplyShape};
use lockless_lua_tests::{Host, Model, Real, Reply};
use lockless_servers::Standalone;

const BEFORE: [&str; 29] = [
    "config payload_max_bytes 1048576 heartbeat_ttl_ms 1800000",
    "register n1 100000 POOL a PAIR en fr LABEL gpu",
    "register n2 4 POOL a POOL b",
    "register lost 1",
    "deregister lost",
    "dispatch s - - p JOB dispatched POOL a REQUIRE gpu",
    "dispatch s - - p JOB running POOL a REQUIRE gpu",
    "dispatch s - - p JOB stopping POOL a REQUIRE gpu",
    "dispatch s - - p JOB finished POOL a REQUIRE gpu",
    "reserve n1 reserved -",
    "ack running n1",
    "cancel stopping",
    "complete finished n1 failed",
    "bind a a REQUIRE gpu",
    "dispatch a - - p JOB riding",
    "submit pulled p",
    "submit dead p RETRIES 0",
    "submit back p",
    "pull n1",
    "complete dead n1 failed",
    "complete back n1 failed",
    "submit queued p POOL none",
    "submit queued2 p",
    "submit delayed p DELAY 600000",
    "deploy a POOL a",
    "deploy b POOL a ENABLED false",
    "deploy gpu POOL b",
    "claim n1",
    "claim n2",
];

fn prepare(host: &mut dyn Host) {
    BEFORE.iter().for_each(|line| drop(must(host, line)));
}

/// Whether a reply that is no error has the shape the contract gives it.
fn has_shape(function: &Function, reply: &Reply) -> bool {
    match (function.reply, reply) {
        (ReplyShape::Ok, Reply::Status(status)) => status == "OK",
        (ReplyShape::Integer, Reply::Int(_)) => true,
        (ReplyShape::Value, Reply::Bulk(_)) => true,
        (ReplyShape::Page, Reply::Array(page)) => {
            matches!(page.as_slice(), [Reply::Bulk(_), Reply::Array(_)])
        }
        (ReplyShape::Fields, Reply::Array(fields)) => {
            let names: Vec<String> = fields.iter().step_by(2).map(text).collect();
            let promised = function.fields.iter().map(|field| &field.name);
            function.rest.is_some() && names.len() > 30 || names.iter().eq(promised)
        }
        (ReplyShape::Array, Reply::Array(items)) => items.len() == function.fields.len(),
        (ReplyShape::Listing, Reply::Array(_)) => true,
        _ => false,
    }
}

fn assert_documented(function: &Function, told: &str, reply: &Reply) {
    match code(reply) {
        Some(code) => assert!(
            function.errors.iter().any(|known| known == code),
            "{told}: {reply:?}"
        ),
        None => assert!(has_shape(function, reply), "{told}: {reply:?}"),
    }
}

fn is_refused(reply: &Reply) -> bool {
    matches!(code(reply), Some("BAD_ARGUMENT" | "BAD_CELL"))
}

/// All keys but those that are made to expire soon, and may do so at any moment.
fn lasting(host: &mut dyn Host) -> BTreeMap<String, Value> {
    let mut keys = keyspace(host);
    keys.retain(|key, _| {
        ![":guard:", ":limit:", ":lock:", ":snapshot"]
            .iter()
            .any(|family| key.contains(family))
    });
    keys
}

fn borrowed(keys: &[Vec<u8>]) -> Vec<&[u8]> {
    keys.iter().map(Vec::as_slice).collect()
}

#[test]
fn whatever_is_said_in_process_the_reply_is_documented() {
    let mut random = fastrand::Rng::with_seed(seed());
    let api = api();
    let mut host = in_process();
    prepare(&mut host);
    let start = host.snapshot().unwrap();
    let mut before = host.dump().unwrap();
    for step in 0..steps(30_000) {
        if step % 500 == 0 {
            assert_sound(&mut host, &format!("step {step}"));
            host.restore(&start).unwrap();
            before = host.dump().unwrap();
        }
        let function = &api.functions[random.usize(..api.functions.len())];
        let (keys, args) = (keys(&mut random, ROOT), spoiled(&mut random, function));
        let reply = host.fcall(&function.name, &borrowed(&keys), &args).unwrap();
        let told = format!(
            "step {step}: {} {} | {}",
            function.name,
            shown(&keys),
            shown(&args)
        );
        assert_documented(function, &told, &reply);
        let after = host.dump().unwrap();
        assert!(
            !is_refused(&reply) || before == after,
            "{told}: {reply:?} and it changed something"
        );
        before = after;
    }
}

#[test]
fn whatever_is_said_to_a_server_the_reply_is_documented() {
    let mut random = fastrand::Rng::with_seed(seed());
    let api = api();
    let server = Standalone::builder().private().start().unwrap();
    let mut real = Real::standalone(&server.url()).unwrap();
    real.load_library(&library()).unwrap();
    let mut model = in_process();
    prepare(&mut real);
    prepare(&mut model);
    for step in 0..steps(3_000) {
        let function = &api.functions[random.usize(..api.functions.len())];
        let (keys, args) = (keys(&mut random, ROOT), spoiled(&mut random, function));
        let check_keys = step % 10 == 0;
        let before = check_keys.then(|| lasting(&mut real));
        let reply = real.fcall(&function.name, &borrowed(&keys), &args).unwrap();
        let on_model = model
            .fcall(&function.name, &borrowed(&keys), &args)
            .unwrap();
        let told = format!(
            "step {step}: {} {} | {}",
            function.name,
            shown(&keys),
            shown(&args)
        );
        assert_documented(function, &told, &reply);
        assert_eq!(
            is_refused(&reply),
            is_refused(&on_model),
            "{told}: {reply:?}, on the model {on_model:?}"
        );
        if is_refused(&reply) {
            assert_eq!(reply, on_model, "{told}");
            let changed = before.is_some_and(|before| before != lasting(&mut real));
            assert!(!changed, "{told}: {reply:?} and it changed something");
        }
    }
    assert_sound(&mut real, "at the end");
}

/// The shortest call of each function, without one of its options; what is tried is put into or after it.
fn base(function: &Function, without: &Argument) -> Vec<Vec<u8>> {
    let value = |argument: &Argument| match (argument.kind, argument.name.as_str()) {
        (Kind::Integer, _) => argument.limits().0.to_string(),
        (Kind::Choice, _) => argument.values[0].clone(),
        (Kind::Cursor, _) => "0".to_owned(),
        (Kind::Lang, _) => "-".to_owned(),
        (_, "node") => "n1".to_owned(),
        (Kind::Percent, _) => "5".to_owned(),
        (_, name) => name.to_owned(),
    };
    let mut call: Vec<String> = function.args.iter().map(value).collect();
    let required = function.options.iter().filter(|option| option.required);
    for option in required.filter(|option| option.name != without.name) {
        call.extend(option.keyword.clone());
        call.push(value(option));
    }
    // These two are told together.
    for (name, keyword) in [("gpu_used_mb", "GPU_TOTAL"), ("gpu_total_mb", "GPU_USED")] {
        if without.name == name {
            call.extend([keyword.to_owned(), "5".to_owned()]);
        }
    }
    words(&call)
}

/// Values at the edges of an argument's limits: those it takes, and those it does not.
fn edges(argument: &Argument) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (min, max) = argument.limits();
    let long = |length: u64| vec![b'x'; usize::try_from(length).unwrap()];
    let (mut good, mut bad) = match argument.kind {
        Kind::Integer => {
            let below = if min == 0 {
                "-1".to_owned()
            } else {
                (min - 1).to_string()
            };
            let good = words(&[min.to_string(), max.to_string()]);
            let bad = words(&[
                &below,
                &(max + 1).to_string(),
                "",
                "1.5",
                "1e2",
                "0x1",
                " 1",
                "+1",
            ]);
            (good, bad)
        }
        Kind::Percent => (
            words(&["0", "100", "99.99", "7."]),
            words(&["100.01", "101", "-0.1", "", "1e1", "x", ".5"]),
        ),
        Kind::Choice => (
            words(&argument.values),
            words(&["", "nope", &argument.values[0].to_uppercase()]),
        ),
        Kind::Cursor => (words(&["0"]), vec![vec![], long(max + 1), b"\n".to_vec()]),
        Kind::Bytes | Kind::Payload => (vec![long(min), long(max)], vec![long(max + 1)]),
        Kind::Id => (
            vec![long(min), long(max), b"a:{}".to_vec()],
            vec![vec![], long(max + 1), b"a b".to_vec(), b"a\0".to_vec()],
        ),
        Kind::Lang | Kind::Pair => (
            vec![long(min), long(max)],
            vec![vec![], long(max + 1), b"a:b".to_vec(), b"a b".to_vec()],
        ),
        Kind::Flag => (vec![], vec![]),
    };
    let is_number = matches!(argument.kind, Kind::Integer | Kind::Percent);
    if argument.dash {
        good.push(b"-".to_vec());
    } else if is_number {
        bad.push(b"-".to_vec());
    }
    if argument.minus_one {
        good.push(b"-1".to_vec());
    } else if is_number {
        bad.push(b"-1".to_vec());
    }
    (good, bad)
}

/// The words of one value: a pair has its two languages at the same edge, `-` in src and tgt go together.
fn with(function: &Function, argument: &Argument, value: &[u8]) -> Vec<Vec<u8>> {
    let mut call = base(function, argument);
    match &argument.keyword {
        Some(keyword) => {
            call.push(keyword.clone().into_bytes());
            call.push(value.to_vec());
            if argument.kind == Kind::Pair {
                call.push(value.to_vec());
            }
        }
        None => {
            for (at, other) in function.args.iter().enumerate() {
                if other.name == argument.name {
                    call[at] = value.to_vec();
                } else if argument.kind == Kind::Lang && other.kind == Kind::Lang {
                    call[at] = b"xx".to_vec();
                }
            }
        }
    }
    call
}

#[test]
fn every_limit_holds_at_its_edge() {
    let mut host = in_process();
    prepare(&mut host);
    let start = host.snapshot().unwrap();
    for function in &api().functions {
        for argument in function.args.iter().chain(&function.options) {
            let label = argument.keyword.as_ref().unwrap_or(&argument.name);
            let (good, bad) = edges(argument);
            let mut reply_to = |call: &[Vec<u8>]| {
                host.restore(&start).unwrap();
                host.fcall(&function.name, &[ROOT.as_bytes()], call)
                    .unwrap()
            };
            for value in good {
                let reply = reply_to(&with(function, argument, &value));
                assert_documented(function, label, &reply);
                let told = format!("{} {label} {}", function.name, shown(&[value]));
                assert_ne!(code(&reply), Some("BAD_ARGUMENT"), "{told}: {reply:?}");
            }
            let refusal = format!("BAD_ARGUMENT {label} takes {}, given ", argument.takes());
            for value in bad {
                let reply = reply_to(&with(function, argument, &value));
                let told = format!("{} {label} {}", function.name, shown(&[value]));
                assert!(
                    matches!(&reply, Reply::Error(line) if line.starts_with(&refusal)),
                    "{told}: {reply:?}"
                );
            }
        }
    }
}

#[test]
fn an_option_is_given_as_often_as_it_may_be_and_no_more() {
    let mut host = in_process();
    prepare(&mut host);
    let start = host.snapshot().unwrap();
    for function in &api().functions {
        for option in &function.options {
            let keyword = option.keyword.clone().unwrap();
            let times = option.many.unwrap_or(1);
            let mut call = base(function, option);
            for number in 0..=times {
                let value = match option.kind {
                    Kind::Choice => option.values[0].clone(),
                    Kind::Integer | Kind::Percent => option.limits().0.to_string(),
                    Kind::Cursor => "0".to_owned(),
                    _ => format!("v{number}"),
                };
                call.push(keyword.clone().into_bytes());
                let width = match option.kind {
                    Kind::Flag => 0,
                    Kind::Pair => 2,
                    _ => 1,
                };
                call.extend(std::iter::repeat_n(value.into_bytes(), width));
                host.restore(&start).unwrap();
                let reply = host
                    .fcall(&function.name, &[ROOT.as_bytes()], &call)
                    .unwrap();
                let is_too_often = matches!(&reply, Reply::Error(line) if line.starts_with(&format!("BAD_ARGUMENT {keyword} may be given")));
                assert_eq!(
                    is_too_often,
                    number == times,
                    "{} {keyword} {} times: {reply:?}",
                    function.name,
                    number + 1
                );
                assert!(
                    is_too_often || code(&reply) != Some("BAD_ARGUMENT"),
                    "{keyword}: {reply:?}"
                );
            }
        }
    }
}

#[test]
fn a_setting_takes_what_it_says() {
    let mut host = in_process();
    let reply = must(&mut host, "config");
    for pair in list(&reply).chunks(2) {
        let (name, value) = (text(&pair[0]), text(&pair[1]));
        must(&mut host, &format!("config {name} {value}"));
        for bad in ["-1", "x", "1e9", "99999999999999999", "0x1"] {
            let reply = cell::say(&mut host, &format!("config {name} {bad}"));
            let refusal = format!("BAD_ARGUMENT {name} takes ");
            assert!(
                matches!(&reply, Reply::Error(line) if line.starts_with(&refusal)),
                "{name} {bad}: {reply:?}"
            );
        }
    }
}
