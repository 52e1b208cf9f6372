//! Many callers at once on one server: each decision is made once.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod concurrent {
    mod claims;
}

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

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

/// Jobs of each producer, and how many producers and nodes there are.
const JOBS: usize = 150;
const PRODUCERS: usize = 4;
const NODES: usize = 4;

type Item = Vec<redis::Value>;

/// The id of a job item and the attempt it is.
fn handed(item: &Item) -> (String, i64) {
    let read = |at: usize| redis::from_redis_value(item[at].clone()).unwrap();
    let attempt = redis::from_redis_value(item[11].clone()).unwrap();
    (read(1), attempt)
}

fn submit_all(server: &Standalone, producer: usize) {
    let mut connection = connect(server);
    for number in 0..JOBS {
        let delay = if number % 9 == 0 { " DELAY 3" } else { "" };
        let line = format!(
            "submit p{producer}-{number} p POOL {} PRIORITY {}{delay}",
            ["a", "b"][number % 2],
            number % 5
        );
        // Said twice, as a caller does who lost the reply.
        let answers: [i64; 2] = [0, 1].map(|_| call(&mut connection, &line));
        assert_eq!(answers, [1, 0], "{line}");
    }
}

/// Pulls and completes until all jobs have finished. Every seventh try fails, and every eleventh is given up.
fn work_off(server: &Standalone, node: usize) -> Vec<(String, i64)> {
    let mut connection = connect(server);
    let mut tried = Vec::new();
    let started = Instant::now();
    for request in 0.. {
        let line = format!("pull n{node} COUNT 3 REQUEST r{request}");
        let (items, _): (Vec<Item>, Vec<String>) = call(&mut connection, &line);
        if !items.is_empty() {
            let (again, _): (Vec<Item>, Vec<String>) = call(&mut connection, &line);
            assert_eq!(again, items, "{line}");
        }
        for item in &items {
            let (job, attempt) = handed(item);
            tried.push((job.clone(), attempt));
            let word = match tried.len() {
                count if count % 7 == 0 && attempt == 1 => format!("complete {job} n{node} failed"),
                count if count % 11 == 0 => format!("stopped {job} n{node} ok"),
                _ => format!("complete {job} n{node} finished"),
            };
            let _: String = call(&mut connection, &word);
        }
        let counts: BTreeMap<String, i64> = call(&mut connection, "stats");
        if counts["finished"] == i64::try_from(JOBS * PRODUCERS).unwrap() {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{counts:?}");
    }
    tried
}

#[test]
fn a_job_from_the_queue_is_tried_by_one_node_at_a_time_and_finishes_once() {
    let server = server();
    let mut connection = connect(&server);
    let _: redis::Value = call(
        &mut connection,
        "config retry_backoff_ms 1 retry_backoff_max_ms 5 heartbeat_ttl_ms 1800000",
    );
    for node in 0..NODES {
        let line = format!("register n{node} 3 POOL b{}", [" POOL a", ""][node % 2]);
        let _: redis::Value = call(&mut connection, &line);
    }
    let tried: Vec<(String, i64)> = thread::scope(|scope| {
        let server = &server;
        for producer in 0..PRODUCERS {
            scope.spawn(move || submit_all(server, producer));
        }
        let nodes: Vec<_> = (0..NODES)
            .map(|node| scope.spawn(move || work_off(server, node)))
            .collect();
        nodes
            .into_iter()
            .flat_map(|node| node.join().unwrap())
            .collect()
    });
    let distinct: BTreeSet<&(String, i64)> = tried.iter().collect();
    assert_eq!(distinct.len(), tried.len(), "a try was handed out twice");
    let jobs: BTreeSet<&String> = tried.iter().map(|(job, _)| job).collect();
    assert_eq!(jobs.len(), JOBS * PRODUCERS);
    let counts: BTreeMap<String, i64> = call(&mut connection, "stats");
    let expected = |name: &str| counts[name].to_string();
    assert_eq!(expected("started_total"), tried.len().to_string());
    assert_eq!(expected("completed_total"), (JOBS * PRODUCERS).to_string());
    assert_eq!([expected("pending"), expected("live")], ["0", "0"]);
    let violations: Vec<String> = call(&mut connection, "check");
    assert_eq!(violations, Vec::<String>::new());
}
