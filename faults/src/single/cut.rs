//! The AOF is cut at every byte of its last transactions: a function is there as a whole, or not at all.

mod script;
mod transactions;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::outcome::{Outcome, Rule, Tally, Violation};
use crate::rules;
use crate::run::Run;
use crate::server::{Server, Settings};
use crate::wire::{Answer, Route, Said};
use script::Script;

const ROOT: &str = "scheduler:{cut}";
const ARGUMENTS: &str = "--appendonly yes --auto-aof-rewrite-percentage 0 \
                         --aof-load-truncated yes --enable-debug-command yes --appendfsync";
/// Calls of each script.
const CALLS: usize = 120;
/// One cut in so many is also repaired by repeating the call that was cut off.
const REPEATED_ONE_IN: u64 = 10;

/// A server's files after a script, and what was there after each call.
struct Recorded {
    /// The files as they are when the server is gone.
    directory: PathBuf,
    /// The file that grows, within it.
    growing: PathBuf,
    /// After each call: how long the file was, and the digest of all keys.
    states: Vec<State>,
    /// The calls, each with the words after FCALL's key.
    calls: Vec<(String, Vec<String>)>,
}

struct State {
    length: u64,
    digest: String,
}

pub(super) fn run(run: &Run) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let mut cuts = 0;
    for round in 0..run.rounds(1, 2) {
        let recorded = record(run, round)?;
        let offsets = offsets(run, &recorded, round);
        outcome.rounds += offsets.len() as u64;
        cuts += offsets.len();
        let tally = cut(run, &recorded, &offsets, round)?;
        run.say_command(format_args!(
            "truncate -s BYTES {}, and the same command again    # {} times, BYTES from {} to {}",
            recorded.growing.display(),
            offsets.len(),
            offsets.iter().min().copied().unwrap_or_default(),
            offsets.iter().max().copied().unwrap_or_default()
        ));
        run.say(format_args!(
            "script {round}: cut at {} bytes of the last transactions, {} found wrong",
            offsets.len(),
            tally.violations.len()
        ));
        outcome.protected.add(tally);
        if round == 0 {
            outcome.control = Some(control(run, &recorded)?);
        }
    }
    outcome.notes.push(format!(
        "After each of {cuts} cuts the server starts (`aof-load-truncated yes`), all keys are as after a whole number of calls, and the call that was cut \
         off can be repeated."
    ));
    Ok(outcome)
}

/// Runs a script, and notes what was there after each call.
fn record(run: &Run, round: u64) -> Result<Recorded, Error> {
    let directory = run.directory().join(format!("script-{round}"));
    let mut server = Server::start(
        run,
        Settings::new(&directory, &format!("{ARGUMENTS} always")),
    )?;
    server.load_library()?;
    // The library goes into the base file, so that what is copied for each cut is small.
    server.ask("BGREWRITEAOF")?;
    run.wait_for(
        "the end of the rewriting",
        std::time::Duration::from_secs(20),
        || {
            let info = server
                .ask("INFO persistence")
                .map_err(|error| error.to_string())?;
            let info = Answer::from_redis(info).text();
            let is_over = info.contains("aof_rewrite_in_progress:0")
                && info.contains("aof_rewrite_scheduled:0");
            let growing = growing_file(&directory).map_err(|error| error.to_string())?;
            let is_new = growing.to_string_lossy().contains(".2.");
            if is_over && is_new {
                Ok(())
            } else {
                Err(format!("{growing:?}"))
            }
        },
    )?;
    let growing = growing_file(&directory)?;
    let mut wire = server.route().open();
    let mut script = Script::new(run.random(100 + round));
    let mut recorded = Recorded {
        directory: directory.clone(),
        growing: growing.clone(),
        states: Vec::new(),
        calls: Vec::new(),
    };
    let state = || -> Result<State, Error> {
        let path = directory.join(&growing);
        Ok(State {
            length: fs::metadata(&path).map_err(Error::file(&path))?.len(),
            digest: digest(&server)?,
        })
    };
    recorded.states.push(state()?);
    while recorded.calls.len() < CALLS {
        run.check()?;
        let (function, args) = script.next();
        if let Said::Reply(answer) = wire.call(ROOT, &function, &args) {
            script.heard(&function, &args, &answer);
        }
        recorded.states.push(state()?);
        recorded.calls.push((function, args));
    }
    server.shut_down();
    Ok(recorded)
}

fn digest(server: &Server) -> Result<String, Error> {
    Ok(Answer::from_redis(server.ask("DEBUG DIGEST")?).text())
}

/// The file that grows, by its path within the directory.
fn growing_file(directory: &Path) -> Result<PathBuf, Error> {
    let parts = directory.join("appendonlydir");
    let mut found = Vec::new();
    for entry in fs::read_dir(&parts).map_err(Error::file(&parts))? {
        let name = entry.map_err(Error::file(&parts))?.file_name();
        if name.to_string_lossy().ends_with(".incr.aof") {
            found.push(Path::new("appendonlydir").join(name));
        }
    }
    found.sort();
    found.pop().ok_or_else(|| Error::Waited {
        what: "a file that grows".to_owned(),
        seconds: 0,
        seen: parts.display().to_string(),
    })
}

/// Where to cut: every byte of the last transactions, or some of them.
fn offsets(run: &Run, recorded: &Recorded, round: u64) -> Vec<u64> {
    let calls = if run.is_quick() { 12 } else { 5 };
    let states = &recorded.states;
    let first = states[states.len() - 1 - calls].length;
    let last = states[states.len() - 1].length;
    if !run.is_quick() {
        return (first..=last).collect();
    }
    let mut random = run.random(200 + round);
    let mut offsets: BTreeSet<u64> = (0..50).map(|_| random.u64(first..=last)).collect();
    for state in &states[states.len() - calls..] {
        offsets.extend([state.length - 1, state.length]);
    }
    offsets.into_iter().collect()
}

/// A directory with the files of a script, to be cut.
fn copy(recorded: &Recorded, to: &Path) -> Result<(), Error> {
    let parts = recorded.directory.join("appendonlydir");
    let target = to.join("appendonlydir");
    if target.exists() {
        fs::remove_dir_all(&target).map_err(Error::file(&target))?;
    }
    fs::create_dir_all(&target).map_err(Error::file(&target))?;
    for entry in fs::read_dir(&parts).map_err(Error::file(&parts))? {
        let entry = entry.map_err(Error::file(&parts))?;
        let path = target.join(entry.file_name());
        fs::copy(entry.path(), &path).map_err(Error::file(&path))?;
    }
    Ok(())
}

/// Cuts at each offset, starts the server, and looks.
fn cut(run: &Run, recorded: &Recorded, offsets: &[u64], round: u64) -> Result<Tally, Error> {
    let directory = run.directory().join(format!("cut-{round}"));
    let whole = recorded.directory.join(&recorded.growing);
    let bytes = fs::read(&whole).map_err(Error::file(&whole))?;
    let mut server = None;
    let mut tally = Tally::default();
    let mut audited = BTreeSet::new();
    let mut random = run.random(300 + round);
    for &offset in offsets {
        run.check()?;
        copy(recorded, &directory)?;
        let path = directory.join(&recorded.growing);
        let kept = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        fs::write(&path, &bytes[..kept]).map_err(Error::file(&path))?;
        let server = start(run, &mut server, &directory)?;
        // The last call that the file has as a whole.
        let whole_calls = recorded
            .states
            .partition_point(|state| state.length <= offset)
            - 1;
        let mut wrong = |what: String| {
            let sentence = format!("cut at byte {offset}, in call {whole_calls}: {what}");
            tally.violations.push(Violation::new(Rule::Sound, sentence));
        };
        let seen = digest(server)?;
        if seen != recorded.states[whole_calls].digest {
            wrong(format!(
                "the keys are not those after {whole_calls} calls ({:?})",
                recorded.calls.get(whole_calls)
            ));
        }
        let mut wire = server.route().open();
        if audited.insert(whole_calls) {
            let unsound = rules::cell::unsound(wire.as_mut(), ROOT)?;
            unsound.into_iter().for_each(|one| wrong(one.sentence));
        }
        let call = recorded.calls.get(whole_calls);
        if let Some((function, args)) = call.filter(|_| random.u64(..REPEATED_ONE_IN) == 0) {
            let said = wire.call(ROOT, function, args);
            if matches!(said, Said::Maybe(_) | Said::Unsent(_)) || said.code() == Some("ERR") {
                wrong(format!("repeating {function} {args:?} gave {said:?}"));
            }
            let unsound = rules::cell::unsound(wire.as_mut(), ROOT)?;
            unsound.into_iter().for_each(|one| wrong(one.sentence));
        }
        tally.operations += 1;
        server.kill();
    }
    Ok(tally)
}

/// Starts the server on the files that are there now.
fn start<'s>(
    run: &Run,
    server: &'s mut Option<Server>,
    directory: &Path,
) -> Result<&'s mut Server, Error> {
    if let Some(server) = server {
        server.start_again(run)?;
        return Ok(server);
    }
    let started = Server::start(run, Settings::new(directory, &format!("{ARGUMENTS} no")))?;
    Ok(server.insert(started))
}

/// The same file without its transactions: cut between two commands it must show half a function.
fn control(run: &Run, recorded: &Recorded) -> Result<Tally, Error> {
    let directory = run.directory().join("control");
    let whole = recorded.directory.join(&recorded.growing);
    let bytes = fs::read(&whole).map_err(Error::file(&whole))?;
    let (stripped, ends) = transactions::without(&bytes);
    let digests: BTreeSet<&str> = recorded
        .states
        .iter()
        .map(|state| state.digest.as_str())
        .collect();
    let mut server = None;
    let mut tally = Tally::default();
    for end in ends.iter().rev().take(20) {
        run.check()?;
        copy(recorded, &directory)?;
        let path = directory.join(&recorded.growing);
        fs::write(&path, &stripped[..*end]).map_err(Error::file(&path))?;
        let server = start(run, &mut server, &directory)?;
        let seen = digest(server)?;
        if !digests.contains(seen.as_str()) {
            let sentence = format!("cut at byte {end}: half a function");
            tally.violations.push(Violation::new(Rule::Sound, sentence));
        }
        tally.operations += 1;
        server.kill();
    }
    run.say(format_args!(
        "control: {} of {} cuts show half a function",
        tally.violations.len(),
        tally.operations
    ));
    Ok(tally)
}
