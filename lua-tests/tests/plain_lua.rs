//! The Lua inside the module against the Lua of the in-process host, byte for byte.
//!
//! WebAssembly has 32-bit longs, another C library and no processor flags: a build that is merely compiled computes wrong values
//! without a word. So the files under `plain_lua/` print thousands of lines, on both, and every line must be the same.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use std::env;

use lockless_lua_tests::{Host, InProcess, Model, Reply};
use lockless_wasm::{Limits, Machine, Reply as Answer};

const NOW_US: u64 = 1_767_225_600_000_000;
const PRELUDE: &str = include_str!("plain_lua/prelude.lua");

/// A library with one function, which runs the file and returns its lines.
fn library(body: &str) -> String {
    format!(
        "#!lua name=plain\nredis.register_function('plain', function(keys, args)\n{PRELUDE}\n{body}\n\
         return table.concat(lines, '\\n')\nend)\n"
    )
}

fn native(library: &str, seed: &str) -> Vec<u8> {
    let mut host = InProcess::empty().unwrap();
    host.load_library(library).unwrap();
    match host.fcall("plain", &[], &[seed.into()]).unwrap() {
        Reply::Bulk(text) => text,
        other => panic!("in process: {other:?}"),
    }
}

fn module(library: &str, seed: &str) -> Vec<u8> {
    let mut machine = Machine::start(Limits::default(), NOW_US).unwrap();
    let mut call = |args: &[&str]| {
        let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
        machine.call(&args, NOW_US).unwrap()
    };
    let loaded = call(&["FUNCTION", "LOAD", library]);
    assert_eq!(loaded, Answer::Bulk(b"plain".to_vec()));
    match call(&["FCALL", "plain", "0", seed]) {
        Answer::Bulk(text) => text,
        other => panic!("in the module: {other:?}"),
    }
}

/// Runs a file on both and compares; at least so many lines there must be.
fn compare(name: &str, body: &str, lines_min: usize) {
    let seed = env::var("LOCKLESS_SEED").unwrap_or_else(|_| fastrand::u32(..1 << 31).to_string());
    println!("{name}, LOCKLESS_SEED={seed}");
    let library = library(body);
    let (native, module) = (native(&library, &seed), module(&library, &seed));
    let (native, module): (Vec<_>, Vec<_>) = (split(&native), split(&module));
    let differing: Vec<String> = native
        .iter()
        .zip(&module)
        .enumerate()
        .filter(|(_, (native, module))| native != module)
        .map(|(number, (native, module))| {
            format!(
                "line {}:\n  native {}\n  module {}",
                number + 1,
                native.escape_ascii(),
                module.escape_ascii()
            )
        })
        .collect();
    assert!(
        differing.is_empty(),
        "{name}, LOCKLESS_SEED={seed}: {} of {} lines differ:\n{}",
        differing.len(),
        native.len(),
        differing[..differing.len().min(20)].join("\n")
    );
    assert_eq!(native.len(), module.len(), "{name}: the numbers of lines");
    assert!(
        native.len() >= lines_min,
        "{name}: only {} lines",
        native.len()
    );
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split(|byte| *byte == b'\n').collect()
}

macro_rules! the_same {
    ($($name:ident: $file:literal, $lines_min:literal lines;)*) => {
        $(
            #[test]
            fn $name() {
                compare($file, include_str!(concat!("plain_lua/", $file, ".lua")), $lines_min);
            }
        )*
    };
}

the_same! {
    numbers_are_the_same: "numbers", 1_500 lines;
    formats_are_the_same: "formats", 7_000 lines;
    conversions_are_the_same: "conversions", 1_200 lines;
    strings_are_the_same: "strings", 1_900 lines;
    patterns_are_the_same: "patterns", 6_000 lines;
    tables_are_the_same: "tables", 300 lines;
    errors_are_the_same: "errors", 100 lines;
}
