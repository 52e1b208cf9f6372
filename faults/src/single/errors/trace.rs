//! The commands a function sent, as MONITOR shows them.

use std::collections::BTreeSet;
use std::fmt;

/// One command inside a function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Command {
    pub(super) name: String,
    pub(super) keys: Vec<String>,
}

impl fmt::Display for Command {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.name, self.keys.join(" "))
    }
}

/// The commands in lines of MONITOR that a function sent.
pub(super) fn read(lines: &[String], root: &str) -> Vec<Command> {
    let commands = lines.iter().filter(|line| line.contains(" lua] "));
    commands
        .filter_map(|line| {
            let (_, rest) = line.split_once("] ")?;
            let words = words(rest);
            let name = words.first()?.to_ascii_uppercase();
            // Every key of a cell begins with its root; a value does not, but for the channel.
            let is_many = ["EXISTS", "DEL", "RENAME", "SINTER", "SUNION"].contains(&name.as_str());
            let most = if is_many { usize::MAX } else { 1 };
            let keys = words[1..].iter().filter(|word| word.starts_with(root));
            let keys = keys.take(most).cloned().collect();
            Some(Command { name, keys })
        })
        .collect()
}

/// The words of a line, which are quoted with C's escapes.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (&mut word, char) {
            (Some(open), '\\') => {
                open.push('\\');
                open.extend(chars.next());
            }
            (Some(_), '"') => words.extend(word.take()),
            (Some(open), char) => open.push(char),
            (None, '"') => word = Some(String::new()),
            (None, _) => {}
        }
    }
    words
}

/// Each command once, in order.
pub(super) fn distinct(commands: &[Command]) -> Vec<Command> {
    let mut seen = BTreeSet::new();
    let news = commands.iter().filter(|command| seen.insert(*command));
    news.cloned().collect()
}

/// Each key once, in order, but the one that never exists.
pub(super) fn keys(commands: &[Command]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let keys = commands.iter().flat_map(|command| &command.keys);
    keys.filter(|key| !key.ends_with(":none") && !key.ends_with(":wake"))
        .filter(|key| seen.insert(*key))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Command, read};

    #[test]
    fn commands_of_a_function_are_read_and_those_of_clients_are_not() {
        let lines = [
            "1.2 [0 unix:/s] \"FCALL\" \"lockless_ack\" \"1\" \"r:{c}\"",
            "1.2 [0 lua] \"zadd\" \"r:{c}:due\" \"1\" \"a \\\"b\"",
            "1.2 [0 lua] \"EXISTS\" \"r:{c}\" \"r:{c}:none\"",
            "1.2 [0 lua] \"TIME\"",
        ];
        let command = |name: &str, keys: &[&str]| Command {
            name: name.to_owned(),
            keys: keys.iter().map(|&key| key.to_owned()).collect(),
        };
        assert_eq!(
            read(&lines.map(str::to_owned), "r:{c}"),
            [
                command("ZADD", &["r:{c}:due"]),
                command("EXISTS", &["r:{c}", "r:{c}:none"]),
                command("TIME", &[]),
            ]
        );
    }
}
