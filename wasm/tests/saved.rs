//! A state that is saved and loaded again: what a snapshot holds, and what the time in between does.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use lockless_wasm::{Limits, Machine, Reply, Stopped};

const NOW_US: u64 = 1_767_225_600_000_000;
const SECOND_US: u64 = 1_000_000;
const HOUR_US: u64 = 3600 * SECOND_US;

fn call(machine: &mut Machine, line: &str, now_us: u64) -> Reply {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    machine.call(&words, now_us).unwrap()
}

fn fcall(machine: &mut Machine, function: &str, arguments: &str, now_us: u64) -> Reply {
    let line = format!("FCALL lockless_{function} 1 cell:{{a}} {arguments}");
    call(machine, line.trim_end(), now_us)
}

/// A cell with a node that has a job.
fn busy() -> Machine {
    let mut machine = Machine::start(Limits::default(), NOW_US).unwrap();
    for (function, arguments) in [
        ("register", "n1 1"),
        ("dispatch", "s - - payload JOB j1"),
        ("ack", "j1 n1"),
    ] {
        let reply = fcall(&mut machine, function, arguments, NOW_US);
        assert!(!matches!(reply, Reply::Error(_)), "{reply:?}");
    }
    machine
}

fn loaded(state: &[u8], now_us: u64) -> Machine {
    let mut machine = Machine::start(Limits::default(), now_us).unwrap();
    machine.load(state, now_us).unwrap();
    machine
}

fn status(machine: &mut Machine, now_us: u64) -> String {
    let Reply::Array(fields) = fcall(machine, "job", "j1", now_us) else {
        panic!("fields were expected")
    };
    let bulk = |text: &str| Reply::Bulk(text.as_bytes().to_vec());
    let at = fields
        .iter()
        .position(|field| *field == bulk("status"))
        .unwrap();
    match &fields[at + 1] {
        Reply::Bulk(status) => String::from_utf8(status.clone()).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_snapshot_has_what_was_there_when_it_was_taken() {
    let mut machine = busy();
    let state = machine.save().unwrap();
    let snapshot = machine.snapshot().unwrap();
    // Elsewhere, while calls go on, images are taken and instances end.
    let elsewhere = std::thread::spawn(move || snapshot.save().unwrap());
    call(&mut machine, "SET later 1", NOW_US);
    drop(machine.snapshot().unwrap());
    assert!(fcall(&mut machine, "complete", "j1 n1 finished", NOW_US) != Reply::Nil);
    assert_eq!(elsewhere.join().unwrap(), state);
    let again = machine.snapshot().unwrap().save().unwrap();
    assert_eq!(again, machine.save().unwrap());
    assert_ne!(again, state);
}

#[test]
fn the_time_between_a_save_and_a_load_is_an_outage_not_a_loss() {
    let state = busy().save().unwrap();
    let back_us = NOW_US + HOUR_US;
    let mut machine = loaded(&state, back_us);
    // Presence ran out long ago, but nobody could be heard.
    assert_eq!(fcall(&mut machine, "sweep", "", back_us), Reply::Int(0));
    let nearly = back_us + 29 * SECOND_US;
    assert_eq!(fcall(&mut machine, "sweep", "", nearly), Reply::Int(0));
    assert_eq!(status(&mut machine, nearly), "running");
    let beat = fcall(&mut machine, "heartbeat", "n1", nearly);
    assert!(!matches!(beat, Reply::Error(_)), "{beat:?}");
    assert_eq!(status(&mut machine, nearly), "running");

    // A node that stays away for one more heartbeat_ttl_ms is lost.
    let mut machine = loaded(&state, back_us);
    assert_eq!(fcall(&mut machine, "sweep", "", back_us), Reply::Int(0));
    // Calls go on in between, so that there is no second outage.
    for seconds in 1..=31 {
        fcall(&mut machine, "sweep", "", back_us + seconds * SECOND_US);
    }
    assert_eq!(status(&mut machine, back_us + 32 * SECOND_US), "expired");
}

#[test]
fn keys_whose_time_ended_in_between_are_gone() {
    let mut machine = busy();
    call(&mut machine, "SET short 1 PX 5000", NOW_US);
    call(&mut machine, "SET long 1 PX 7200000", NOW_US);
    let mut machine = loaded(&machine.save().unwrap(), NOW_US + HOUR_US);
    let exists = |machine: &mut Machine, key: &str| {
        call(machine, &format!("EXISTS {key}"), NOW_US + HOUR_US)
    };
    assert_eq!(exists(&mut machine, "short"), Reply::Int(0));
    assert_eq!(exists(&mut machine, "long"), Reply::Int(1));
}

/// Runs calls of a function with the numbers from 0 on, until one is refused or stopped; says how many went through.
fn repeat_until_refused(
    machine: &mut Machine,
    function: &str,
    arguments: impl Fn(u32) -> String,
) -> (u32, Result<Reply, Stopped>) {
    const TRIES: u32 = 100_000;
    for n in 0..TRIES {
        let line = format!("FCALL {function} 1 cell:{{a}} {}", arguments(n));
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        match machine.call(&words, NOW_US) {
            Ok(Reply::Error(line)) => return (n, Ok(Reply::Error(line))),
            Ok(_) => {}
            Err(stopped) => return (n, Err(stopped)),
        }
    }
    panic!("{function} was never refused");
}

#[test]
fn a_machine_that_is_full_to_the_last_is_saved_and_loaded_under_the_same_limit() {
    let limits = Limits {
        memory_bytes: 8 << 20,
        ..Limits::default()
    };
    let mut machine = Machine::start(limits, NOW_US).unwrap();
    call(
        &mut machine,
        "FCALL lockless_register 1 cell:{a} n1 10000",
        NOW_US,
    );
    // Equal texts are kept once, so each is its own.
    let text = "x".repeat(10_000);
    let (jobs, refused) = repeat_until_refused(&mut machine, "lockless_dispatch", |n| {
        format!("s - - payload-{n}-{text} JOB j{n}")
    });
    assert!(
        matches!(&refused, Ok(Reply::Error(line)) if line.starts_with("OOM ")),
        "{refused:?}"
    );
    // What gives capacity back still runs, and its results take the memory there is.
    let (ended, stopped) = repeat_until_refused(&mut machine, "lockless_complete", |n| {
        format!("j{n} n1 finished RESULT result-{n}-{text}")
    });
    assert_eq!(stopped, Err(Stopped::Memory));
    assert!(ended > 0 && ended < jobs, "{ended} of {jobs} ended");

    let keys = call(&mut machine, "DBSIZE", NOW_US);
    let state = machine.save().unwrap();
    assert_eq!(machine.snapshot().unwrap().save().unwrap(), state);
    let mut machine = Machine::start(limits, NOW_US).unwrap();
    machine.load(&state, NOW_US).unwrap();
    assert_eq!(call(&mut machine, "DBSIZE", NOW_US), keys);
    // Loading again needs room for the old keyspace beside the new one.
    machine.load(&state, NOW_US).unwrap();
    assert_eq!(call(&mut machine, "DBSIZE", NOW_US), keys);
}
