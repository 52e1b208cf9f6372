//! Keys whose time has passed go, also those that nobody asks for, a few with every call that may write, and never by reading.
//!
//! A key that was not removed is there again when the clock goes back, which is how these tests tell.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use lockless_lua_tests::{InProcess, Model, Reply, Wasm};

const START_MS: u64 = 1_800_000_000_000;
/// How many a call removes.
const PER_CALL: i64 = 16;

fn models() -> [Box<dyn Model>; 2] {
    [
        Box::new(InProcess::empty().unwrap()),
        Box::new(Wasm::empty().unwrap()),
    ]
}

fn run(host: &mut dyn Model, line: &str) -> Reply {
    let words: Vec<Vec<u8>> = line
        .split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect();
    host.command(&words).unwrap()
}

fn size(host: &mut dyn Model) -> i64 {
    match run(host, "DBSIZE") {
        Reply::Int(size) => size,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_writing_call_removes_a_few() {
    for mut host in models() {
        let host = host.as_mut();
        host.set_time_ms(START_MS).unwrap();
        for key in 0..100 {
            run(host, &format!("SET k{key} v PX {}", 1000 + key));
        }
        run(host, "SET stays v");
        let mut left = 101;
        while left > 1 {
            host.set_time_ms(START_MS + 5000).unwrap();
            assert_eq!(size(host), 1, "an expired key is not there, removed or not");
            run(host, "SET stays w");
            host.set_time_ms(START_MS).unwrap();
            let before = std::mem::replace(&mut left, size(host));
            assert_eq!(left, (before - PER_CALL).max(1));
        }
    }
}

#[test]
fn the_earliest_go_first() {
    for mut host in models() {
        let host = host.as_mut();
        host.set_time_ms(START_MS).unwrap();
        let mut order: Vec<u64> = (0..40).collect();
        fastrand::Rng::with_seed(3).shuffle(&mut order);
        for key in order {
            run(host, &format!("SET k{key:02} v PX {}", 1000 + key));
        }
        host.set_time_ms(START_MS + 5000).unwrap();
        run(host, "SET stays v");
        host.set_time_ms(START_MS).unwrap();
        let Reply::Array(keys) = run(host, "KEYS k*") else {
            panic!("KEYS gave no list")
        };
        let wanted = (16..40).map(|key| Reply::Bulk(format!("k{key}").into_bytes()));
        assert_eq!(keys, wanted.collect::<Vec<_>>());
    }
}

#[test]
fn reading_changes_nothing() {
    let library = "#!lua name=l\nredis.register_function{function_name='reads', flags={'no-writes'}, \
                   callback=function(keys) return redis.call('EXISTS', keys[1]) end}";
    for mut host in models() {
        let host = host.as_mut();
        host.load_library(library).unwrap();
        host.set_time_ms(START_MS).unwrap();
        run(host, "SET k v PX 1000");
        host.set_time_ms(START_MS + 5000).unwrap();
        for line in ["GET k", "EXISTS k", "PTTL k", "KEYS *", "DBSIZE", "TYPE k"] {
            run(host, line);
        }
        assert_eq!(host.fcall_ro("reads", &[b"k"], &[]).unwrap(), Reply::Int(0));
        assert_eq!(host.fcall("reads", &[b"k"], &[]).unwrap(), Reply::Int(0));
        assert_eq!(host.dump().unwrap(), "");
        host.set_time_ms(START_MS).unwrap();
        assert_eq!(run(host, "GET k"), Reply::Bulk(b"v".to_vec()));
    }
}

/// Whatever was done to keys and their times, exactly those that have a time left go when it has passed.
#[test]
fn no_key_is_forgotten_and_none_goes_without_its_time() {
    const KEYS: usize = 200;
    let seed = std::env::var("LOCKLESS_SEED").ok();
    let seed = seed.map_or_else(|| fastrand::u64(..1 << 40), |seed| seed.parse().unwrap());
    println!("LOCKLESS_SEED={seed}");
    for mut host in models() {
        let host = host.as_mut();
        let mut random = fastrand::Rng::with_seed(seed);
        host.set_time_ms(START_MS).unwrap();
        for _ in 0..3000 {
            let (key, other) = (random.usize(..KEYS), random.usize(..KEYS));
            let ms = random.u32(10_000..20_000);
            let line = match random.u32(..10) {
                0..3 => format!("SET k{key} v PX {ms}"),
                3 => format!("SET k{key} v"),
                4 => format!("SET k{key} v KEEPTTL"),
                5 => format!("PEXPIRE k{key} {ms}"),
                6 => format!("PERSIST k{key}"),
                7 => format!("DEL k{key} k{other}"),
                8 => format!("RENAME k{key} k{other}"),
                _ => format!("HSET k{key} f v"),
            };
            run(host, &line);
        }
        let keeps = (0..KEYS).filter(|key| run(host, &format!("PTTL k{key}")) == Reply::Int(-1));
        let keeps = i64::try_from(keeps.count()).unwrap();
        assert!(
            size(host) > keeps + 20,
            "the history leaves keys that expire"
        );
        host.set_time_ms(START_MS + 30_000).unwrap();
        for _ in 0..KEYS {
            run(host, "DEL none");
        }
        host.set_time_ms(START_MS).unwrap();
        assert_eq!(size(host), keeps, "LOCKLESS_SEED={seed}");
    }
}
