//! What a guardian is told to run: a command, with the variables that every command gets.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guard::words::Order;
use crate::payload::Command;
use crate::settings::Settings;

/// Variables of the agent that commands get as they are.
const PASSED_ON: [&str; 5] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR"];

/// The order for a command; `own` says what it is run for.
pub(crate) fn order(settings: &Settings, command: &Command, own: [(&str, String); 2]) -> Order {
    let mut env: BTreeMap<String, String> = BTreeMap::new();
    for name in PASSED_ON {
        if let Ok(value) = std::env::var(name) {
            env.insert(name.to_owned(), value);
        }
    }
    env.extend(command.env.clone());
    let place = [
        ("LOCKLESS_CELL", settings.cell.clone()),
        ("LOCKLESS_NODE", settings.node.clone()),
    ];
    let own = own.into_iter().chain(place);
    env.extend(own.map(|(name, value)| (name.to_owned(), value)));
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Order {
        program: command.program.clone(),
        arguments: command.arguments.clone(),
        env,
        cwd: command.cwd.clone(),
        grace_ms: ms(settings.stop_grace),
        kill_wait_ms: ms(settings.kill_wait),
    }
}
