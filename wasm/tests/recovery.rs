//! A call that is stopped costs nothing but itself: what was there before stays, and the machine goes on.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod recovery {
    pub(crate) mod generator;
}

use lockless_wasm::{Limits, Machine, Published, Reply, Stopped};
use recovery::generator::{Generator, LARGE, Step};

const NOW_US: u64 = 1_767_225_600_000_000;
const LIMITS: Limits = Limits {
    memory_bytes: 16 << 20,
    budget_k_instructions: 2_000,
};

/// Functions that go wrong, each after changes and an announcement that must not stay.
const POISON: &str = r"#!lua name=poison
local function poison(name, run)
  redis.register_function(name, function()
    redis.call('SET', 'poisoned', 'yes')
    redis.call('DEL', 'kept', 's:{m}')
    redis.call('SPUBLISH', 'news', 'poisoned')
    return run()
  end)
end
poison('endless', function() while true do end end)
poison('caught', function() while true do pcall(error, 'again') end end)
poison('backtracks', function() return string.match(string.rep('a', 200000), '(.-)b') end)
poison('deep', function() return string.match(string.rep('a', 100000), string.rep('a?', 100000)) end)
poison('hoards', function()
  local all, piece = {}, string.rep('x', 1000)
  while true do all[#all + 1] = string.rep(piece, 20) .. #all end
end)
poison('doubles', function() local s = 'x' while true do s = s .. s end end)
redis.register_function('recurses', function()
  local function f(n) return 1 + f(n + 1) end
  return f(1)
end)
";

const POISONOUS: [(&str, Stopped); 6] = [
    ("endless", Stopped::Budget),
    ("caught", Stopped::Budget),
    ("backtracks", Stopped::Budget),
    ("deep", Stopped::Stack),
    ("hoards", Stopped::Memory),
    ("doubles", Stopped::Memory),
];

fn call(machine: &mut Machine, line: &str) -> Result<Reply, Stopped> {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    machine.call(&words, NOW_US)
}

fn keyspace(machine: &mut Machine) -> String {
    match call(machine, "DEBUG KEYSPACE").unwrap() {
        Reply::Bulk(text) => String::from_utf8(text).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn poisonable() -> Machine {
    let mut machine = Machine::start(LIMITS, NOW_US).unwrap();
    let load: [&[u8]; 3] = [b"FUNCTION", b"LOAD", POISON.as_bytes()];
    machine.call(&load, NOW_US).unwrap();
    machine
}

fn said(machine: &mut Machine) -> Vec<String> {
    let text = |said: Published| String::from_utf8(said.message).unwrap();
    machine.published().into_iter().map(text).collect()
}

#[test]
fn a_poisonous_call_leaves_everything_as_it_was() {
    let mut machine = poisonable();
    call(&mut machine, "SET kept 1").unwrap();
    call(&mut machine, "FCALL lockless_register 1 s:{m} n1 4").unwrap();
    for (name, reason) in POISONOUS {
        call(&mut machine, "INCR kept").unwrap();
        let before = keyspace(&mut machine);
        let outcome = call(&mut machine, &format!("FCALL {name} 0"));
        assert_eq!(outcome, Err(reason), "{name}");
        assert_eq!(keyspace(&mut machine), before, "{name}");
        assert_eq!(said(&mut machine), Vec::<String>::new(), "{name}");
        let dispatch = format!("FCALL lockless_dispatch 1 s:{{m}} s - - p JOB {name}");
        let given = call(&mut machine, &dispatch);
        assert!(matches!(given, Ok(Reply::Array(_))), "{name}: {given:?}");
        let complete = format!("FCALL lockless_complete 1 s:{{m}} {name} n1 finished");
        let ended = call(&mut machine, &complete);
        assert_eq!(ended, Ok(Reply::Status("OK".to_owned())), "{name}");
    }
    let check = call(&mut machine, "FCALL_RO lockless_check 1 s:{m}");
    assert_eq!(check, Ok(Reply::Array(Vec::new())));
}

/// Lua's own limit is an error like any other, as it is in Redis.
#[test]
fn a_recursion_without_end_is_an_ordinary_error() {
    let mut machine = poisonable();
    let reply = call(&mut machine, "FCALL recurses 0").unwrap();
    assert!(
        matches!(&reply, Reply::Error(line) if line.contains("stack overflow")),
        "{reply:?}"
    );
}

#[test]
fn messages_are_neither_lost_nor_said_twice() {
    let mut machine = poisonable();
    let poison = |machine: &mut Machine| call(machine, "FCALL endless 0").unwrap_err();
    call(&mut machine, "SPUBLISH c one").unwrap();
    call(&mut machine, "SPUBLISH c two").unwrap();
    assert_eq!(said(&mut machine), ["one", "two"]);
    poison(&mut machine);
    assert_eq!(said(&mut machine), Vec::<String>::new());
    call(&mut machine, "SPUBLISH c three").unwrap();
    poison(&mut machine);
    call(&mut machine, "SPUBLISH c four").unwrap();
    poison(&mut machine);
    assert_eq!(said(&mut machine), ["three", "four"]);
    poison(&mut machine);
    assert_eq!(said(&mut machine), Vec::<String>::new());
}

#[test]
fn a_budget_of_nearly_nothing_stops_what_needs_more_and_only_that() {
    let limits = Limits {
        budget_k_instructions: 1,
        ..LIMITS
    };
    let mut machine = Machine::start(limits, NOW_US).unwrap();
    let register = "FCALL lockless_register 1 s:{m} n1 4 POOL a PAIR en fr LABEL x LABEL y";
    assert_eq!(call(&mut machine, register), Err(Stopped::Budget));
    assert_eq!(keyspace(&mut machine), "");
    let set = call(&mut machine, "SET k v");
    assert_eq!(set, Ok(Reply::Status("OK".to_owned())));
    assert_eq!(call(&mut machine, register), Err(Stopped::Budget));
    assert_eq!(keyspace(&mut machine), "\"k\" string \"v\"");
}

/// Where memory is full, whether a call is refused depends on garbage, which a rebuild does not repeat. What was done is, all the same.
#[test]
fn a_full_machine_is_rebuilt_too() {
    let mut machine = poisonable();
    let value = "v".repeat(5000);
    let mut stored = 0;
    let refused = loop {
        match call(&mut machine, &format!("SET k{stored} {value}{stored}")).unwrap() {
            Reply::Error(line) => break line,
            _ => stored += 1,
        }
        if stored % 500 == 0 {
            assert_eq!(call(&mut machine, "FCALL hoards 0"), Err(Stopped::Memory));
        }
    };
    assert!(refused.starts_with("OOM "), "{refused}");
    assert!(stored > 2000, "{stored}");
    for key in 0..3 {
        // What is not refused when memory is full, and changes something.
        assert_eq!(
            call(&mut machine, &format!("DEL k{key}")),
            Ok(Reply::Int(1))
        );
        let before = call(&mut machine, "DBSIZE");
        assert_eq!(before, Ok(Reply::Int(stored - 1 - key)));
        // It is not let in while memory is full, and comes to its end when it is.
        let hoards = call(&mut machine, "FCALL hoards 0");
        assert!(
            matches!(&hoards, Err(Stopped::Memory))
                || matches!(&hoards, Ok(Reply::Error(line)) if line.starts_with("OOM ")),
            "{hoards:?}"
        );
        assert_eq!(call(&mut machine, "DBSIZE"), before);
    }
}

/// Runs a history, with or without poison, and returns all that could be seen of it.
fn seen(seed: u64, poison: bool) -> (Vec<String>, String) {
    let mut machine = poisonable();
    let (mut generator, mut seen) = (Generator::new(seed), Vec::new());
    let mut poisoner = fastrand::Rng::with_seed(!seed);
    let mut now_us = NOW_US;
    for _ in 0..400 {
        let step = generator.step();
        if poison && poisoner.u32(..25) == 0 {
            let (name, reason) = &POISONOUS[poisoner.usize(..POISONOUS.len())];
            let fcall: [&[u8]; 3] = [b"FCALL", name.as_bytes(), b"0"];
            assert_eq!(machine.call(&fcall, now_us), Err(reason.clone()));
        }
        match step {
            Step::Pause(us) => now_us = now_us.saturating_add_signed(us),
            Step::Listen => seen.push(format!("heard {:?}", said(&mut machine))),
            Step::Call(words) => {
                let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
                let reply = machine.call(&words, now_us).unwrap();
                seen.push(format!("{} -> {reply:?}", words[1].escape_ascii()));
            }
        }
    }
    // Written out with all others, the large ones would exceed the budget.
    for key in LARGE {
        seen.push(format!("{:?}", call(&mut machine, &format!("GET {key}"))));
        call(&mut machine, &format!("DEL {key}")).unwrap();
    }
    (seen, keyspace(&mut machine))
}

#[test]
fn a_history_with_poison_ends_like_the_one_without() {
    let seed = std::env::var("LOCKLESS_SEED").ok();
    let seed = seed.map_or_else(|| fastrand::u64(..1 << 40), |seed| seed.parse().unwrap());
    println!("LOCKLESS_SEED={seed}");
    for number in 0..2 {
        let (clean, clean_keys) = seen(seed.wrapping_add(number), false);
        let (poisoned, poisoned_keys) = seen(seed.wrapping_add(number), true);
        for (clean, poisoned) in clean.iter().zip(&poisoned) {
            assert_eq!(clean, poisoned, "LOCKLESS_SEED={seed}, history {number}");
        }
        assert_eq!(clean.len(), poisoned.len());
        assert_eq!(
            clean_keys, poisoned_keys,
            "LOCKLESS_SEED={seed}, history {number}"
        );
    }
}
