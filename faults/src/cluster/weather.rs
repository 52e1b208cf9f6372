//! A network between Redis and a gateway, and between Redis and an agent, that delays, halts, cuts and resets.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::desk::Desk;
use super::http::Caller;
use super::programs::Program;
use super::proxy::{Proxy, Weather};
use crate::Error;
use crate::fault::Fault;
use crate::outcome::{Outcome, Rule, Violation};
use crate::run::Run;

pub(super) const FAULT: Fault = Fault {
    name: "weather",
    summary: "A proxy before Redis delays, halts, cuts and resets what a gateway and an agent say.",
    control: "",
    quick_limit: Duration::from_secs(90),
    full_limit: Duration::from_secs(300),
    run,
};

const READY_WITHIN: Duration = Duration::from_secs(15);
const CALLERS: usize = 3;
/// The pause after each request, so that an agent can run what is asked for.
const PACE: Duration = Duration::from_millis(40);
/// How long a request is repeated until it is answered.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
const DRAIN_WITHIN: Duration = Duration::from_secs(60);

fn run(run: &Run) -> Result<Outcome, Error> {
    let changes = run.rounds(20, 200);
    let mut desk = Desk::start(run)?;
    desk.ask("config", "keep_finished_ms 864000000")?;
    let (for_gateway, for_agent) = (desk.proxy()?, desk.proxy()?);
    let url = |proxy: &Proxy| format!("redis://{}", proxy.address());
    let runs = run.directory().join("runs");
    fs::create_dir_all(&runs).map_err(Error::file(&runs))?;
    let sample = Program::idle_sample(run)?;
    let _agent = Program::agent(
        run,
        "agent",
        &[
            "--redis",
            &url(&for_agent),
            "--node",
            "n1",
            "--max-jobs",
            "8",
            "--allow",
            "/bin/sh",
            "--tick-ms",
            "100",
            "--sample-from",
            &sample,
        ],
    )?;
    let gateway = Program::gateway(run, None, "gateway", &["--redis", &url(&for_gateway)])?;
    let caller = Caller::new(gateway.address(), Duration::from_secs(5));
    run.wait_for("a ready gateway", READY_WITHIN, || caller.is_ready())?;

    let load = Load {
        address: gateway.address(),
        runs: &runs,
        is_over: AtomicBool::new(false),
        requests: AtomicU64::new(0),
        broken: AtomicU64::new(0),
    };
    let mut random = run.random(1);
    let mut outcome = Outcome::default();
    let mut jobs = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|number| {
                let load = &load;
                scope.spawn(move || load.call(number))
            })
            .collect();
        let changed = (0..changes).try_for_each(|_| {
            let proxy = if random.bool() {
                &for_gateway
            } else {
                &for_agent
            };
            outcome.rounds += 1;
            change(run, proxy, &mut random)
        });
        for proxy in [&for_gateway, &for_agent] {
            proxy.set(Weather::Clear);
        }
        load.is_over.store(true, Ordering::Relaxed);
        let mut jobs = Vec::new();
        for caller in callers {
            match caller.join() {
                Ok(own) => jobs.extend(own),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        changed.map(|()| jobs)
    })?;
    let healed = Instant::now();
    let is_answered = load.until_answered(&caller, "after", false);
    outcome.recovered_in(healed.elapsed());
    jobs.push(is_answered.then(|| "after".to_owned()));
    let tally = &mut outcome.protected;
    tally.operations = load.requests.load(Ordering::Relaxed);
    tally.maybes = load.broken.load(Ordering::Relaxed);
    for job in &jobs {
        let Some(job) = job else {
            let sentence = "a request was not answered although it was repeated".to_owned();
            tally
                .violations
                .push(Violation::new(Rule::Recovers, sentence));
            continue;
        };
        run.wait_for(&format!("the end of {job}"), DRAIN_WITHIN, || {
            match desk.of_job(job, "status") {
                Some(status) if status == "finished" => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })?;
        let ran = fs::read_to_string(runs.join(job)).unwrap_or_default();
        if ran != "run\n" {
            let sentence = format!("{job} is finished and ran {} times", ran.lines().count());
            tally
                .violations
                .push(Violation::new(Rule::OnOneNode, sentence));
        }
    }
    outcome.notes.push(format!(
        "{} jobs, each placed by one request and run once",
        jobs.len()
    ));
    let finished = desk.counter("finished")?;
    if finished != jobs.len() as i64 {
        let sentence = format!(
            "{} jobs were asked for, and {finished} finished",
            jobs.len()
        );
        outcome
            .protected
            .violations
            .push(Violation::new(Rule::OnOneNode, sentence));
    }
    outcome.protected.violations.extend(desk.unsound()?);
    Ok(outcome)
}

/// Bad weather for a moment.
fn change(run: &Run, proxy: &Proxy, random: &mut Rng) -> Result<(), Error> {
    let ms = |from: u64, to: u64, random: &mut Rng| Duration::from_millis(random.u64(from..to));
    let (weather, lasts) = match random.u8(..6) {
        0 => (Weather::Late(ms(2, 60, random)), ms(100, 500, random)),
        1 => (Weather::NoReplies, ms(50, 600, random)),
        // Longer than a call may take, now and then.
        2 => (Weather::Halted, ms(50, 2500, random)),
        3 => (Weather::Down, ms(50, 500, random)),
        4 => {
            proxy.cut();
            (Weather::Clear, ms(20, 200, random))
        }
        _ => {
            proxy.reset();
            (Weather::Clear, ms(20, 200, random))
        }
    };
    proxy.set(weather);
    run.pause(lasts)?;
    // What was held back is lost in half of the cases.
    if weather == Weather::NoReplies && random.bool() {
        proxy.reset();
    }
    proxy.set(Weather::Clear);
    run.pause(ms(20, 150, random))
}

struct Load<'a> {
    address: &'a str,
    runs: &'a Path,
    is_over: AtomicBool,
    requests: AtomicU64,
    broken: AtomicU64,
}

impl Load<'_> {
    /// The jobs that one caller had placed; none in the place of one that was never answered.
    fn call(&self, number: usize) -> Vec<Option<String>> {
        let caller = Caller::new(self.address, Duration::from_secs(5));
        let mut jobs = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let job = format!("c{number}-{}", jobs.len());
            let is_answered = self.until_answered(&caller, &job, jobs.len() % 2 == 0);
            jobs.push(is_answered.then_some(job));
            thread::sleep(PACE);
        }
        jobs
    }

    /// Repeats a request with its key until it is answered.
    fn until_answered(&self, caller: &Caller, job: &str, is_pushed: bool) -> bool {
        let file: PathBuf = self.runs.join(job);
        let payload = format!(r#"{{"argv":["sh","-c","echo run >> {}"]}}"#, file.display());
        let (path, body, headers) = match is_pushed {
            true => (
                "/v1/jobs",
                format!(r#"{{"session":"s","payload":{payload}}}"#),
                vec![("idempotency-key", job)],
            ),
            false => (
                "/v1/queue",
                format!(r#"{{"job":"{job}","payload":{payload}}}"#),
                vec![],
            ),
        };
        let begin = Instant::now();
        while begin.elapsed() < ANSWER_WITHIN {
            self.requests.fetch_add(1, Ordering::Relaxed);
            match caller.send(path, &headers, Some(&body)) {
                Ok(page) if page.is_ok() => return true,
                Ok(page) if page.status == 502 || page.status == 504 => {
                    self.broken.fetch_add(1, Ordering::Relaxed);
                }
                Ok(_) => {}
                Err(_) => {
                    self.broken.fetch_add(1, Ordering::Relaxed);
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    }
}
