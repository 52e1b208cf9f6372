//! Requests that no client would send.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use std::env;

use super::Instance;
use crate::{Limits, Reply, resp};

const NOW_US: u64 = 1_767_225_600_000_000;

fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut request = Vec::new();
    resp::write_command(words, &mut request);
    request
}

fn commands() -> Vec<Vec<u8>> {
    let texts: [&[&[u8]]; 6] = [
        &[b"SET", b"key", b"value"],
        &[b"GET", b"key"],
        &[
            b"FCALL",
            b"lockless_register",
            b"1",
            b"s:{m}",
            b"node-1",
            b"4",
        ],
        &[
            b"FCALL",
            b"lockless_dispatch",
            b"1",
            b"s:{m}",
            b"s",
            b"-",
            b"-",
            b"payload",
        ],
        &[b"FCALL_RO", b"lockless_node", b"1", b"s:{m}", b"node-1"],
        &[b"ZADD", b"z", b"1.5", b"\0\r\n", b"inf", b""],
    ];
    texts.into_iter().map(command).collect()
}

/// Sends bytes as they are. Whatever they are, there is a reply and the instance lives.
fn send(instance: &mut Instance, request: &[u8]) -> Reply {
    match instance.call(request, NOW_US) {
        Ok(Ok(reply)) => reply,
        other => panic!("{:?}: {other:?}", request.escape_ascii().to_string()),
    }
}

#[test]
fn a_request_that_is_cut_off_is_refused_although_its_rest_lies_behind_it() {
    let mut instance = Instance::start(&Limits::default(), NOW_US).unwrap();
    for request in commands() {
        let size = u32::try_from(request.len()).unwrap();
        let place = instance.alloc.call(&mut instance.store, size).unwrap();
        let memory = instance.memory;
        memory
            .write(&mut instance.store, place as usize, &request)
            .unwrap();
        for shorter in 0..size {
            let call = instance.call.clone();
            call.call(&mut instance.store, (place, shorter, 1.0))
                .unwrap();
            let reply = instance.reply().unwrap();
            assert!(
                matches!(&reply, Reply::Error(line) if line.starts_with("ERR Protocol error")),
                "{shorter}: {reply:?}"
            );
        }
    }
}

#[test]
fn known_malformed_requests_are_refused() {
    let mut instance = Instance::start(&Limits::default(), NOW_US).unwrap();
    let requests: [&[u8]; 22] = [
        b"",
        b"*",
        b"*1",
        b"*1\r",
        b"*1\r\n",
        b"*0\r\n",
        b"*-1\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$4\r\nPING",
        b"*1\r\n$4\r\nPINGxx",
        b"*1\r\n$5\r\nPING\r\n",
        b"*2\r\n$4\r\nPING\r\n",
        b"*1\r\n$4\r\nPING\r\nmore",
        b"*1\r\n:4\r\n",
        b"PING\r\n",
        b"$4\r\nPING\r\n",
        b"*99999999999999999999\r\n",
        b"*1\r\n$99999999999999999999\r\n",
        b"*4294967297\r\n$4\r\nPING\r\n",
        b"*1\r\n$4294967300\r\nPING\r\n",
        b"*1048577\r\n",
        b"*+1\r\n$4\r\nPING\r\n",
    ];
    for request in requests {
        let reply = send(&mut instance, request);
        assert!(
            matches!(&reply, Reply::Error(line) if line.starts_with("ERR Protocol error")),
            "{:?}: {reply:?}",
            request.escape_ascii().to_string()
        );
    }
}

#[test]
fn random_bytes_never_end_the_instance() {
    let seed =
        env::var("LOCKLESS_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("LOCKLESS_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut instance = Instance::start(&Limits::default(), NOW_US).unwrap();
    let commands = commands();
    for _ in 0..20_000 {
        let mut request = commands[random.usize(..commands.len())].clone();
        for _ in 0..random.usize(..4) {
            let place = random.usize(..request.len());
            match random.u8(..4) {
                0 => request[place] = random.u8(..),
                1 => request[place] = b"*$\r\n0123456789-"[random.usize(..15)],
                2 => request.truncate(place.max(1)),
                _ => request.insert(place, random.u8(..)),
            }
        }
        send(&mut instance, &request);
    }
    send(&mut instance, &command(&[b"FLUSHALL"]));
    let set = send(&mut instance, &command(&[b"SET", b"key", b"value"]));
    assert_eq!(set, Reply::Status("OK".to_owned()));
}

#[test]
fn a_clock_that_is_no_time_is_refused() {
    let mut instance = Instance::start(&Limits::default(), NOW_US).unwrap();
    let request = command(&[b"TIME"]);
    let size = u32::try_from(request.len()).unwrap();
    let place = instance.alloc.call(&mut instance.store, size).unwrap();
    let memory = instance.memory;
    memory
        .write(&mut instance.store, place as usize, &request)
        .unwrap();
    for clock in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        let call = instance.call.clone();
        call.call(&mut instance.store, (place, size, clock))
            .unwrap();
        let reply = instance.reply().unwrap();
        assert!(
            matches!(&reply, Reply::Error(line) if line.contains("clock")),
            "{clock}: {reply:?}"
        );
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            }
        })
    })
}

/// The checksum tells damage. This is about states that were written by something else.
#[test]
fn a_state_of_anything_with_a_right_checksum_is_loaded_or_refused() {
    let seed =
        env::var("LOCKLESS_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("LOCKLESS_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut instance = Instance::start(&Limits::default(), NOW_US).unwrap();
    let fill: [&[&[u8]]; 6] = [
        &[b"SET", b"string", b"value", b"PX", b"100000"],
        &[b"HSET", b"hash", b"a", b"1", b"b", b"2"],
        &[b"SADD", b"set", b"x", b"y"],
        &[b"ZADD", b"zset", b"1", b"m", b"2", b"n", b"inf", b"o"],
        &[b"XADD", b"stream", b"*", b"field", b"value"],
        &[b"XADD", b"stream", b"*", b"field", b"value"],
    ];
    for words in fill {
        send(&mut instance, &command(words));
    }
    let state = instance.save().unwrap().unwrap();
    let end = state.len() - 4;
    assert_eq!(state[end..], crc32(&state[..end]).to_le_bytes());
    let (mut loaded, mut refused) = (0, 0);
    for _ in 0..5_000 {
        let mut other = state[..end].to_vec();
        for _ in 0..=random.usize(..3) {
            let place = random.usize(17..other.len());
            match random.u8(..3) {
                0 => other[place] ^= 1 << random.u8(..8),
                1 => other[place] = random.u8(..),
                _ => drop(other.splice(place.max(18).., other.clone()[17..place.max(18)].to_vec())),
            }
        }
        other.extend(crc32(&other).to_le_bytes());
        let before = send(&mut instance, &command(&[b"DEBUG", b"KEYSPACE"]));
        match instance.load(&other, NOW_US).unwrap() {
            Ok(()) => loaded += 1,
            Err(_) => {
                refused += 1;
                let after = send(&mut instance, &command(&[b"DEBUG", b"KEYSPACE"]));
                assert_eq!(before, after);
            }
        }
        for words in fill {
            let reply = send(&mut instance, &command(words));
            let broke = matches!(&reply, Reply::Error(line) if line.contains("internal error"));
            assert!(!broke, "{reply:?}");
        }
    }
    println!("{loaded} were loaded, {refused} refused");
    assert!(loaded > 100 && refused > 100);
}
