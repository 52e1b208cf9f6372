//! Random histories of all functions: the model and a real server give the same replies and the same keys, and after every call
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
    call, code, command, in_process, keyspace, library, list, must, say, seed, shown, steps, text,
    texts,
};
use histories::{
    generator::{Call, Generator},
    oracle::Oracle,
};
use lockless_functions::api::Api;
use lockless_lua_tests::{Host, InProcess, Real, Reply};
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

fn differential(
    api: &Api,
    model: &mut InProcess,
    real: &mut Real,
    seed: u64,
    said: &mut Vec<String>,
) {
    let mut clock = FROZEN_MS;
    for host in [model as &mut dyn Host, real] {
        command(host, "FLUSHALL");
        host.hear(WAKE.as_bytes()).unwrap();
        must(host, LONG_KEPT);
        command(host, &format!("HSET {ROOT} clock {clock}"));
        // Their first event is of the time before.
        command(host, &format!("DEL {ROOT}:events"));
    }
    let mut generator = Generator::new(seed, false);
    let compare = |model: &mut InProcess, real: &mut Real| {
        let (on_model, on_real) = (keyspace(model), keyspace(real));
        for (key, value) in &on_model {
            assert_eq!(
                Some(value),
                on_real.get(key),
                "{key}, the model first, then the server"
            );
        }
        assert_eq!(
            on_model.len(),
            on_real.len(),
            "the model has {:?}",
            on_model.keys()
        );
        assert_eq!(problems(&on_real), Vec::<String>::new());
        assert_sound(real, "on the server");
    };
    for step in 1..=steps(1500) {
        if generator.one_in(4) {
            clock += generator.pause_ms();
            said.push(format!("clock {clock}"));
            for host in [model as &mut dyn Host, real] {
                command(host, &format!("HSET {ROOT} clock {clock}"));
            }
        }
        let next = generator.call();
        let on_model = call(model, next.function, &next.args);
        said.push(format!(
            "{} {} -> {on_model:?}",
            next.function,
            shown(&next.args)
        ));
        let on_real = call(real, next.function, &next.args);
        assert_eq!(
            comparable(&next, &on_model),
            comparable(&next, &on_real),
            "the model first, then the server"
        );
        assert_eq!(
            said_by(model),
            said_by(real),
            "announced, by the model first, then by the server"
        );
        assert_documented(api, &next, &on_model);
        generator.learn(&next, &on_model);
        if step % 250 == 0 {
            compare(model, real);
        }
    }
    for host in [model as &mut dyn Host, real] {
        deregister_all(host);
        while must(host, "sweep") != Reply::Int(0) {}
        cancel_all(host);
    }
    compare(model, real);
    assert_eq!(leftovers(&keyspace(real)), Vec::<String>::new());
}

#[test]
fn the_model_and_a_real_server_never_differ() {
    const HISTORIES: u64 = 4;
    let seed = seed();
    let server = Standalone::builder().private().start().unwrap();
    let mut real = Real::standalone(&server.url()).unwrap();
    real.load_library(&library()).unwrap();
    let (api, mut model) = (api(), in_process());
    for number in 0..HISTORIES {
        let run = |said: &mut Vec<String>| {
            differential(&api, &mut model, &mut real, seed.wrapping_add(number), said);
        };
        told(seed, number, run);
    }
}

/// Time passes on the model's own clock, so keys expire, outages happen, and now and then the clock goes back.
fn in_process_history(api: &Api, seed: u64, said: &mut Vec<String>) {
    let mut host = in_process();
    must(
        &mut host,
        "config heartbeat_ttl_ms 8000 forget_node_ms 20000 keep_finished_ms 6000 session_ttl_ms 4000",
    );
    host.hear(WAKE.as_bytes()).unwrap();
    let mut generator = Generator::new(seed, true);
    let mut oracle = Oracle::default();
    for step in 1..=steps(1200) {
        if generator.one_in(4) {
            let pause = generator.pause_ms();
            if generator.one_in(40) {
                // A cell can not know of a time that passed and was taken back between two of its calls.
                must(&mut host, "sweep");
                let now = text(&list(&command(&mut host, "TIME"))[0])
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
        oracle.before(&mut host, &next);
        let reply = call(&mut host, next.function, &next.args);
        said.push(format!(
            "{} {} -> {reply:?}",
            next.function,
            shown(&next.args)
        ));
        assert_documented(api, &next, &reply);
        generator.learn(&next, &reply);
        let said_aloud = said_by(&mut host);
        oracle.after(&mut host, &next, &reply, said_aloud);
        assert_sound(&mut host, "after the call");
        if step % 20 == 0 {
            assert_eq!(problems(&keyspace(&mut host)), Vec::<String>::new());
        }
    }
    deregister_all(&mut host);
    for _ in 0..400 {
        host.pass_time(500).unwrap();
        must(&mut host, "sweep");
        cancel_all(&mut host);
    }
    assert_sound(&mut host, "at the end");
    let left = keyspace(&mut host);
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

fn in_process_histories(numbers: std::ops::Range<u64>) {
    let (seed, api) = (seed(), api());
    for number in numbers {
        told(seed, number, |said| {
            in_process_history(&api, seed.wrapping_add(number), said);
        });
    }
}

#[test]
fn every_call_leaves_the_cell_sound() {
    in_process_histories(0..4);
}

#[test]
fn every_call_leaves_the_cell_sound_with_other_seeds() {
    in_process_histories(4..8);
}
