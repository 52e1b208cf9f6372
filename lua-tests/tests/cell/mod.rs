//! A cell on a host: calls by name, replies by field, all keys as text.

#![allow(dead_code, reason = "every test file uses a part of it")]

pub(crate) mod audit;
pub(crate) mod deployed;
pub(crate) mod rich;
pub(crate) mod state;
pub(crate) mod waiting;

use std::{collections::BTreeMap, env, fs};

use lockless_functions::{LIBRARY, api::Api};
use lockless_lua_tests::{Host, InProcess, Reply, Wasm};

/// The root key of the cell under test.
pub(crate) const ROOT: &str = "scheduler:{main}";

/// Names a file to test instead of the built-in library, for trying a change, or a deliberate mistake.
const LIBRARY_VARIABLE: &str = "LOCKLESS_TEST_LIBRARY";

pub(crate) fn library() -> String {
    match env::var_os(LIBRARY_VARIABLE) {
        Some(path) => fs::read_to_string(path).unwrap(),
        None => LIBRARY.to_owned(),
    }
}

pub(crate) fn api() -> Api {
    Api::parse(include_str!("../../../functions/api.toml")).unwrap()
}

pub(crate) fn in_process() -> InProcess {
    InProcess::new(&library()).unwrap()
}

pub(crate) fn wasm() -> Wasm {
    Wasm::new(&library()).unwrap()
}

fn number_from(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}

/// The seed of a random test, said so that the run can be repeated.
pub(crate) fn seed() -> u64 {
    let seed = number_from("LOCKLESS_SEED").unwrap_or_else(|| fastrand::u64(..1 << 40));
    println!("LOCKLESS_SEED={seed}");
    seed
}

/// How many steps a random test makes.
pub(crate) fn steps(default: u64) -> u64 {
    number_from("LOCKLESS_STEPS").unwrap_or(default)
}

pub(crate) fn words<T: AsRef<[u8]>>(words: &[T]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_ref().to_vec()).collect()
}

pub(crate) fn shown(args: &[Vec<u8>]) -> String {
    let word = |word: &Vec<u8>| match word.escape_ascii().to_string() {
        text if text.len() > 80 => format!("{}... ({} bytes)", &text[..40], word.len()),
        text => text,
    };
    args.iter().take(40).map(word).collect::<Vec<_>>().join(" ")
}

/// Calls a function of the cell.
pub(crate) fn call<T: AsRef<[u8]>>(host: &mut dyn Host, function: &str, args: &[T]) -> Reply {
    let name = format!("lockless_{function}");
    host.fcall(&name, &[ROOT.as_bytes()], &words(args)).unwrap()
}

/// The same with all arguments in one line.
pub(crate) fn say(host: &mut dyn Host, line: &str) -> Reply {
    let mut line = line.split_whitespace();
    let function = line.next().unwrap();
    call(host, function, &line.collect::<Vec<_>>())
}

/// The same, and it must succeed.
pub(crate) fn must(host: &mut dyn Host, line: &str) -> Reply {
    let reply = say(host, line);
    assert!(!matches!(reply, Reply::Error(_)), "{line}: {reply:?}");
    reply
}

pub(crate) fn command(host: &mut dyn Host, line: &str) -> Reply {
    host.command(&words(&line.split_whitespace().collect::<Vec<_>>()))
        .unwrap()
}

/// The code of an error reply.
pub(crate) fn code(reply: &Reply) -> Option<&str> {
    match reply {
        Reply::Error(line) => line.split(' ').next(),
        _ => None,
    }
}

pub(crate) fn list(reply: &Reply) -> &[Reply] {
    match reply {
        Reply::Array(items) => items,
        other => panic!("not a list: {other:?}"),
    }
}

/// A reply of one value; bytes that are not plain text are escaped.
pub(crate) fn text(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(bytes) => bytes.escape_ascii().to_string(),
        Reply::Status(text) => text.clone(),
        Reply::Int(number) => number.to_string(),
        other => panic!("not a text: {other:?}"),
    }
}

pub(crate) fn texts(reply: &Reply) -> Vec<String> {
    list(reply).iter().map(text).collect()
}

pub(crate) fn number(reply: &Reply) -> i64 {
    text(reply).parse().unwrap()
}

/// The value of a field in a flat list of field and value.
pub(crate) fn field<'a>(reply: &'a Reply, name: &str) -> &'a Reply {
    let named = |pair: &&[Reply]| text(&pair[0]) == name;
    let pair = list(reply).chunks(2).find(named);
    &pair.unwrap_or_else(|| panic!("no field {name} in {reply:?}"))[1]
}

pub(crate) fn text_of(reply: &Reply, name: &str) -> String {
    text(field(reply, name))
}

pub(crate) fn number_of(reply: &Reply, name: &str) -> i64 {
    number(field(reply, name))
}

/// What `lockless_check` finds.
pub(crate) fn violations(host: &mut dyn Host) -> Vec<String> {
    texts(&must(host, "check"))
}

pub(crate) fn assert_sound(host: &mut dyn Host, when: &str) {
    let violations = violations(host);
    assert!(violations.is_empty(), "{when}: {violations:#?}");
}

/// One key: its type, its value with what has no order sorted, and whether it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) kind: String,
    pub(crate) items: Vec<String>,
    pub(crate) expires: bool,
}

impl Value {
    /// The value of a hash's field.
    pub(crate) fn get(&self, field: &str) -> Option<&str> {
        let pair = self.items.chunks(2).find(|pair| pair[0] == field)?;
        Some(&pair[1])
    }
}

/// None when it has expired since it was listed.
fn value(host: &mut dyn Host, key: &Reply) -> Option<Value> {
    let Reply::Bulk(key) = key else {
        panic!("KEYS gave {key:?}")
    };
    let mut ask = |name: &str, after: &[&str]| {
        let mut line = vec![name.as_bytes().to_vec(), key.clone()];
        line.extend(words(after));
        host.command(&line).unwrap()
    };
    let kind = text(&ask("TYPE", &[]));
    let items = match kind.as_str() {
        "hash" => {
            let flat = texts(&ask("HGETALL", &[]));
            let mut pairs: Vec<_> = flat.chunks(2).map(<[String]>::to_vec).collect();
            pairs.sort();
            pairs.concat()
        }
        "set" => {
            let mut members = texts(&ask("SMEMBERS", &[]));
            members.sort();
            members
        }
        // Their ids are drawn from the server's clock.
        "stream" => {
            let entries = ask("XRANGE", &["-", "+"]);
            let fields = list(&entries).iter().map(|entry| texts(&list(entry)[1]));
            fields.collect::<Vec<_>>().concat()
        }
        "string" => match ask("GET", &[]) {
            Reply::Nil => return None,
            value => vec![text(&value)],
        },
        "zset" => texts(&ask("ZRANGE", &["0", "-1", "WITHSCORES"])),
        "none" => return None,
        other => panic!("{key:?} is a {other}"),
    };
    let expires = number(&ask("PTTL", &[])) >= 0;
    Some(Value {
        kind,
        items,
        expires,
    })
}

/// Every key of a host by its name, escaped like [`text`].
pub(crate) fn keyspace(host: &mut dyn Host) -> BTreeMap<String, Value> {
    let names = host.command(&words(&["KEYS", "*"])).unwrap();
    let read = |name: &Reply| Some((text(name), value(host, name)?));
    list(&names).iter().filter_map(read).collect()
}
