//! A user who may do everything but one command on one key.

use super::trace::Command;

/// The rules of that user.
pub(super) struct Denial {
    pub(super) rules: Vec<String>,
}

impl Denial {
    /// Denies this command, and allows all others of the trace. None when it can't be told from another.
    pub(super) fn of(denied: &Command, all: &[Command]) -> Option<Self> {
        let name = denied.name.to_ascii_lowercase();
        let base = ["reset", "on", "nopass", "+@all", "~*", "&*"];
        let mut rules: Vec<String> = base.map(str::to_owned).to_vec();
        rules.push(format!("-{name}"));
        let others = all
            .iter()
            .filter(|other| other.name == denied.name && other.keys != denied.keys);
        for other in others {
            // A selector that allows this one's keys would allow it as well; and one with a space or a pattern can't be written.
            let is_plain = |key: &String| !key.contains([' ', '*', '?', '[', '\\', '(', ')']);
            if denied.keys.iter().all(|key| other.keys.contains(key))
                || !other.keys.iter().all(is_plain)
            {
                return None;
            }
            let keys: Vec<String> = other.keys.iter().map(|key| format!("~{key}")).collect();
            let selector = format!("(+{name} {})", keys.join(" "));
            if !rules.contains(&selector) {
                rules.push(selector);
            }
        }
        Some(Self { rules })
    }
}

#[cfg(test)]
mod tests {
    use super::Denial;
    use crate::single::errors::trace::Command;

    fn command(name: &str, key: &str) -> Command {
        Command {
            name: name.to_owned(),
            keys: vec![key.to_owned()],
        }
    }

    #[test]
    fn the_same_command_on_other_keys_stays_allowed() {
        let all = [
            command("ZADD", "a"),
            command("ZADD", "b"),
            command("HSET", "a"),
        ];
        let denial = Denial::of(&all[0], &all).map(|denial| denial.rules);
        let rules = denial.unwrap_or_default();
        assert_eq!(rules[6..], ["-zadd", "(+zadd ~b)"]);
    }
}
