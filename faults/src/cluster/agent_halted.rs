//! An agent that is halted for longer than its node's lease, while its jobs end and are run elsewhere.

use std::time::Duration;

use super::desk::Desk;
use super::programs::Program;
use crate::Error;
use crate::fault::Fault;
use crate::mistake::library_in_which;
use crate::outcome::{Outcome, Rule, Violation};
use crate::run::Run;
use crate::wire::Answer;

pub(super) const FAULT: Fault = Fault {
    name: "agent",
    summary: "SIGSTOP of an agent past its lease: its jobs run elsewhere, and its late words are refused.",
    control: "a library that hears words on a job from nodes that were lost, or have another one by now.",
    quick_limit: Duration::from_secs(90),
    full_limit: Duration::from_secs(300),
    run,
};

const LEASE_MS: u64 = 1500;
const PATIENCE: Duration = Duration::from_secs(20);
/// The time the agent has to say what it has to say, once it goes on.
const LATE_WORDS: Duration = Duration::from_millis(1500);

/// What fences a lost node's words on a job.
const FENCES: &str = "  if at ~= node and at ~= jobs.NOWHERE then errors.node_mismatch(job, at) end\n  \
                      if nodes.is_lost(rt) or (incarnation and incarnation ~= tonumber(rt.incarnation)) then errors.stale_node(node) end\n  \
                      return rec, rt, status\n";

fn run(run: &Run) -> Result<Outcome, Error> {
    let mut outcome = play(run, Desk::start(run)?, "", run.rounds(1, 10))?;
    let summary = "lost nodes are not fenced";
    let library = library_in_which(summary, FENCES, "  return rec, rt, status\n")?;
    let desk = Desk::start_control(run, &library)?;
    outcome.control = Some(play(run, desk, "control-", 1)?.protected);
    Ok(outcome)
}

/// So many rounds with two agents of this desk's cell.
fn play(run: &Run, mut desk: Desk, prefix: &str, rounds: u64) -> Result<Outcome, Error> {
    desk.ask(
        "config",
        &format!("heartbeat_ttl_ms {LEASE_MS} events all retry_backoff_ms 20"),
    )?;
    let sample = Program::idle_sample(run)?;
    let url = desk.url();
    let agent = |name: &str| {
        let arguments = [
            "--redis",
            &url,
            "--node",
            name,
            "--allow",
            "/bin/sh",
            "--tick-ms",
            "100",
            "--sample-from",
            &sample,
        ];
        Program::agent(run, &format!("{prefix}{name}"), &arguments)
    };
    let mut trial = Trial {
        run,
        halted: agent("halted")?,
        _other: agent("other")?,
        desk,
        outcome: Outcome::default(),
    };
    for round in 0..rounds {
        trial.round(round)?;
        trial.outcome.rounds += 1;
        let found = trial.desk.unsound()?;
        trial.outcome.protected.violations.extend(found);
    }
    trial.outcome.protected.operations = trial.desk.calls()?;
    Ok(trial.outcome)
}

struct Trial<'a> {
    run: &'a Run,
    desk: Desk,
    halted: Program,
    _other: Program,
    outcome: Outcome,
}

impl Trial<'_> {
    fn round(&mut self, round: u64) -> Result<(), Error> {
        let (queued, pushed) = (format!("queued-{round}"), format!("pushed-{round}"));
        self.desk.ask("drain", "other on")?;
        self.wait_for_state("halted", "ready")?;
        let payload = r#"{"argv":["sh","-c","echo by $LOCKLESS_NODE; sleep 0.5"]}"#;
        self.desk
            .say("submit", &[&queued, payload, "RETRIES", "3"])?;
        self.desk
            .say("dispatch", &["s", "-", "-", payload, "JOB", &pushed])?;
        for job in [&queued, &pushed] {
            self.wait_for_job(job, "running")?;
        }
        let incarnation = self.of_node("halted", "incarnation")?;
        let refused_before = self.late_words()?;
        self.halted.freeze(self.run);
        self.desk.ask("drain", "other off")?;
        self.wait_for_job(&pushed, "expired")?;
        self.wait_for_job(&queued, "finished")?;
        let before = self.ends(&queued, &pushed)?;
        // Its commands have ended in the meantime, so it has something to say at once.
        self.halted.thaw(self.run);
        let took = self
            .run
            .wait_for("the halted agent's return", PATIENCE, || {
                match self.of_node("halted", "incarnation") {
                    Ok(now) if now != incarnation => Ok(()),
                    other => Err(format!("{other:?}")),
                }
            })?;
        self.outcome.recovered_in(took);
        self.run.pause(LATE_WORDS)?;
        if self.late_words()? == refused_before {
            self.wrong(
                Rule::Blind,
                "the agent said nothing that was late".to_owned(),
            );
        }
        for line in [
            format!("{queued} halted finished INCARNATION {incarnation}"),
            format!("{pushed} halted finished INCARNATION {incarnation}"),
        ] {
            if let Ok(reply) = self.desk.ask("complete", &line) {
                self.wrong(
                    Rule::Fenced,
                    format!("complete {line} was heard: {reply:?}"),
                );
            }
        }
        let after = self.ends(&queued, &pushed)?;
        if before != after {
            self.wrong(
                Rule::Fenced,
                format!("late words changed {before:?} to {after:?}"),
            );
        }
        self.settled_once(&queued, &after)
    }

    /// How often a node was told that it is not, or not any more, who it says it is.
    fn late_words(&self) -> Result<u64, Error> {
        let codes = ["STALE_NODE", "NODE_MISMATCH", "UNKNOWN_NODE"];
        codes.iter().map(|code| self.desk.refusals(code)).sum()
    }

    /// The job from the queue ended once, where it was run the second time.
    fn settled_once(&mut self, queued: &str, ends: &Ends) -> Result<(), Error> {
        if !ends.result.contains("by other") {
            self.wrong(
                Rule::Fenced,
                format!("{queued} is not what the other agent said: {ends:?}"),
            );
        }
        let ended = self.desk.events_of(queued, "job_completed")?;
        if ended != 1 {
            self.wrong(Rule::FreedOnce, format!("{queued} ended {ended} times"));
        }
        self.run.wait_for("free slots", PATIENCE, || {
            for node in ["halted", "other"] {
                match self.of_node(node, "current_jobs") {
                    Ok(held) if held == "0" => {}
                    held => return Err(format!("{node} holds {held:?}")),
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    fn ends(&mut self, queued: &str, pushed: &str) -> Result<Ends, Error> {
        let queued = self.desk.ask("job", queued)?;
        let pushed = self.desk.ask("job", pushed)?;
        let text =
            |fields: &Answer, name: &str| fields.field(name).map(Answer::text).unwrap_or_default();
        Ok(Ends {
            queued: text(&queued, "status"),
            node: text(&queued, "node_id"),
            result: text(&queued, "result"),
            pushed: text(&pushed, "status"),
        })
    }

    fn wait_for_job(&mut self, job: &str, status: &str) -> Result<(), Error> {
        self.run
            .wait_for(&format!("{job} {status}"), PATIENCE, || {
                match self.desk.of_job(job, "status") {
                    Some(seen) if seen == status => Ok(()),
                    seen => Err(format!("{seen:?}")),
                }
            })?;
        Ok(())
    }

    fn wait_for_state(&mut self, node: &str, state: &str) -> Result<(), Error> {
        self.run
            .wait_for(&format!("{node} {state}"), PATIENCE, || {
                match self.of_node(node, "state") {
                    Ok(seen) if seen == state => Ok(()),
                    seen => Err(format!("{seen:?}")),
                }
            })?;
        Ok(())
    }

    fn of_node(&mut self, node: &str, field: &str) -> Result<String, Error> {
        let fields = self.desk.ask("node", node)?;
        Ok(fields.field(field).map(Answer::text).unwrap_or_default())
    }

    fn wrong(&mut self, rule: Rule, sentence: String) {
        self.outcome
            .protected
            .violations
            .push(Violation::new(rule, sentence));
    }
}

/// How both jobs ended.
#[derive(Debug, PartialEq, Eq)]
struct Ends {
    queued: String,
    node: String,
    result: String,
    pushed: String,
}
