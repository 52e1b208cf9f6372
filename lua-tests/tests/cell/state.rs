//! The field of the cell's record that every call reads: its clock, its counters and when to look at what.

use lockless_lua_tests::{Host, Reply};

use super::{ROOT, Value, command, text};

/// The field, which names the schema.
pub(crate) const FIELD: &str = "state2";
const NAMES: [&str; 7] = [
    "clock",
    "grants",
    "finished",
    "wake",
    "generation",
    "listen",
    "configured",
];

fn words(host: &mut dyn Host) -> Option<Vec<String>> {
    match command(host, &format!("HGET {ROOT} {FIELD}")) {
        Reply::Nil => None,
        found => Some(text(&found).split(' ').map(str::to_owned).collect()),
    }
}

fn place(name: &str) -> usize {
    NAMES.iter().position(|known| *known == name).unwrap()
}

/// One of its numbers; none in a cell that is not there.
pub(crate) fn get(host: &mut dyn Host, name: &str) -> Option<i64> {
    let words = words(host)?;
    Some(words[place(name)].parse().unwrap())
}

/// Sets one of its numbers in a cell that is there.
pub(crate) fn set(host: &mut dyn Host, name: &str, value: impl ToString) {
    let mut words = words(host).unwrap();
    words[place(name)] = value.to_string();
    let line = ["HSET", ROOT, FIELD, &words.join(" ")].map(|word| word.as_bytes().to_vec());
    host.command(&line).unwrap();
}

/// Has a library of another schema have written the cell.
pub(crate) fn of_another_schema(host: &mut dyn Host) {
    command(host, &format!("HDEL {ROOT} {FIELD}"));
    command(host, &format!("HSET {ROOT} schema 99"));
}

/// The generation in a record that was read as a whole.
pub(crate) fn generation(record: &Value) -> Option<&str> {
    record.get(FIELD)?.split(' ').nth(place("generation"))
}

/// The words of a session's `sticky` that are its lease; a session that is not bound has none.
pub(crate) fn lease_words(sticky: &str) -> Vec<&str> {
    let words: Vec<&str> = sticky.split(' ').collect();
    if words.len() > 6 {
        words[3..].to_vec()
    } else {
        Vec::new()
    }
}
