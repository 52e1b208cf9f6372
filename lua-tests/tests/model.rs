//! The model of Redis, in process and in the WebAssembly module, held against a real server: every reply, then every key.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod model {
    pub(crate) mod compare;
    pub(crate) mod random;
}

use std::env;

use lockless_lua_tests::{Host, InProcess, Model, Reply};
use model::{compare::Hosts, random::Generator};

#[test]
fn known_sequences_give_the_same_replies() {
    let mut hosts = Hosts::start();
    for sequence in include_str!("model/sequences.txt").split("\n\n") {
        hosts.start_afresh();
        for line in sequence.lines().filter(|line| !line.starts_with('#')) {
            hosts.run_line(line);
        }
        hosts.compare_keys();
    }
    hosts.finish();
}

#[test]
fn random_histories_give_the_same_replies() {
    const HISTORIES: u64 = 8;
    const COMMANDS: usize = 1500;
    let seed = env::var("LOCKLESS_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..1 << 40));
    println!("LOCKLESS_SEED={seed}");
    let mut hosts = Hosts::start();
    for history in 0..HISTORIES {
        hosts.start_afresh();
        hosts.set_context(format!("LOCKLESS_SEED={seed} history {history}"));
        let mut generator = Generator::new(seed.wrapping_add(history));
        for _ in 0..COMMANDS {
            hosts.run(&generator.command());
        }
        hosts.compare_keys();
    }
    hosts.finish();
}

#[test]
fn large_collections_give_the_same_replies() {
    let mut hosts = Hosts::start();
    hosts.start_afresh();
    let mut random = fastrand::Rng::with_seed(11);
    // Beyond 100 entries a stream has several nodes, beyond 128 members and fields Redis changes its encodings.
    for n in 1..=700 {
        let (score, member) = (random.u32(..50), random.u32(..400));
        hosts.run_line(&format!("ZADD z {score} m{member}"));
        hosts.run_line(&format!(
            "ZINCRBY z {} m{}",
            random.i32(-9..9),
            random.u32(..400)
        ));
        hosts.run_line(&format!("HSET h f{member} {n}"));
        hosts.run_line(&format!("SADD s {member}"));
        hosts.run_line(&format!("XADD capped MAXLEN ~ 120 {n}-1 n {n}"));
        hosts.run_line(&format!(
            "XADD exact MAXLEN {} {n}-1 n {n}",
            if n % 9 == 0 { 90 } else { 250 }
        ));
        hosts.run_line(&format!(
            "XADD mixed MAXLEN {} {n}-1 n {n}",
            if n % 70 == 0 { "130" } else { "~ 60" }
        ));
        if n % 5 == 0 {
            hosts.run_line(&format!("ZREM z m{}", random.u32(..400)));
            hosts.run_line(&format!(
                "HDEL h f{} f{}",
                random.u32(..400),
                random.u32(..400)
            ));
            hosts.run_line(&format!("ZRANK z m{member}"));
            hosts.run_line(&format!("ZCOUNT z {score} ({}", score + 5));
            hosts.run_line("ZRANGE z 0 9 REV WITHSCORES");
            hosts.run_line("XLEN capped");
            hosts.run_line("XLEN mixed");
        }
    }
    hosts.run_line("ZREMRANGEBYSCORE z (20 30");
    hosts.run_line("ZREMRANGEBYRANK z 5 -20");
    hosts.compare_keys();
    hosts.finish();
}

#[test]
fn a_star_id_is_the_time_and_never_goes_back() {
    let mut host = InProcess::empty().unwrap();
    let mut add = |ms: u64| {
        host.set_time_ms(ms).unwrap();
        host.command(&["XADD", "x", "*", "f", "v"].map(|word| word.as_bytes().to_vec()))
            .unwrap()
    };
    let id = |text: &str| Reply::Bulk(text.as_bytes().to_vec());
    assert_eq!(add(5000), id("5000-0"));
    assert_eq!(add(5000), id("5000-1"));
    assert_eq!(add(4000), id("5000-2"));
    assert_eq!(add(6000), id("6000-0"));
}

#[test]
fn sorted_sets_stay_quick_with_many_members() {
    const MEMBERS: u64 = 10_000;
    let mut host = InProcess::empty().unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    for member in 0..MEMBERS {
        let words = [
            "ZADD".to_owned(),
            "z".to_owned(),
            random.u32(..).to_string(),
            format!("m{member}"),
        ];
        host.command(&words.map(String::into_bytes)).unwrap();
    }
    let card = host
        .command(&["ZCARD", "z"].map(|word| word.as_bytes().to_vec()))
        .unwrap();
    assert_eq!(card, Reply::Int(10_000));
}
