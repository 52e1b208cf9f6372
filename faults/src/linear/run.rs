//! The run: many short histories on a server and on a Cluster, and on what must fail.

use std::fs;

use lockless_functions::LIBRARY;
use lockless_servers::{Cluster, Standalone};

use super::callers::{PATIENCE, Routed, Straight};
use super::controls::{MISTAKES, Mistake, ReadThenWrite};
use super::history::told;
use super::judge::{Problem, judge};
use super::record::{Caller, Plan, record};
use super::scene::{SCENES, Scene};
use crate::Error;
use crate::outcome::{Outcome, Rule, Tally, Violation};
use crate::rules::cell::unsound;
use crate::run::Run;
use crate::wire::{Direct, Route, Wire, connect};

const CALLERS: usize = 4;
const CALLS: usize = 6;
/// One call in so many is cut.
const CUTS: u32 = 12;
const PRIMARIES: usize = 3;
/// A mistake is looked for in so many histories.
const TRIES: u64 = 5000;
/// So many histories that are wrong are enough.
const ENOUGH: u64 = 3;
/// A server that gives itself no other title is listed with the words it was started with.
const AS_STARTED: [&str; 2] = ["--set-proc-title", "no"];
/// How often progress is said.
const SAID_EVERY: u64 = 500;

/// Plays histories on both kinds of server, and the controls.
pub(crate) fn run(run: &Run) -> Result<Outcome, Error> {
    let server = Standalone::builder().private().args(AS_STARTED).start()?;
    say_process(run, server.pid());
    load(&server.url(), LIBRARY)?;
    let mut outcome = Outcome::default();
    let mut on_server = Stage::new(run, "server", straight(&[server.url()]));
    on_server.auditor = Some(Direct::new(server.url(), PATIENCE).open());
    on_server.play_all(run.rounds(400, 6_000), &mut outcome)?;
    on_cluster(run, &mut outcome)?;

    let mut control = Tally::default();
    let mut stage = Stage::new(run, "commands", read_then_write(&server.url())?);
    if !stage.is_seen(Scene::Plain, &mut control)? {
        let sentence = "the search does not see that separate commands are not one step";
        let blind = Violation::new(Rule::Blind, sentence);
        outcome.protected.violations.push(blind);
    }
    let mut seen = 0;
    for mistake in MISTAKES {
        if is_seen(run, &server.url(), mistake, &mut control)? {
            seen += 1;
        } else {
            let sentence = format!("the search does not see that {}", mistake.summary);
            let blind = Violation::new(Rule::Blind, sentence);
            outcome.protected.violations.push(blind);
        }
    }
    outcome.control = Some(control);
    outcome.notes.push(format!(
        "{seen} of {} libraries with one mistake each are seen to be wrong.",
        MISTAKES.len()
    ));
    Ok(outcome)
}

fn on_cluster(run: &Run, outcome: &mut Outcome) -> Result<(), Error> {
    let cluster = Cluster::builder(PRIMARIES).args(AS_STARTED).start()?;
    let urls = cluster.urls();
    for node in cluster.nodes() {
        say_process(run, node.pid());
    }
    for url in &urls {
        load(url, LIBRARY)?;
    }
    // Half of them find their way themselves, and cut; the others are a Cluster client's.
    let mut callers = straight(&urls);
    for caller in callers.iter_mut().step_by(2) {
        *caller = Box::new(Routed::new(&urls)?);
    }
    let mut on_cluster = Stage::new(run, "Cluster", callers);
    on_cluster.auditor = Some(Box::new(Routed::new(&urls)?));
    on_cluster.play_all(run.rounds(200, 3_000), outcome)
}

/// Says the command that a server was started with, as the system knows it.
fn say_process(run: &Run, pid: Option<u32>) {
    let bytes = pid.and_then(|pid| fs::read(format!("/proc/{pid}/cmdline")).ok());
    let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
    let words = text.strip_suffix('\0').unwrap_or(&text).split('\0');
    let shown = words.map(|word| if word.is_empty() { "''" } else { word });
    run.say_command(shown.collect::<Vec<_>>().join(" "));
}

/// Whether a library with this mistake is seen to be wrong.
fn is_seen(run: &Run, url: &str, mistake: &Mistake, control: &mut Tally) -> Result<bool, Error> {
    load(url, &mistake.library()?)?;
    run.say(format_args!("a library in which {}", mistake.summary));
    let callers = straight(&[url.to_owned()]);
    let seen = Stage::new(run, mistake.name, callers).is_seen(mistake.scene, control);
    load(url, LIBRARY)?;
    seen
}

fn straight(urls: &[String]) -> Vec<Box<dyn Caller>> {
    let caller =
        |number: usize| Box::new(Straight::new(&urls[number % urls.len()])) as Box<dyn Caller>;
    (0..CALLERS).map(caller).collect()
}

fn read_then_write(url: &str) -> Result<Vec<Box<dyn Caller>>, Error> {
    let open = |_| match connect(url, PATIENCE) {
        Ok(connection) => Ok(Box::new(ReadThenWrite::new(connection)) as Box<dyn Caller>),
        Err(source) => Err(Error::Command {
            command: format!("connecting to {url}"),
            source,
        }),
    };
    (0..CALLERS).map(open).collect()
}

fn load(url: &str, library: &str) -> Result<(), Error> {
    let mut command = redis::cmd("FUNCTION");
    command.arg("LOAD").arg("REPLACE").arg(library);
    let loaded = connect(url, PATIENCE).and_then(|mut connection| command.exec(&mut connection));
    loaded.map_err(|source| Error::Command {
        command: "FUNCTION LOAD REPLACE".to_owned(),
        source,
    })
}

/// Where histories are played, each on a cell of its own.
struct Stage<'a> {
    run: &'a Run,
    name: &'static str,
    callers: Vec<Box<dyn Caller>>,
    /// For the cell's own audit after each history.
    auditor: Option<Box<dyn Wire>>,
    played: u64,
}

impl<'a> Stage<'a> {
    fn new(run: &'a Run, name: &'static str, callers: Vec<Box<dyn Caller>>) -> Self {
        Self {
            run,
            name,
            callers,
            auditor: None,
            played: 0,
        }
    }

    /// Plays so many histories, of every scene as many; fewer when enough are wrong.
    fn play_all(&mut self, histories: u64, outcome: &mut Outcome) -> Result<(), Error> {
        let mut wrong = 0;
        for number in 1..=histories {
            let scene = SCENES[(number % SCENES.len() as u64) as usize];
            let tally = self.play(scene, CUTS)?;
            wrong += u64::from(!tally.violations.is_empty());
            outcome.rounds += 1;
            outcome.protected.add(tally);
            if number % SAID_EVERY == 0 || number == histories {
                let name = self.name;
                self.run.say(format_args!(
                    "{name}: {number} of {histories} histories, {wrong} wrong"
                ));
            }
            if wrong >= ENOUGH {
                break;
            }
        }
        Ok(())
    }

    /// Whether one of many histories is seen to be wrong.
    fn is_seen(&mut self, scene: Scene, control: &mut Tally) -> Result<bool, Error> {
        for number in 1..=TRIES {
            let tally = self.play(scene, 0)?;
            let is_wrong = !tally.violations.is_empty();
            if let Some(violation) = tally.violations.first() {
                self.run.say(format_args!(
                    "seen in history {number}; {}",
                    violation.sentence
                ));
            }
            control.add(tally);
            if is_wrong {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn play(&mut self, scene: Scene, cuts: u32) -> Result<Tally, Error> {
        self.run.check()?;
        self.played += 1;
        let root = format!("{}:{{{}-{}}}", self.name, self.name, self.played);
        let plan = Plan {
            scene,
            calls: CALLS,
            cuts,
            seed: self.run.random(self.played).u64(..),
        };
        let history = record(&mut self.callers, &root, plan);
        let mut violations = match &mut self.auditor {
            Some(wire) => unsound(wire.as_mut(), &root)?,
            None => Vec::new(),
        };
        violations.extend(judge(&history).err().map(|problem| {
            let sentence = match problem {
                Problem::NotLinearizable { smallest, left_out } => format!(
                    "no order of its calls explains the replies in {root} ({left_out} more calls were made, and explain nothing, whatever they \
                     did):\n{}",
                    told(&smallest)
                ),
                Problem::TooLarge => format!("{root}: the history is too large to tell"),
            };
            Violation::new(Rule::Linearizable, sentence)
        }));
        Ok(Tally {
            operations: history.len() as u64,
            maybes: history.iter().filter(|event| event.end.is_none()).count() as u64,
            violations,
        })
    }
}
