//! A command inside a function fails, each in turn, on the real server: what is left half-written gives nobody a slot that is not there, and is
//! made whole by making the call again.
//!
//! The scenarios are those of the in-process tests: every write function on each of its ways through. The server's clock stands still, so that
//! two ways to the same state can be compared.

mod denial;
mod probe;
mod scenarios;
mod seen;
mod stage;
mod trace;

use std::collections::BTreeSet;

use crate::Error;
use crate::outcome::{Outcome, Rule, Tally, Violation};
use crate::run::Run;
use crate::wire::Answer;
use denial::Denial;
use probe::Probe;
use scenarios::{Again, Scenario};
use stage::Stage;
use trace::Command;

/// More repairs than any damage takes.
const REPAIRS: usize = 8;
/// In a quick run one scenario in so many is tried.
const QUICK_ONE_IN: u64 = 12;

pub(super) fn run(run: &Run) -> Result<Outcome, Error> {
    let mut random = run.random(1);
    let chosen: Vec<Scenario> = scenarios::all()
        .into_iter()
        .filter(|_| !run.is_quick() || random.u64(..QUICK_ONE_IN) == 0)
        .collect();
    let mut stage = Stage::open(run)?;
    let mut outcome = Outcome::default();
    let mut control = Tally::default();
    let (mut denied, mut mistyped) = (0, 0);
    let (mut inseparable, mut repeated) = (BTreeSet::new(), 0);
    for scenario in &chosen {
        run.check()?;
        let (expected, mut probe) = Expected::of(&mut stage, scenario)?;
        let commands = trace::distinct(&expected.commands);
        repeated += expected.commands.len() - commands.len();
        for command in commands {
            // Waking those who wait is the one command that may fail.
            if command.name == "SPUBLISH" {
                continue;
            }
            let Some(denial) = Denial::of(&command, &expected.commands) else {
                inseparable.insert(format!("{} in `{}`", command.name, scenario.function()));
                continue;
            };
            if stage.interrupt(scenario, |stage| stage.denied(scenario.call, &denial))? {
                denied += 1;
                let at = format!("{} denied {command}", scenario.name);
                control.violations.extend(left_half(&mut stage, &at)?);
                let found = &mut outcome.protected.violations;
                found.extend(given(&mut probe, &mut stage, scenario, &at)?);
                found.extend(mended(&mut stage, scenario, &expected, &at)?);
            }
        }
        for key in trace::keys(&expected.commands) {
            if stage.interrupt(scenario, |stage| stage.mistyped(scenario.call, &key))? {
                mistyped += 1;
                let at = format!("{} with another type at {key}", scenario.name);
                let found = &mut outcome.protected.violations;
                found.extend(given(&mut probe, &mut stage, scenario, &at)?);
                found.extend(mended(&mut stage, scenario, &expected, &at)?);
            }
        }
    }
    outcome.rounds = denied + mistyped;
    outcome.protected.operations = stage.calls();
    control.operations = denied;
    run.say_command(format_args!(
        "redis-cli ACL SETUSER caller reset on nopass +@all ~* '&*' -COMMAND '(+COMMAND ~OTHER_KEY)' ..., then FCALL by this user    # {denied} times"
    ));
    run.say_command(format_args!(
        "redis-cli RENAME KEY aside, SET KEY wrong (or RPUSH), FCALL, DEL KEY, RENAME aside KEY    # {mistyped} times"
    ));
    run.say(format_args!(
        "{} scenarios, {denied} commands denied, {mistyped} keys of another type, {} found wrong; {} left half a call before it was repeated",
        chosen.len(),
        outcome.protected.violations.len(),
        control.violations.len()
    ));
    run.say_found(&outcome.protected.violations);
    outcome.notes.push(format!(
        "{} scenarios: {denied} commands were denied and {mistyped} keys had another type. After each, before the call was made again, slots were asked \
         for until there were none.",
        chosen.len()
    ));
    outcome.notes.push(format!(
        "A server's ACL tells commands apart by their name and key: a command that a call sends several times on one key fails at the first, so that {repeated} \
         later ones did not; the in-process tests fail each. {}",
        shown(&inseparable)
    ));
    outcome.control = Some(control);
    Ok(outcome)
}

/// What an undisturbed call leaves behind.
struct Expected {
    commands: Vec<Command>,
    reply: Answer,
    seen: Vec<String>,
}

impl Expected {
    fn of(stage: &mut Stage, scenario: &Scenario) -> Result<(Self, Probe), Error> {
        stage.prepare(&scenario.before)?;
        let (commands, reply) = stage.traced(scenario.call)?;
        let probe = Probe::after_undisturbed(stage)?;
        stage.settle_rest()?;
        let expected = Self {
            commands,
            reply,
            seen: seen::all(stage)?,
        };
        Ok((expected, probe))
    }
}

/// The commands that could not be denied alone, in a sentence.
fn shown(inseparable: &BTreeSet<String>) -> String {
    if inseparable.is_empty() {
        return "Every other could be denied alone.".to_owned();
    }
    let names: Vec<&str> = inseparable.iter().map(String::as_str).collect();
    format!("These could not be denied alone: {}.", names.join(", "))
}

fn violation(at: &str, what: &str) -> Violation {
    Violation::new(Rule::Sound, format!("{at}: {what}"))
}

/// What is wrong right after the interruption: for the control run, which does not repeat the call.
fn left_half(stage: &mut Stage, at: &str) -> Result<Vec<Violation>, Error> {
    let found = stage.violations()?;
    Ok(found.iter().map(|what| violation(at, what)).collect())
}

/// What others are given before the call is made again, and must not be.
fn given(
    probe: &mut Probe,
    stage: &mut Stage,
    scenario: &Scenario,
    at: &str,
) -> Result<Vec<Violation>, Error> {
    if scenario.is_damaged() {
        return Ok(Vec::new());
    }
    let mut found = probe.wrong(stage)?;
    for violation in &mut found {
        violation.sentence.insert_str(0, &format!("{at}: "));
    }
    Ok(found)
}

/// Makes the call again, and says what is not as after an undisturbed one.
fn mended(
    stage: &mut Stage,
    scenario: &Scenario,
    expected: &Expected,
    at: &str,
) -> Result<Vec<Violation>, Error> {
    let mut found = Vec::new();
    let mut wrong = |what: &str| found.push(violation(at, what));
    let again = stage.say(scenario.call);
    let is_gone = matches!(
        (scenario.function(), again.code()),
        ("deregister", Some("UNKNOWN_NODE")) | ("undeploy", Some("NO_SUCH_DEPLOYMENT"))
    );
    if again.reply().is_none() && !is_gone {
        wrong(&format!("again it replied {again:?}"));
    }
    if let (Again::TheSame, Some(again)) = (scenario.again, again.reply()) {
        let [wanted, got] = [&expected.reply, again].map(seen::without_drawn);
        if got != wanted {
            wrong(&format!("it replied {wanted}, and again {got}"));
        }
    }
    match scenario.again {
        Again::UntilNothing => {
            let mut is_over = false;
            for _ in 0..REPAIRS {
                let said = stage.say(scenario.call);
                is_over |= said.reply().is_some_and(|reply| reply.list().is_empty());
            }
            if !is_over {
                wrong("again and again it finds something to do");
            }
        }
        Again::NothingLost => {
            stage.settle_rest()?;
            stage.work_off()?;
        }
        Again::TheSame | Again::TheSameState => {
            stage.settle_rest()?;
            let seen = seen::all(stage)?;
            for (got, wanted) in seen.iter().zip(&expected.seen) {
                if got != wanted {
                    wrong(&format!("\n    wanted {wanted}\n    but it is {got}"));
                }
            }
        }
    }
    for what in stage.violations()? {
        wrong(&what);
    }
    Ok(found)
}
