//! An agent that is killed after Redis has handed it a job and before it was told.

use std::path::PathBuf;
use std::time::Duration;
use std::{fs, thread};

use super::desk::Desk;
use super::programs::Program;
use super::proxy::{Proxy, Weather};
use crate::Error;
use crate::fault::Fault;
use crate::outcome::{Outcome, Rule, Tally, Violation};
use crate::run::Run;

pub(super) const FAULT: Fault = Fault {
    name: "agent-killed",
    summary: "kill -9 of an agent between the FCALL that hands it a job and its reply, and a start with the same `--state-dir`.",
    control: "the agent is killed once it was told and the command runs: what has tries left runs again.",
    quick_limit: Duration::from_secs(60),
    full_limit: Duration::from_secs(300),
    run,
};

const NODE: &str = "n1";
const PATIENCE: Duration = Duration::from_secs(20);
const HANDED_WITHIN: Duration = Duration::from_secs(5);
/// How late everything is, so that there is time to hold back the reply to a call that a message has brought about.
const LATE: Duration = Duration::from_millis(80);
/// An agent that was told all the same has run the job, and one that the message did not reach has none: then it is tried again, so often.
const TRIES: u64 = 10;
/// The kinds of events that tell of a job's end.
const ENDS: [&str; 4] = [
    "job_completed",
    "job_failed",
    "job_expired",
    "job_cancelled",
];

/// How a job comes to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Queued,
    Pushed,
}

fn run(run: &Run) -> Result<Outcome, Error> {
    let mut desk = Desk::start(run)?;
    desk.ask("config", "events all retry_backoff_ms 20")?;
    let proxy = desk.proxy()?;
    let runs = run.directory().join("runs");
    fs::create_dir_all(&runs).map_err(Error::file(&runs))?;
    let mut trial = Trial {
        run,
        desk,
        proxy,
        runs,
        outcome: Outcome::default(),
    };
    for round in 0..run.rounds(2, 20) {
        for way in [Way::Queued, Way::Pushed] {
            trial.round(way, round)?;
            trial.outcome.rounds += 1;
        }
    }
    trial.outcome.protected.operations = trial.desk.calls()?;
    trial.outcome.control = Some(trial.killed_too_late()?);
    Ok(trial.outcome)
}

struct Trial<'a> {
    run: &'a Run,
    desk: Desk,
    proxy: Proxy,
    runs: PathBuf,
    outcome: Outcome,
}

impl Trial<'_> {
    fn round(&mut self, way: Way, round: u64) -> Result<(), Error> {
        let job = self.killed_with(way, round)?;
        let ran = self.runs_of(&job);
        if ran > 0 {
            self.wrong(Rule::Fault, format!("{job} ran although nobody was told"));
        }
        let begin = std::time::Instant::now();
        let _agent = self.agent()?;
        self.wait_for_job(&job, &["finished", "expired"], PATIENCE)?;
        self.outcome.recovered_in(begin.elapsed());
        // A job from the queue has tries left and runs; one that was pushed to the agent that was killed is over.
        let (ran, expected) = (self.runs_of(&job), usize::from(way == Way::Queued));
        if ran != expected {
            self.wrong(
                Rule::OnOneNode,
                format!("{job} has ended and ran {ran} times"),
            );
        }
        // A job whose node was lost is told as what it will be before it is settled, and its event is written then.
        while self.desk.ask("sweep", "")?.int() != Some(0) {
            self.run.check()?;
        }
        let ends = ENDS.iter().map(|kind| self.desk.events_of(&job, kind));
        let ends: usize = ends.sum::<Result<_, Error>>()?;
        if ends != 1 {
            self.wrong(Rule::JobKept, format!("{job} ended {ends} times"));
        }
        self.run.wait_for("free slots", PATIENCE, || {
            let held = self.desk.ask("node", NODE);
            let held = held.map_err(|error| error.to_string())?;
            match held.field("current_jobs").map(crate::wire::Answer::text) {
                Some(held) if held == "0" => Ok(()),
                held => Err(format!("{held:?}")),
            }
        })?;
        let found = self.desk.unsound()?;
        self.outcome.protected.violations.extend(found);
        Ok(())
    }

    /// The control: the command has begun when the agent is killed.
    fn killed_too_late(&mut self) -> Result<Tally, Error> {
        let job = "told";
        let file = self.runs.join(job);
        let script = format!("echo run >> {}; sleep 0.5", file.display());
        let payload = format!(r#"{{"argv":["sh","-c","{script}"]}}"#);
        let before = self.desk.calls()?;
        let mut agent = self.agent()?;
        self.desk.say("submit", &[job, &payload, "RETRIES", "3"])?;
        self.run.wait_for("a command that runs", PATIENCE, || {
            match self.runs_of(job) {
                0 => Err("it did not begin".to_owned()),
                _ => Ok(()),
            }
        })?;
        agent.kill(self.run);
        let _agent = self.agent()?;
        self.wait_for_job(job, &["finished"], PATIENCE)?;
        let mut tally = Tally {
            operations: self.desk.calls()? - before,
            ..Tally::default()
        };
        let ran = self.runs_of(job);
        if ran != 1 {
            let sentence = format!("{job} has ended and ran {ran} times");
            let twice = Violation::new(Rule::OnOneNode, sentence);
            tally.violations.push(twice);
        }
        Ok(tally)
    }

    /// Kills an agent that has a job and does not know. Says which.
    fn killed_with(&mut self, way: Way, round: u64) -> Result<String, Error> {
        for number in 0..TRIES {
            let job = format!("{way:?}-{round}-{number}").to_lowercase();
            let mut agent = self.agent()?;
            // Its first job is over: it is there, and listens.
            let first = format!("{job}-first");
            self.desk.say(
                "dispatch",
                &["s", "-", "-", &self.payload(&first), "JOB", &first],
            )?;
            self.wait_for_job(&first, &["finished"], PATIENCE)?;
            self.hand_out(way, &job)?;
            let handed = self.wait_for_job(&job, &["running", "finished"], HANDED_WITHIN);
            let is_running = self.desk.of_job(&job, "status").as_deref() == Some("running");
            agent.kill(self.run);
            self.proxy.set(Weather::Clear);
            match handed {
                Ok(()) if is_running && self.runs_of(&job) == 0 => {
                    self.outcome.protected.maybes += 1;
                    return Ok(job);
                }
                Ok(()) | Err(Error::Waited { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Call {
            call: format!("a {way:?} job whose reply is held back"),
            said: format!("the agent was told in {TRIES} tries"),
        })
    }

    /// Has a job come to the agent, whose calls reach Redis from now on and whose replies do not.
    fn hand_out(&mut self, way: Way, job: &str) -> Result<(), Error> {
        let payload = self.payload(job);
        self.run.say_command(format_args!(
            "# no replies at the proxy {}",
            self.proxy.address()
        ));
        match way {
            Way::Queued => {
                self.proxy.set(Weather::NoReplies);
                self.desk.say("submit", &[job, &payload, "RETRIES", "3"])?;
            }
            // A message wakes the agent: it must reach it, and the reply to what the agent then asks must not.
            Way::Pushed => {
                self.proxy.set(Weather::Late(LATE));
                self.desk
                    .say("dispatch", &["s", "-", "-", &payload, "JOB", job])?;
                thread::sleep(LATE.mul_f64(1.6));
                self.proxy.set(Weather::NoReplies);
            }
        }
        Ok(())
    }

    fn agent(&self) -> Result<Program, Error> {
        let sample = Program::idle_sample(self.run)?;
        let url = format!("redis://{}", self.proxy.address());
        let arguments = [
            "--redis",
            &url,
            "--node",
            NODE,
            "--allow",
            "/bin/sh",
            "--tick-ms",
            "100",
            "--sample-from",
            &sample,
        ];
        Program::agent(self.run, "agent", &arguments)
    }

    fn payload(&self, job: &str) -> String {
        let file = self.runs.join(job);
        format!(r#"{{"argv":["sh","-c","echo run >> {}"]}}"#, file.display())
    }

    fn wait_for_job(
        &mut self,
        job: &str,
        states: &[&str],
        patience: Duration,
    ) -> Result<(), Error> {
        let what = format!("{job} {}", states.join(" or "));
        self.run
            .wait_for(&what, patience, || match self.desk.of_job(job, "status") {
                Some(status) if states.contains(&status.as_str()) => Ok(()),
                other => Err(format!("{other:?}")),
            })?;
        Ok(())
    }

    fn runs_of(&self, job: &str) -> usize {
        let ran = fs::read_to_string(self.runs.join(job)).unwrap_or_default();
        ran.lines().count()
    }

    fn wrong(&mut self, rule: Rule, sentence: String) {
        let violation = Violation::new(rule, sentence);
        self.outcome.protected.violations.push(violation);
    }
}
