//! A gateway that is killed after Redis has made a call and before anyone was told.

use std::thread;
use std::time::Duration;

use super::desk::Desk;
use super::http::{Caller, Page};
use super::programs::Program;
use super::proxy::{Proxy, Weather};
use crate::Error;
use crate::fault::Fault;
use crate::outcome::{Outcome, Rule, Tally, Violation};
use crate::run::Run;

pub(super) const FAULT: Fault = Fault {
    name: "gateway",
    summary: "kill -9 of a gateway between the FCALL and its reply, and the same request again by another one.",
    control: "the same requests without an `Idempotency-Key`.",
    quick_limit: Duration::from_secs(60),
    full_limit: Duration::from_secs(300),
    run,
};

const READY_WITHIN: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_secs(10);
const DISPATCH: (&str, &str) = ("/v1/jobs", r#"{"session":"s","payload":{"n":1}}"#);
const TAKE: (&str, &str) = ("/v1/nodes/n1/take", r#"{"count":1}"#);

fn run(run: &Run) -> Result<Outcome, Error> {
    let rounds = run.rounds(2, 20);
    let mut desk = Desk::start(run)?;
    desk.ask("config", "heartbeat_ttl_ms 600000")?;
    desk.ask("register", "n1 1000")?;
    let proxy = desk.proxy()?;
    let survivor = Program::gateway(run, None, "survivor", &["--redis", &desk.url()])?;
    let caller = Caller::new(survivor.address(), PATIENCE);
    run.wait_for("a ready gateway", READY_WITHIN, || caller.is_ready())?;
    let mut trial = Trial {
        run,
        desk,
        proxy,
        caller,
    };
    let mut outcome = Outcome::default();
    let mut control = Tally::default();
    for round in 0..rounds {
        trial.dispatch(Some(&format!("key-{round}")), &mut outcome.protected)?;
        trial.take(&format!("take-{round}"), &mut outcome.protected)?;
        trial.dispatch(None, &mut control)?;
        // The third is the control's.
        outcome.rounds += 2;
        outcome.protected.violations.extend(trial.desk.unsound()?);
    }
    outcome.control = Some(control);
    Ok(outcome)
}

struct Trial<'a> {
    run: &'a Run,
    desk: Desk,
    proxy: Proxy,
    caller: Caller,
}

impl Trial<'_> {
    /// A dispatch that is cut short, and made again. It must have given one slot, whatever the second answer is.
    fn dispatch(&mut self, key: Option<&str>, tally: &mut Tally) -> Result<(), Error> {
        let before = self.desk.counter("dispatched")?;
        let is_made = |desk: &mut Desk| Ok(desk.counter("dispatched")? > before);
        self.cut_short(DISPATCH, key, is_made)?;
        let again = self.again(DISPATCH, key)?;
        tally.operations += 2;
        tally.maybes += 1;
        let given = self.desk.counter("dispatched")? - before;
        if given != 1 {
            let sentence = format!("one request, made again, took {given} slots");
            tally
                .violations
                .push(Violation::new(Rule::OnOneNode, sentence));
        }
        if let Some(key) = key.filter(|key| again.text("job_id") != *key) {
            let sentence = format!("the second answer to {key} is {again:?}");
            tally
                .violations
                .push(Violation::new(Rule::JobKept, sentence));
        }
        Ok(())
    }

    /// A node's request for work that is cut short, and made again: it is handed the same job, not the next one.
    fn take(&mut self, key: &str, tally: &mut Tally) -> Result<(), Error> {
        // What the dispatches before left to be taken is out of the way.
        self.desk.ask("take", "n1 COUNT 256")?;
        let jobs = ["a", "b"].map(|name| format!("{key}-{name}"));
        for job in &jobs {
            self.desk
                .say("dispatch", &["s", "-", "-", "1", "JOB", job])?;
        }
        let is_taken = |desk: &mut Desk| {
            let mut states = jobs.iter().map(|job| desk.of_job(job, "status"));
            Ok(states.any(|status| status.as_deref() == Some("running")))
        };
        self.cut_short(TAKE, Some(key), is_taken)?;
        let again = self.again(TAKE, Some(key))?;
        tally.operations += 2;
        tally.maybes += 1;
        let running: Vec<&String> = jobs
            .iter()
            .filter(|job| self.desk.of_job(job, "status").as_deref() == Some("running"))
            .collect();
        let is_same = matches!(running.as_slice(), [one] if again.text("job_id") == one.as_str());
        if !is_same {
            let sentence =
                format!("{running:?} run after a take of one that was made again: {again:?}");
            tally
                .violations
                .push(Violation::new(Rule::OnOneNode, sentence));
        }
        for job in &jobs {
            self.desk.ask("complete", &format!("{job} n1 finished"))?;
        }
        Ok(())
    }

    /// Sends a request whose reply never leaves Redis's side, and kills the gateway once the call was made.
    fn cut_short(
        &mut self,
        request: (&str, &str),
        key: Option<&str>,
        mut is_made: impl FnMut(&mut Desk) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        self.proxy.set(Weather::Clear);
        let url = format!("redis://{}", self.proxy.address());
        let mut gateway = Program::gateway(self.run, None, "killed", &["--redis", &url])?;
        let caller = Caller::new(gateway.address(), PATIENCE);
        self.run
            .wait_for("a ready gateway", READY_WITHIN, || caller.is_ready())?;
        self.proxy.set(Weather::NoReplies);
        let answer = thread::scope(|scope| {
            let sent = scope.spawn(|| send(&caller, request, key));
            let made = self.run.wait_for("the call in Redis", PATIENCE, || {
                match is_made(&mut self.desk) {
                    Ok(true) => Ok(()),
                    other => Err(format!("{other:?}")),
                }
            });
            gateway.kill(self.run);
            made?;
            Ok::<_, Error>(
                sent.join()
                    .unwrap_or_else(|_| Err("it panicked".to_owned())),
            )
        })?;
        self.proxy.set(Weather::Clear);
        match answer {
            Err(_) => Ok(()),
            Ok(page) => Err(Error::Call {
                call: format!("{} by a gateway that is killed", request.0),
                said: format!("{page:?}, although no reply reached it"),
            }),
        }
    }

    /// The same request, to another gateway.
    fn again(&self, request: (&str, &str), key: Option<&str>) -> Result<Page, Error> {
        let failed = |said| Error::Call {
            call: format!("{} again", request.0),
            said,
        };
        let page = send(&self.caller, request, key).map_err(failed)?;
        if page.is_ok() {
            Ok(page)
        } else {
            Err(failed(format!("{page:?}")))
        }
    }
}

fn send(caller: &Caller, (path, body): (&str, &str), key: Option<&str>) -> Result<Page, String> {
    let headers: Vec<_> = key
        .map(|key| ("idempotency-key", key))
        .into_iter()
        .collect();
    caller.send(path, &headers, Some(body))
}
