//! A cell of 10,000 nodes and 100,000 jobs: no function takes longer than 50 ms of the server's time.

mod clock;
mod fill;
mod probes;

use std::collections::BTreeMap;
use std::time::Duration;

use redis::Connection;

use crate::Error;
use crate::outcome::{Outcome, Rule, Violation};
use crate::rules;
use crate::run::Run;
use crate::server::{Server, Settings};
use crate::wire::{Answer, Said, fcall};
use clock::CpuClock;

const ROOT: &str = "scheduler:{sizes}";
/// What no call may take.
const LIMIT: Duration = Duration::from_millis(50);
/// The same while other programs share processor and caches, as they do in the checks of a change.
const SHARED_LIMIT: Duration = Duration::from_millis(100);
/// How many of the slowest are named.
const NAMED: usize = 8;

/// A cell whose calls are measured.
struct Probe {
    connection: Connection,
    clock: CpuClock,
    size: fill::Size,
    calls: u64,
    /// By function: the longest, and the call.
    slowest: BTreeMap<String, (Duration, String)>,
}

impl Probe {
    /// Makes a call, given as function and arguments in one line, and notes how long the server took for it.
    fn call(&mut self, line: &str) -> Result<Answer, Error> {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.call_words(&words)
    }

    /// The same, given as words: a cursor may have spaces in it.
    fn call_words(&mut self, words: &[&str]) -> Result<Answer, Error> {
        let line = words.join(" ");
        let function = words.first().copied().unwrap_or_default();
        let args: Vec<String> = words.iter().skip(1).map(|&word| word.to_owned()).collect();
        let command = fcall(ROOT, function, &args);
        let before = self.clock.read()?;
        let said = Said::from_redis(command.query(&mut self.connection));
        let took = self.clock.read()?.saturating_sub(before);
        self.calls += 1;
        let slowest = self.slowest.entry(function.to_owned()).or_default();
        if took > slowest.0 {
            *slowest = (took, line.chars().take(100).collect());
        }
        match said {
            Said::Reply(answer) => Ok(answer),
            other => Err(Error::Call {
                call: line.chars().take(200).collect(),
                said: format!("{other:?}"),
            }),
        }
    }

    /// The same for one that may be refused.
    fn try_call(&mut self, line: &str) -> Result<Option<Answer>, Error> {
        match self.call(line) {
            Err(Error::Call { said, .. }) if said.starts_with("Refused") => Ok(None),
            other => other.map(Some),
        }
    }
}

pub(super) fn run(run: &Run) -> Result<Outcome, Error> {
    let server = Server::start(run, Settings::new(run.directory().join("sizes"), ""))?;
    server.load_library()?;
    let pid = server
        .pid()
        .ok_or_else(|| Error::CannotRunHere("the server's process is not known".to_owned()))?;
    let mut probe = Probe {
        connection: server.connect()?,
        clock: CpuClock::of(pid)?,
        size: if run.is_quick() {
            fill::QUICK
        } else {
            fill::FULL
        },
        calls: 0,
        slowest: BTreeMap::new(),
    };
    let made = fill::cell(run, &mut probe.connection, probe.size)?;
    run.say(format_args!("the cell has {made}"));
    for part in probes::PARTS {
        run.check()?;
        (part.make)(run, &mut probe)?;
        run.say(format_args!("measured {}", part.name));
    }
    let mut outcome = Outcome {
        rounds: 1,
        ..Outcome::default()
    };
    outcome.protected.operations = probe.calls;
    let mut wire = crate::wire::Route::open(server.route().as_ref());
    outcome.protected.violations = rules::cell::unsound(wire.as_mut(), ROOT)?;
    let limit = if run.is_quick() { SHARED_LIMIT } else { LIMIT };
    judge(&probe, limit, &mut outcome);
    outcome.notes.insert(0, format!("The cell: {made}."));
    Ok(outcome)
}

fn judge(probe: &Probe, limit: Duration, outcome: &mut Outcome) {
    for function in &lockless_functions::contract().functions {
        let name = function.name.trim_start_matches("lockless_");
        if !probe.slowest.contains_key(name) {
            let sentence = format!("{name} was not measured");
            let violation = Violation::new(Rule::Fault, sentence);
            outcome.protected.violations.push(violation);
        }
    }
    let mut slowest: Vec<_> = probe.slowest.values().collect();
    slowest.sort();
    slowest.reverse();
    let millis = |took: &Duration| took.as_secs_f64() * 1000.0;
    for (took, line) in slowest.iter().filter(|(took, _)| *took > limit) {
        let sentence = format!("{:.1} ms for {line}", millis(took));
        let violation = Violation::new(Rule::Fault, sentence);
        outcome.protected.violations.push(violation);
    }
    let named: Vec<String> = slowest
        .iter()
        .take(NAMED)
        .map(|(took, line)| format!("`{line}` {:.1} ms", millis(took)))
        .collect();
    outcome
        .notes
        .push(format!("The slowest calls: {}.", named.join(", ")));
}
