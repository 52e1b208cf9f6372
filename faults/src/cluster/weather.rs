//! A network between Redis and a gateway, and between Redis and an agent, that delays, halts, cuts and resets.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use lockless_functions::LIBRARY;

use super::desk::Desk;
use super::http::Caller;
use super::http_load::joined;
use super::programs::Program;
use super::proxy::{Proxy, Weather};
use crate::Error;
use crate::fault::Fault;
use crate::outcome::{Outcome, Rule, Tally, Violation};
use crate::run::Run;

pub(super) const FAULT: Fault = Fault {
    name: "weather",
    summary: "A proxy before Redis delays, halts, cuts and resets what a gateway and an agent say.",
    control: "replies get lost, and requests that are repeated have no `Idempotency-Key`.",
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
/// How often replies get lost in the control run.
const CONTROL_CHANGES: u64 = 1;
/// For how long then: a gateway that meets less repeats a call by itself, with a name of its own.
const NO_REPLIES: Duration = Duration::from_secs(3);
const DRAIN_WITHIN: Duration = Duration::from_secs(60);

fn run(run: &Run) -> Result<Outcome, Error> {
    let mut outcome = stormy(run)?;
    outcome.control = Some(without_keys(run)?);
    Ok(outcome)
}

/// A gateway and an agent, each behind a proxy of its own.
struct Deployment {
    desk: Desk,
    runs: PathBuf,
    for_gateway: Proxy,
    for_agent: Proxy,
    gateway: Program,
    _agent: Program,
}

impl Deployment {
    fn start(run: &Run, mut desk: Desk, name: &str) -> Result<Self, Error> {
        desk.ask("config", "keep_finished_ms 864000000")?;
        let (for_gateway, for_agent) = (desk.proxy()?, desk.proxy()?);
        let url = |proxy: &Proxy| format!("redis://{}", proxy.address());
        let runs = run.directory().join(format!("runs{name}"));
        fs::create_dir_all(&runs).map_err(Error::file(&runs))?;
        let sample = Program::idle_sample(run)?;
        let agent_url = url(&for_agent);
        let arguments = [
            "--redis",
            &agent_url,
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
        ];
        let agent = Program::agent(run, &format!("agent{name}"), &arguments)?;
        let gateway_name = format!("gateway{name}");
        let arguments = ["--redis", &url(&for_gateway)];
        let gateway = Program::gateway(run, None, &gateway_name, &arguments)?;
        let caller = Caller::new(gateway.address(), Duration::from_secs(5));
        run.wait_for("a ready gateway", READY_WITHIN, || caller.is_ready())?;
        Ok(Self {
            desk,
            runs,
            for_gateway,
            for_agent,
            gateway,
            _agent: agent,
        })
    }

    fn load(&self, has_keys: bool) -> Load<'_> {
        Load {
            address: self.gateway.address(),
            runs: &self.runs,
            has_keys,
            is_over: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            broken: AtomicU64::new(0),
        }
    }

    /// How often each of these jobs ran, where that is not once.
    fn not_run_once(&self, jobs: &[Option<String>]) -> Vec<Violation> {
        let mut found = Vec::new();
        for job in jobs.iter().flatten() {
            let ran = fs::read_to_string(self.runs.join(job)).unwrap_or_default();
            if ran != "run\n" {
                let sentence = format!("{job} is finished and ran {} times", ran.lines().count());
                found.push(Violation::new(Rule::OnOneNode, sentence));
            }
        }
        found
    }
}

/// All kinds of weather, and requests that can be told from others when they are repeated.
fn stormy(run: &Run) -> Result<Outcome, Error> {
    let changes = run.rounds(20, 200);
    let mut deployment = Deployment::start(run, Desk::start(run)?, "")?;
    let load = deployment.load(true);
    let mut random = run.random(1);
    let mut outcome = Outcome::default();
    let mut jobs = load.during(|| {
        let changed = (0..changes).try_for_each(|_| {
            let proxy = if random.bool() {
                &deployment.for_gateway
            } else {
                &deployment.for_agent
            };
            outcome.rounds += 1;
            change(run, proxy, &mut random)
        });
        for proxy in [&deployment.for_gateway, &deployment.for_agent] {
            proxy.set(Weather::Clear);
        }
        changed
    })?;
    let healed = Instant::now();
    let caller = Caller::new(load.address, Duration::from_secs(5));
    let is_answered = load.until_answered(&caller, "after", false);
    outcome.recovered_in(healed.elapsed());
    jobs.push(is_answered.then(|| "after".to_owned()));
    outcome.protected = load.tally();
    let tally = &mut outcome.protected;
    for job in &jobs {
        let Some(job) = job else {
            let sentence = "a request was not answered although it was repeated".to_owned();
            let late = Violation::new(Rule::Recovers, sentence);
            tally.violations.push(late);
            continue;
        };
        run.wait_for(
            &format!("the end of {job}"),
            DRAIN_WITHIN,
            || match deployment.desk.of_job(job, "status") {
                Some(status) if status == "finished" => Ok(()),
                other => Err(format!("{other:?}")),
            },
        )?;
    }
    tally.violations.extend(deployment.not_run_once(&jobs));
    outcome.notes.push(format!(
        "{} jobs, each placed by one request and run once",
        jobs.len()
    ));
    let finished = deployment.desk.counter("finished")?;
    if finished != jobs.len() as i64 {
        let sentence = format!(
            "{} jobs were asked for, and {finished} finished",
            jobs.len()
        );
        let doubled = Violation::new(Rule::OnOneNode, sentence);
        tally.violations.push(doubled);
    }
    tally.violations.extend(deployment.desk.unsound()?);
    Ok(outcome)
}

/// The control: replies that are lost, and requests that can't be told from others when they are repeated.
fn without_keys(run: &Run) -> Result<Tally, Error> {
    let desk = Desk::start_control(run, LIBRARY)?;
    let mut deployment = Deployment::start(run, desk, "-control")?;
    let load = deployment.load(false);
    let jobs = load.during(|| {
        let proxy = &deployment.for_gateway;
        (0..CONTROL_CHANGES).try_for_each(|_| {
            set(run, proxy, Weather::NoReplies);
            run.pause(NO_REPLIES)?;
            run.say_command("# the proxy resets all connections");
            proxy.reset();
            set(run, proxy, Weather::Clear);
            run.pause(Duration::from_millis(200))
        })
    })?;
    let mut tally = load.tally();
    let desk = &mut deployment.desk;
    run.wait_for("the end of all jobs", DRAIN_WITHIN, || {
        match desk.counter("live") {
            Ok(0) => Ok(()),
            other => Err(format!("{other:?} live")),
        }
    })?;
    tally.violations = deployment.not_run_once(&jobs);
    Ok(tally)
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
    set(run, proxy, weather);
    run.pause(lasts)?;
    // What was held back is lost in half of the cases.
    if weather == Weather::NoReplies && random.bool() {
        proxy.reset();
    }
    proxy.set(Weather::Clear);
    run.pause(ms(20, 150, random))
}

fn set(run: &Run, proxy: &Proxy, weather: Weather) {
    run.say_command(format_args!(
        "# {weather:?} at the proxy {}",
        proxy.address()
    ));
    proxy.set(weather);
}

struct Load<'a> {
    address: &'a str,
    runs: &'a Path,
    has_keys: bool,
    is_over: AtomicBool,
    requests: AtomicU64,
    broken: AtomicU64,
}

impl Load<'_> {
    /// The jobs that callers had placed while this went on; none in the place of one that was never answered.
    fn during(
        &self,
        weather: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Vec<Option<String>>, Error> {
        thread::scope(|scope| {
            let callers = (0..CALLERS).map(|number| scope.spawn(move || self.call(number)));
            let callers: Vec<_> = callers.collect();
            let changed = weather();
            self.is_over.store(true, Ordering::Relaxed);
            let jobs = callers.into_iter().flat_map(joined).collect();
            changed.map(|()| jobs)
        })
    }

    fn tally(&self) -> Tally {
        Tally {
            operations: self.requests.load(Ordering::Relaxed),
            maybes: self.broken.load(Ordering::Relaxed),
            violations: Vec::new(),
        }
    }

    fn call(&self, number: usize) -> Vec<Option<String>> {
        let caller = Caller::new(self.address, Duration::from_secs(5));
        let mut jobs = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let job = format!("c{number}-{}", jobs.len());
            let is_answered =
                self.until_answered(&caller, &job, !self.has_keys || jobs.len() % 2 == 0);
            jobs.push(is_answered.then_some(job));
            thread::sleep(PACE);
        }
        jobs
    }

    /// Repeats a request, with its key if it has one, until it is answered.
    fn until_answered(&self, caller: &Caller, job: &str, is_pushed: bool) -> bool {
        let file: PathBuf = self.runs.join(job);
        let payload = format!(r#"{{"argv":["sh","-c","echo run >> {}"]}}"#, file.display());
        let (path, body, headers) = match is_pushed {
            true => (
                "/v1/jobs",
                format!(r#"{{"session":"s","payload":{payload}}}"#),
                match self.has_keys {
                    true => vec![("idempotency-key", job)],
                    false => vec![],
                },
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
