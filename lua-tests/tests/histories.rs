//! Random histories of all functions: both models and a real server give the same replies and the same keys, and after every call
//! the cell is sound.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod cell;
mod histories {
    pub(crate) mod bindings;
    pub(crate) mod claimants;
    pub(crate) mod claims;
    pub(crate) mod counts;
    pub(crate) mod deployment_calls;
    pub(crate) mod generator;
    pub(crate) mod guarded;
    pub(crate) mod handed;
    pub(crate) mod news;
    pub(crate) mod oracle;
    pub(crate) mod queue_calls;
    pub(crate) mod spoken;
    pub(crate) mod task;
    pub(crate) mod tasks;
}

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use cell::{
    ROOT, api, assert_sound,
    audit::{leftovers, problems},
    call, code, command, in_process, keyspace, library, list, must, say, seed, shown, state, steps,
    text, texts, wasm,
};
use histories::{
    generator::{Call, Generator},
    oracle::Oracle,
};
use lockless_functions::api::Api;
use lockless_lua_tests::{Host, InProcess, Model, Real, Reply};
use lockless_servers::Standalone;

/// How many calls are shown when a history fails.
const SHOWN: usize = 25;

/// Runs a history and says, should it fail, how to repeat it and what happened last.
fn told(seed: u64, number: u64, run: impl FnOnce(&mut Vec<String>)) {
    let mut said = Vec::new();
    let result = catch_unwind(AssertUnwindSafe(|| run(&mut said)));
    if let Err(panic) = result {
        let from = said.len().saturating_sub(SHOWN);
        println!(
            "LOCKLESS_SEED={seed}, history {number}, step {}:\n{}",
            said.len(),
            said[from..].join("\n")
        );
        resume_unwind(panic);
    }
}

fn assert_documented(api: &Api, call: &Call, reply: &Reply) {
    let Some(code) = code(reply) else { return };
    let function = api
        .function(&format!("lockless_{}", call.function))
        .unwrap();
    assert!(
        function.errors.iter().any(|known| known == code),
        "{reply:?}"
    );
}

fn deregister_all(host: &mut dyn Host) {
    let page = must(host, "nodes 0 1000");
    for node in texts(&list(&page)[1]) {
        // One may have been forgotten by the call before.
        say(host, &format!("deregister {node}"));
    }
}

/// Cancels what waits and removes what is deployed, so that nothing stays once all nodes have gone.
fn cancel_all(host: &mut dyn Host) {
    let page = must(host, "deployments 0 1000");
    for deployment in list(&list(&page)[1]) {
        must(host, &format!("undeploy {}", texts(deployment)[0]));
    }
    let page = must(host, "jobs pending 0 1000");
    for job in texts(&list(&page)[1]) {
        must(host, &format!("cancel {job}"));
    }
}

/// Far beyond every clock, so that a real server's cell has time stand still until the field is moved.
const FROZEN_MS: u64 = 4_102_444_800_000;
/// Where news is announced.
const WAKE: &str = "scheduler:{main}:wake";
const LONG_KEPT: &str = "config keep_finished_ms 31536000000 session_ttl_ms 31536000000 heartbeat_ttl_ms 8000 forget_node_ms 20000";

/// What was announced since this was asked last.
fn said_by(host: &mut dyn Host) -> Vec<String> {
    let heard = host.heard().unwrap();
    heard
        .iter()
        .map(|message| message.escape_ascii().to_string())
        .collect()
}

/// A reply without the ids of events, which are drawn from the server's clock.
fn comparable(call: &Call, reply: &Reply) -> Reply {
    match reply {
        Reply::Array(items) if call.function == "events" => {
            let without_id = |event: &Reply| Reply::Array(list(event)[1..].to_vec());
            Reply::Array(list(&items[1]).iter().map(without_id).collect())
        }
        other => other.clone(),
    }
}

/// Compares all keys of the hosts with those of the last one, which is a server.
fn compare(hosts: &mut [&mut dyn Host]) {
    let [models @ .., real] = hosts else { return };
    let on_real = keyspace(*real);
    for model in models {
        let (on_model, name) = (keyspace(*model), model.name());
        for (key, value) in &on_model {
            assert_eq!(
                Some(value),
                on_real.get(key),
                "{key}, {name} first, then the server"
            );
        }
        assert_eq!(
            on_model.len(),
            on_real.len(),
            "{name} has {:?}",
            on_model.keys()
        );
    }
    assert_eq!(problems(&on_real), Vec::<String>::new());
    assert_sound(*real, "on the server");
}

/// Makes a call on all hosts, which must reply and announce the same. Returns the reply.
fn call_all(hosts: &mut [&mut dyn Host], next: &Call, said: &mut Vec<String>) -> Reply {
    let mut first = None;
    for host in hosts {
        let name = host.name().to_owned();
        let reply = call(*host, next.function, &next.args);
        let announced = said_by(*host);
        let Some((reply_before, announced_before)) = &first else {
            said.push(format!(
                "{} {} -> {reply:?}",
                next.function,
                shown(&next.args)
            ));
            first = Some((reply, announced));
            continue;
        };
        assert_eq!(
            comparable(next, reply_before),
            comparable(next, &reply),
            "in process first, then {name}"
        );
        assert_eq!(
            *announced_before, announced,
            "announced, in process first, then by {name}"
        );
    }
    first.unwrap().0
}

fn differential(api: &Api, hosts: &mut [&mut dyn Host], seed: u64, said: &mut Vec<String>) {
    let mut clock = FROZEN_MS;
    for host in hosts.iter_mut() {
        command(*host, "FLUSHALL");
        host.hear(WAKE.as_bytes()).unwrap();
        must(*host, LONG_KEPT);
        state::set(*host, "clock", clock);
        // Their first event is of the time before.
        command(*host, &format!("DEL {ROOT}:events"));
    }
    let mut generator = Generator::new(seed, false);
    for step in 1..=steps(1500) {
        if generator.one_in(4) {
            clock += generator.pause_ms();
            said.push(format!("clock {clock}"));
            for host in hosts.iter_mut() {
                state::set(*host, "clock", clock);
            }
        }
        let next = generator.call();
        let reply = call_all(hosts, &next, said);
        assert_documented(api, &next, &reply);
        generator.learn(&next, &reply);
        if step % 250 == 0 {
            compare(hosts);
        }
    }
    for host in hosts.iter_mut() {
        deregister_all(*host);
        while must(*host, "sweep") != Reply::Int(0) {}
        cancel_all(*host);
    }
    compare(hosts);
    for host in hosts.iter_mut() {
        assert_eq!(leftovers(&keyspace(*host)), Vec::<String>::new());
    }
}

#[test]
fn the_models_and_a_real_server_never_differ() {
    const HISTORIES: u64 = 4;
    let seed = seed();
    let server = Standalone::builder().private().start().unwrap();
    let mut real = Real::standalone(&server.url()).unwrap();
    real.load_library(&library()).unwrap();
    let (api, mut in_process, mut wasm) = (api(), in_process(), wasm());
    for number in 0..HISTORIES {
        let run = |said: &mut Vec<String>| {
            let hosts: &mut [&mut dyn Host] = &mut [&mut in_process, &mut wasm, &mut real];
            differential(&api, hosts, seed.wrapping_add(number), said);
        };
        told(seed, number, run);
    }
}

/// Settings with which much happens in a short time.
const LIVELY: &str = "config heartbeat_ttl_ms 8000 forget_node_ms 20000";
/// With these, records and sessions go soon as well; then most jobs do not take the plain way, for which the defaults count.
const SHORT_KEPT: &str = "config keep_finished_ms 6000 session_ttl_ms 4000";

/// Time passes on the model's own clock, so keys expire, outages happen, and now and then the clock goes back.
fn history(api: &Api, host: &mut dyn Model, seed: u64, said: &mut Vec<String>) {
    must(host, LIVELY);
    if seed.is_multiple_of(2) {
        must(host, SHORT_KEPT);
    }
    host.hear(WAKE.as_bytes()).unwrap();
    let mut generator = Generator::new(seed, true);
    let mut oracle = Oracle::default();
    for step in 1..=steps(1200) {
        if generator.one_in(4) {
            let pause = generator.pause_ms();
            if generator.one_in(40) {
                // A cell can not know of a time that passed and was taken back between two of its calls.
                must(host, "sweep");
                let now = text(&list(&command(host, "TIME"))[0])
                    .parse::<u64>()
                    .unwrap();
                host.set_time_ms(now * 1000 - pause.min(20_000)).unwrap();
                said.push(format!("clock goes back {pause} ms"));
            } else {
                host.pass_time(pause).unwrap();
                said.push(format!("{pause} ms pass"));
            }
        }
        let next = generator.call();
        oracle.before(host, &next);
        let reply = call(host, next.function, &next.args);
        said.push(format!(
            "{} {} -> {reply:?}",
            next.function,
            shown(&next.args)
        ));
        assert_documented(api, &next, &reply);
        generator.learn(&next, &reply);
        let said_aloud = said_by(host);
        oracle.after(host, &next, &reply, said_aloud);
        assert_sound(host, "after the call");
        if step % 20 == 0 {
            assert_eq!(problems(&keyspace(host)), Vec::<String>::new());
        }
    }
    deregister_all(host);
    for _ in 0..400 {
        host.pass_time(5_000).unwrap();
        must(host, "sweep");
        cancel_all(host);
    }
    assert_sound(host, "at the end");
    let left = keyspace(host);
    let stays = |key: &&String| {
        let suffix = key.strip_prefix(ROOT).unwrap_or(key);
        ["", ":config", ":due", ":events"].contains(&suffix) || suffix.starts_with(":match:")
    };
    assert_eq!(
        left.keys().filter(|key| !stays(key)).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    assert_eq!(
        left[&format!("{ROOT}:due")].items.len(),
        2,
        "only the sentinel is left"
    );
}

fn histories(fresh: impl Fn() -> Box<dyn Model>, numbers: std::ops::Range<u64>) {
    let (seed, api) = (seed(), api());
    for number in numbers {
        told(seed, number, |said| {
            history(&api, fresh().as_mut(), seed.wrapping_add(number), said);
        });
    }
}

#[test]
fn every_call_leaves_the_cell_sound() {
    histories(|| Box::new(in_process()), 0..4);
}

#[test]
fn every_call_leaves_the_cell_sound_with_other_seeds() {
    histories(|| Box::new(in_process()), 4..8);
}

#[test]
fn every_call_leaves_the_cell_sound_in_wasm() {
    histories(|| Box::new(wasm()), 8..11);
}

/// The same library without its plain ways: jobs of every kind go the general one. (`ack` keeps its own: it settles nothing.)
fn without_plain_ways() -> String {
    const PLAIN: &str = "configured ~= '1'";
    let library = library();
    assert_eq!(
        library.matches(PLAIN).count(),
        2,
        "of dispatch and complete"
    );
    library.replace(PLAIN, "false")
}

/// All keys but the cache of match results, which the plain way does not need.
fn compare_ways(hosts: &mut [&mut dyn Host]) {
    let [plain, general] = hosts else { return };
    let keys_of = |host: &mut dyn Host| {
        let mut keys = keyspace(host);
        keys.retain(|key, _| !key.contains(":match:"));
        keys
    };
    assert_eq!(keys_of(*plain), keys_of(*general), "plain, then general");
    assert_sound(*plain, "of the plain way");
}

#[test]
fn the_plain_ways_never_differ_from_the_general_one() {
    const HISTORIES: u64 = 6;
    let (seed, api, general) = (seed(), api(), without_plain_ways());
    for number in 0..HISTORIES {
        told(seed, number, |said| {
            let (mut plain, mut general) = (in_process(), InProcess::new(&general).unwrap());
            for host in [&mut plain, &mut general] {
                host.hear(WAKE.as_bytes()).unwrap();
                must(host, LIVELY);
            }
            let mut generator = Generator::new(seed.wrapping_add(number), true);
            for step in 1..=steps(1500) {
                if generator.one_in(4) {
                    let pause = generator.pause_ms();
                    plain.pass_time(pause).unwrap();
                    general.pass_time(pause).unwrap();
                    said.push(format!("{pause} ms pass"));
                }
                let next = generator.call();
                // How far a page goes depends on the cache, which the plain way leaves alone.
                if matches!(next.function, "check" | "repair") && !next.args.is_empty() {
                    continue;
                }
                let hosts: &mut [&mut dyn Host] = &mut [&mut plain, &mut general];
                let reply = call_all(hosts, &next, said);
                assert_documented(&api, &next, &reply);
                generator.learn(&next, &reply);
                if step % 10 == 0 {
                    compare_ways(hosts);
                }
            }
        });
    }
}
