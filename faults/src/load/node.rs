//! A node: it registers, speaks, takes and pulls work, and ends it. Now and then it starts anew and says something in the name of its
//! predecessor, or says the same twice.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::{DRAIN, Phase, Plan, STOP, rest_if_away};
use crate::history::Scribe;
use crate::wire::{Answer, Said};

/// One turn in so many it starts anew.
const RESTART_ONE_IN: u32 = 300;
/// One word in so many is said twice.
const TWICE_ONE_IN: u32 = 10;

pub(super) struct Node {
    root: Arc<str>,
    name: String,
    max_jobs: u64,
    pause: Duration,
    pause_between_words: Duration,
    scribe: Scribe,
    random: Rng,
    instance: u32,
    incarnation: Option<i64>,
    /// What it was before, and a job it had then.
    before: Option<(i64, Option<String>)>,
    speaks_at: Instant,
    requests: u64,
    /// Of `take` and `pull`: the request that was not answered yet.
    open_request: [Option<String>; 2],
    tasks: Vec<Task>,
}

/// Work that it has.
struct Task {
    job: String,
    attempt: String,
    ends_at: Instant,
    status: &'static str,
}

impl Node {
    pub(super) fn new(
        root: Arc<str>,
        name: String,
        plan: &Plan,
        scribe: Scribe,
        random: Rng,
    ) -> Self {
        Self {
            root,
            name,
            max_jobs: plan.max_jobs,
            pause: plan.pause,
            pause_between_words: Duration::from_millis(plan.heartbeat_ttl_ms / 4),
            scribe,
            random,
            instance: 0,
            incarnation: None,
            before: None,
            speaks_at: Instant::now(),
            requests: 0,
            open_request: [None, None],
            tasks: Vec::new(),
        }
    }

    pub(super) fn live(mut self, phase: &Phase) {
        while !phase.is(STOP) {
            let is_draining = phase.is(DRAIN);
            self.turn(is_draining);
            sleep(self.pause.mul_f64(0.5 + 2.5 * self.random.f64()));
        }
    }

    fn turn(&mut self, is_draining: bool) {
        let Some(incarnation) = self.incarnation else {
            return self.register();
        };
        if Instant::now() >= self.speaks_at {
            self.speak(incarnation, is_draining);
        }
        self.fetch(incarnation, "take", 0);
        self.fetch(incarnation, "pull", 1);
        self.end_tasks(incarnation);
        if is_draining {
            self.end_what_it_does_not_know(incarnation);
        } else if self.random.u32(..RESTART_ONE_IN) == 0 {
            self.restart(incarnation);
        }
        self.speak_as_before();
    }

    fn say(&mut self, function: &'static str, line: &str) -> Said {
        let said = self.scribe.say(&self.root, function, line);
        rest_if_away(&said);
        if matches!(said.code(), Some("STALE_NODE" | "UNKNOWN_NODE")) {
            // Lost, or replaced: what it had is somebody else's to settle.
            self.begin_anew();
        }
        said
    }

    fn register(&mut self) {
        let line = format!(
            "{} {} INSTANCE i{} POOL default POOL p{}",
            self.name,
            self.max_jobs,
            self.instance,
            self.name.len() % 2
        );
        let said = self.say("register", &line);
        let number = said
            .reply()
            .and_then(|reply| reply.field("incarnation")?.int());
        if number.is_some() {
            self.incarnation = number;
            self.speaks_at = Instant::now() + self.pause_between_words;
        }
    }

    fn begin_anew(&mut self) {
        self.incarnation = None;
        self.tasks.clear();
        self.open_request = [None, None];
    }

    /// A crash: what it ran is gone, and whoever starts in its place is another instance.
    fn restart(&mut self, incarnation: i64) {
        let job = self.tasks.first().map(|task| task.job.clone());
        self.before = Some((incarnation, job));
        self.instance += 1;
        self.begin_anew();
    }

    /// The words of its predecessor, which were on their way, arrive once it is there.
    fn speak_as_before(&mut self) {
        if self.incarnation.is_none() {
            return;
        }
        let Some((incarnation, job)) = self.before.take() else {
            return;
        };
        let name = self.name.clone();
        let mut lines = vec![("heartbeat", format!("{name} INCARNATION {incarnation}"))];
        if let Some(job) = job {
            lines.push((
                "complete",
                format!("{job} {name} finished INCARNATION {incarnation}"),
            ));
        }
        for (function, line) in lines {
            // Not `say`: it is not this one that is told to register.
            let said = self.scribe.say(&self.root, function, &line);
            rest_if_away(&said);
        }
    }

    fn speak(&mut self, incarnation: i64, is_draining: bool) {
        let foreign = if is_draining || self.random.u8(..4) > 0 {
            0
        } else {
            1
        };
        let line = format!("{} FOREIGN {foreign} INCARNATION {incarnation}", self.name);
        let said = self.say("heartbeat", &line);
        let Some(reply) = said.reply() else { return };
        self.speaks_at = Instant::now() + self.pause_between_words;
        let stop = reply.field("stop").map(Answer::texts).unwrap_or_default();
        self.stop(incarnation, &stop);
    }

    fn stop(&mut self, incarnation: i64, jobs: &[String]) {
        for job in jobs {
            let line = format!("{job} {} ok INCARNATION {incarnation}", self.name);
            if self.say("stopped", &line).reply().is_some() {
                self.tasks.retain(|task| task.job != *job);
            }
        }
    }

    fn fetch(&mut self, incarnation: i64, function: &'static str, at: usize) {
        self.requests += 1;
        let request = self.open_request[at]
            .get_or_insert_with(|| format!("{function}-{}-{}", self.instance, self.requests))
            .clone();
        let count = self.random.u8(1..4);
        let line = format!(
            "{} COUNT {count} REQUEST {request} INCARNATION {incarnation}",
            self.name
        );
        let said = self.say(function, &line);
        let Some(reply) = said.reply() else { return };
        self.open_request[at] = None;
        let [items, stop] = reply.list() else { return };
        for item in items.list() {
            self.begin(item);
        }
        self.stop(incarnation, &stop.texts());
    }

    fn begin(&mut self, item: &Answer) {
        let text = |name: &str| item.field(name).map(Answer::text).unwrap_or_default();
        let job = text("job_id");
        if self.tasks.iter().any(|task| task.job == job) {
            return;
        }
        let longest_ms = if self.random.u8(..10) == 0 { 200 } else { 15 };
        let length = Duration::from_millis(self.random.u64(..longest_ms));
        self.tasks.push(Task {
            job,
            attempt: text("attempt"),
            ends_at: Instant::now() + length,
            status: if self.random.u8(..10) == 0 {
                "failed"
            } else {
                "finished"
            },
        });
    }

    fn end_tasks(&mut self, incarnation: i64) {
        let now = Instant::now();
        let (over, rest): (Vec<Task>, Vec<Task>) = std::mem::take(&mut self.tasks)
            .into_iter()
            .partition(|task| task.ends_at <= now);
        self.tasks = rest;
        for task in over {
            let line = format!(
                "{} {} {} ATTEMPT {} INCARNATION {incarnation}",
                task.job, self.name, task.status, task.attempt
            );
            let said = self.say("complete", &line);
            if self.incarnation.is_none() {
                return;
            }
            match said {
                Said::Reply(_) if self.random.u32(..TWICE_ONE_IN) == 0 => {
                    self.say("complete", &line);
                }
                Said::Reply(_) => {}
                // It is not sure that it was heard, so it is said again.
                Said::Maybe(_) | Said::Unsent(_) => self.tasks.push(task),
                Said::Refused(_) if is_passing(&said) => self.tasks.push(task),
                Said::Refused(_) => {}
            }
        }
    }

    /// What the cell says it has and it does not know of, such as a job whose end it said and the server forgot.
    fn end_what_it_does_not_know(&mut self, incarnation: i64) {
        let said = self.say("holds", &format!("{} 0 100", self.name));
        let Some([_, holds]) = said.reply().map(Answer::list) else {
            return;
        };
        for hold in holds.list() {
            let [state, job, session, lease, _] = hold.list() else {
                continue;
            };
            let job = job.text();
            if state.text() == "seat" {
                self.say("unbind", &format!("{} {}", session.text(), lease.text()));
            } else if !self.tasks.iter().any(|task| task.job == job) {
                let line = format!("{job} {} finished INCARNATION {incarnation}", self.name);
                self.say("complete", &line);
            }
        }
    }
}

/// Whether a refusal says nothing about the call itself, so that it is worth repeating.
pub(super) fn is_passing(said: &Said) -> bool {
    const PASSING: [&str; 11] = [
        "OOM",
        "MISCONF",
        "LOADING",
        "READONLY",
        "MOVED",
        "ASK",
        "TRYAGAIN",
        "CLUSTERDOWN",
        "MASTERDOWN",
        "NOREPLICAS",
        "CELL_MOVING",
    ];
    said.code().is_some_and(|code| PASSING.contains(&code))
}
