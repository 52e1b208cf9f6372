//! A module that is full refuses what a full Redis refuses, with the same words, and runs what that runs.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use lockless_functions::api::Api;
use lockless_lua_tests::{Host, Real, Reply};
use lockless_servers::Standalone;
use lockless_wasm::{Limits, Machine, Reply as Answer};

const NOW_US: u64 = 1_767_225_600_000_000;
const LIMITS: Limits = Limits {
    memory_bytes: 8 << 20,
    budget_k_instructions: 100_000,
};
const OOM: &str = "OOM command not allowed when used memory > 'maxmemory'.";

/// One call of every command of the model that writes, and of some that only read.
const COMMANDS: [&str; 40] = [
    "GET k",
    "SET k v",
    "INCR n",
    "DECR n",
    "INCRBY n 2",
    "DEL k",
    "UNLINK k",
    "EXISTS k",
    "RENAME k l",
    "EXPIRE k 9",
    "PEXPIRE k 9",
    "PEXPIREAT k 9",
    "PERSIST k",
    "PTTL k",
    "HSET h f v",
    "HSETNX h f v",
    "HINCRBY h c 1",
    "HDEL h f",
    "HGET h f",
    "HGETALL h",
    "SADD s m",
    "SREM s m",
    "SMEMBERS s",
    "ZADD z 1 m",
    "ZINCRBY z 1 m",
    "ZREM z m",
    "ZPOPMIN z",
    "ZREMRANGEBYSCORE z 1 2",
    "ZREMRANGEBYRANK z 0 1",
    "ZRANGE z 0 1",
    "ZSCORE z m",
    "XADD x * f v",
    "XLEN x",
    "XRANGE x - +",
    "PUBLISH c m",
    "SPUBLISH c m",
    "TYPE k",
    "KEYS none",
    "TIME",
    "FUNCTION LOAD x",
];

fn words(line: &str) -> Vec<Vec<u8>> {
    line.split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect()
}

fn ask(machine: &mut Machine, line: &str) -> Answer {
    let words = words(line);
    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    machine.call(&words, NOW_US).unwrap()
}

fn full_machine() -> Machine {
    let mut machine = Machine::start(LIMITS, NOW_US).unwrap();
    for n in 0.. {
        // Equal texts would be one text.
        let filler = format!("{n}{}", "x".repeat(50_000));
        match ask(&mut machine, &format!("SET filler-{n} {filler}")) {
            Answer::Error(line) => {
                assert_eq!(line, OOM);
                break;
            }
            _ => assert!(n < 1000, "it never is full"),
        }
    }
    machine
}

fn full_server() -> (Standalone, Real) {
    let server = Standalone::builder().private().start().unwrap();
    let mut real = Real::standalone(&server.url()).unwrap();
    real.load_library(lockless_functions::LIBRARY).unwrap();
    let set = real.command(&words("CONFIG SET maxmemory 1")).unwrap();
    assert_eq!(set, Reply::Status("OK".to_owned()));
    (server, real)
}

#[test]
fn a_full_module_refuses_what_a_full_redis_refuses() {
    let (_server, mut real) = full_server();
    let mut machine = full_machine();
    let api = Api::parse(lockless_functions::API).unwrap();
    let functions: Vec<String> = api
        .functions
        .iter()
        .map(|function| format!("FCALL {} 1 s:{{m}} none", function.name))
        .collect();
    assert!(functions.len() > 40, "only {} functions", functions.len());
    let (mut refused, mut differing) = (0, Vec::new());
    for line in COMMANDS
        .iter()
        .copied()
        .chain(functions.iter().map(String::as_str))
    {
        let theirs = real.command(&words(line)).unwrap() == Reply::Error(OOM.to_owned());
        let ours = ask(&mut machine, line) == Answer::Error(OOM.to_owned());
        refused += usize::from(theirs);
        if theirs != ours {
            differing.push(format!("{line}: Redis refuses {theirs}, the module {ours}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(refused > 20, "only {refused} were refused");
}

#[test]
fn a_module_that_was_full_takes_all_again_when_it_has_room() {
    let mut machine = full_machine();
    for n in 0..100 {
        ask(&mut machine, &format!("DEL filler-{n}"));
    }
    let taken = (0..2000).any(|_| ask(&mut machine, "SET k v") == Answer::Status("OK".to_owned()));
    assert!(taken, "it stays full");
    let mut machine = full_machine();
    ask(&mut machine, "FLUSHALL");
    assert_eq!(
        ask(&mut machine, "SET k v"),
        Answer::Status("OK".to_owned())
    );
}
