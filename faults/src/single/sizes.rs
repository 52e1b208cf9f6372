//! A cell of 10,000 nodes and 100,000 jobs, and one of 10,000 nodes of which no two are alike: no function takes longer than 50 ms of the
//! server's time.

mod clock;
mod fill;
mod probes;

use std::collections::{BTreeMap, BTreeSet};
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
/// A cell in which no two nodes are alike.
const CLASSES: &str = "scheduler:{classes}";
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
    root: &'static str,
    size: fill::Size,
    calls: u64,
    /// By cell and function: the longest, and the call. A refusal takes time too.
    slowest: BTreeMap<(&'static str, String), (Duration, String)>,
    /// Functions that have done something.
    measured: BTreeSet<String>,
    /// By function and code: how many calls were refused.
    refused: BTreeMap<(String, String), u64>,
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
        let command = fcall(self.root, function, &args);
        let before = self.clock.read()?;
        let said = Said::from_redis(command.query(&mut self.connection));
        let took = self.clock.read()?.saturating_sub(before);
        self.calls += 1;
        let key = (self.root, function.to_owned());
        let slowest = self.slowest.entry(key).or_default();
        if took > slowest.0 {
            *slowest = (took, line.chars().take(100).collect());
        }
        if let Some(code) = said.code() {
            let key = (function.to_owned(), code.to_owned());
            *self.refused.entry(key).or_default() += 1;
        }
        match said {
            Said::Reply(answer) => {
                self.measured.insert(function.to_owned());
                Ok(answer)
            }
            other => Err(Error::Call {
                call: line.chars().take(200).collect(),
                said: format!("{other:?}"),
            }),
        }
    }

    /// The same for one that may be refused; then it is held to the limit, and the function has not been measured.
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
        root: ROOT,
        size: if run.is_quick() {
            fill::QUICK
        } else {
            fill::FULL
        },
        calls: 0,
        slowest: BTreeMap::new(),
        measured: BTreeSet::new(),
        refused: BTreeMap::new(),
    };
    let made = fill::cell(run, &mut probe.connection, probe.size)?;
    run.say(format_args!("the cell has {made}"));
    for part in probes::PARTS {
        run.check()?;
        (part.make)(run, &mut probe)?;
        run.say(format_args!("measured {}", part.name));
    }
    probe.root = CLASSES;
    let others = fill::classes(run, &mut probe.connection, probe.size)?;
    run.say(format_args!("another cell has {others}"));
    probes::classes(run, &mut probe)?;
    let mut outcome = Outcome {
        rounds: 2,
        ..Outcome::default()
    };
    outcome.protected.operations = probe.calls;
    let mut wire = crate::wire::Route::open(server.route().as_ref());
    for root in [ROOT, CLASSES] {
        let found = rules::cell::unsound(wire.as_mut(), root)?;
        outcome.protected.violations.extend(found);
    }
    let limit = if run.is_quick() { SHARED_LIMIT } else { LIMIT };
    judge(&probe, limit, &mut outcome);
    let cells = format!("The cell: {made}. Another one: {others}.");
    outcome.notes.insert(0, cells);
    Ok(outcome)
}

fn judge(probe: &Probe, limit: Duration, outcome: &mut Outcome) {
    for function in &lockless_functions::contract().functions {
        let name = function.name.trim_start_matches("lockless_");
        if !probe.measured.contains(name) {
            let sentence = format!("{name} was not measured");
            let violation = Violation::new(Rule::Fault, sentence);
            outcome.protected.violations.push(violation);
        }
    }
    let slowest = probe.slowest.iter();
    let mut slowest: Vec<(Duration, String)> = slowest
        .map(|((root, _), (took, line))| match *root {
            CLASSES => (*took, format!("{line} (a class for each node)")),
            _ => (*took, line.clone()),
        })
        .collect();
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
    let refused = probe.refused.iter();
    let refused: Vec<String> = refused
        .map(|((function, code), count)| format!("{function} {code} {count}"))
        .collect();
    outcome
        .notes
        .push(format!("Calls that were refused: {}.", refused.join(", ")));
}
