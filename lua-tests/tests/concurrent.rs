//! Many callers at once on one server: each decision is made once.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use std::{collections::BTreeSet, sync::Barrier, thread};

use lockless_functions::LIBRARY;
use lockless_servers::Standalone;
use redis::{Connection, FromRedisValue};

const CALLERS: usize = 8;

fn server() -> Standalone {
    let server = Standalone::builder().private().start().unwrap();
    redis::cmd("FUNCTION")
        .arg(&["LOAD", LIBRARY])
        .exec(&mut connect(&server))
        .unwrap();
    server
}

fn connect(server: &Standalone) -> Connection {
    redis::Client::open(server.url())
        .unwrap()
        .get_connection()
        .unwrap()
}

fn call<T: FromRedisValue>(caller: &mut Connection, line: &str) -> T {
    let mut words = line.split(' ');
    redis::cmd("FCALL")
        .arg(format!("lockless_{}", words.next().unwrap()))
        .arg(1)
        .arg("scheduler:{main}")
        .arg(words.collect::<Vec<_>>())
        .query(caller)
        .unwrap()
}

/// What all callers got, each making its calls in one go with the others.
fn at_once<T: FromRedisValue + Send>(
    server: &Standalone,
    calls: impl Fn(usize) -> Vec<String> + Sync,
) -> Vec<T> {
    let barrier = Barrier::new(CALLERS);
    thread::scope(|scope| {
        let caller = |number: usize| {
            let (barrier, calls) = (&barrier, &calls);
            move || {
                let mut connection = connect(server);
                let lines = calls(number);
                barrier.wait();
                lines
                    .iter()
                    .map(|line| call(&mut connection, line))
                    .collect::<Vec<T>>()
            }
        };
        let threads: Vec<_> = (0..CALLERS)
            .map(|number| scope.spawn(caller(number)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}

#[test]
fn a_limit_allows_exactly_its_number() {
    let server = server();
    let answers: Vec<(u8, i64, i64)> =
        at_once(&server, |_| vec!["limit api 100 600000".to_owned(); 50]);
    let left: BTreeSet<i64> = answers
        .iter()
        .filter(|(allowed, ..)| *allowed == 1)
        .map(|(_, remaining, _)| *remaining)
        .collect();
    // A hundred were allowed, and each was told another number.
    assert_eq!(left, (0..100).collect());
    assert_eq!(
        answers.iter().filter(|(allowed, ..)| *allowed == 1).count(),
        100
    );
}

#[test]
fn a_missing_model_has_one_act() {
    let server = server();
    for number in 0..CALLERS {
        let line = format!("register n{number} 1 LABEL model:m@1");
        let _: redis::Value = call(&mut connect(&server), &line);
    }
    let answers: Vec<String> = at_once(&server, |number| {
        vec![format!("model_unavailable n{number} m@1 WINDOW 600000"); 5]
    });
    assert_eq!(answers.iter().filter(|answer| *answer == "ACT").count(), 1);
}

#[test]
fn a_lock_has_one_holder() {
    let server = server();
    let answers: Vec<(u8, String)> =
        at_once(&server, |number| vec![format!("lock l o{number} 600000")]);
    let holders = answers.iter().filter(|(locked, _)| *locked == 1).count();
    assert_eq!(holders, 1);
}

#[test]
fn a_session_is_bound_once() {
    let server = server();
    for node in ["n1", "n2"] {
        let _: redis::Value = call(&mut connect(&server), &format!("register {node} 1"));
    }
    let answers: Vec<Vec<String>> = at_once(&server, |number| vec![format!("bind s r{number}")]);
    let state = |wanted: &str| answers.iter().filter(|fields| fields[1] == wanted).count();
    assert_eq!((state("bound"), state("existing")), (1, CALLERS - 1));
    let leases: BTreeSet<&String> = answers.iter().map(|fields| &fields[5]).collect();
    assert_eq!(leases.len(), 1);
}
