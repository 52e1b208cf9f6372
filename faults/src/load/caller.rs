//! A caller: it dispatches, submits, cancels and looks, binds sessions, takes locks, and reserves. What is not answered it repeats, mostly.

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use fastrand::Rng;

use super::node::is_passing;
use super::turn::{ACK_MS, LEASE_MS, LOCK_MS};
use super::{Phase, Plan, WORK, rest_if_away};
use crate::history::Scribe;
use crate::wire::{Answer, Said};

/// What is not answered is repeated so often, by most.
const REPEATS: usize = 200;
/// One call in so many is given up at once when it is not answered.
const GIVES_UP_ONE_IN: u32 = 8;
/// It looks back on so many of its jobs.
const REMEMBERED: usize = 20;
/// Locks that all callers of a cell want.
const LOCKS: usize = 3;
/// Sessions of each caller that it binds.
const SESSIONS: usize = 2;

pub(super) struct Caller {
    number: usize,
    roots: Vec<Arc<str>>,
    nodes: usize,
    pause: Duration,
    payload: String,
    scribe: Scribe,
    random: Rng,
    made: u64,
    jobs: Vec<(Arc<str>, String)>,
    leases: Vec<Lease>,
}

/// A lease it was given, perhaps one that another has taken the place of.
struct Lease {
    root: Arc<str>,
    session: String,
    id: String,
}

impl Caller {
    pub(super) fn new(number: usize, plan: &Plan, scribe: Scribe, random: Rng) -> Self {
        Self {
            number,
            roots: plan.roots.clone(),
            nodes: plan.nodes,
            pause: plan.pause,
            payload: "x".repeat(plan.payload_bytes),
            scribe,
            random,
            made: 0,
            jobs: Vec::new(),
            leases: Vec::new(),
        }
    }

    pub(super) fn live(mut self, phase: &Phase) {
        while phase.is(WORK) {
            self.turn(phase);
            sleep(self.pause);
        }
    }

    fn turn(&mut self, phase: &Phase) {
        let root = self.roots[self.random.usize(..self.roots.len())].clone();
        match self.random.u8(..100) {
            0..40 => self.dispatch(phase, &root),
            40..60 => self.submit(phase, &root),
            60..70 => self.cancel(phase),
            70..80 => self.look(phase),
            80..88 => self.bind(phase, &root),
            88..92 => self.use_lease(phase),
            92..97 => self.lock(phase, &root),
            _ => self.reserve(phase, &root),
        }
    }

    /// Says it until it is answered, or gives up.
    fn say(
        &mut self,
        phase: &Phase,
        root: &Arc<str>,
        function: &'static str,
        args: Vec<String>,
    ) -> Said {
        let gives_up = self.random.u32(..GIVES_UP_ONE_IN) == 0;
        let mut said = self.scribe.call(root, function, args.clone());
        for _ in 0..REPEATS {
            rest_if_away(&said);
            let is_open = matches!(said, Said::Maybe(_) | Said::Unsent(_)) || is_passing(&said);
            if !is_open || gives_up || !phase.is(WORK) {
                break;
            }
            if is_passing(&said) {
                sleep(Duration::from_millis(10));
            }
            said = self.scribe.call(root, function, args.clone());
        }
        said
    }

    fn say_line(
        &mut self,
        phase: &Phase,
        root: &Arc<str>,
        function: &'static str,
        line: &str,
    ) -> Said {
        let args = line.split_whitespace().map(str::to_owned).collect();
        self.say(phase, root, function, args)
    }

    fn new_job(&mut self, root: &Arc<str>) -> String {
        self.made += 1;
        let job = format!("c{}-{}", self.number, self.made);
        self.jobs.push((root.clone(), job.clone()));
        if self.jobs.len() > REMEMBERED {
            self.jobs.remove(0);
        }
        job
    }

    fn dispatch(&mut self, phase: &Phase, root: &Arc<str>) {
        let job = self.new_job(root);
        // A session that is bound has its jobs in its seat.
        let session = match self.random.u8(..10) {
            0 => format!("b{}-0", self.number),
            number => format!("s{number}"),
        };
        let payload = self.payload.clone();
        let mut line = format!("{session} - - {payload} JOB {job}");
        if self.random.u8(..3) == 0 {
            line.push_str(&format!(" ACK {ACK_MS}"));
        }
        let said = self.say_line(phase, root, "dispatch", &line);
        if said.code() == Some("NO_AVAILABLE_NODE") {
            sleep(Duration::from_millis(2));
        }
    }

    fn submit(&mut self, phase: &Phase, root: &Arc<str>) {
        let job = self.new_job(root);
        let priority = self.random.u8(..5);
        let payload = self.payload.clone();
        let line = format!("{job} {payload} PRIORITY {priority} RETRIES 2");
        self.say_line(phase, root, "submit", &line);
    }

    fn some_job(&mut self) -> Option<(Arc<str>, String)> {
        if self.jobs.is_empty() {
            return None;
        }
        Some(self.jobs[self.random.usize(..self.jobs.len())].clone())
    }

    fn cancel(&mut self, phase: &Phase) {
        if let Some((root, job)) = self.some_job() {
            self.say_line(phase, &root, "cancel", &job);
        }
    }

    fn look(&mut self, phase: &Phase) {
        if let Some((root, job)) = self.some_job() {
            self.say_line(phase, &root, "job", &job);
        }
    }

    fn bind(&mut self, phase: &Phase, root: &Arc<str>) {
        self.made += 1;
        let session = format!("b{}-{}", self.number, self.random.usize(..SESSIONS));
        let preempt = if self.random.u8(..3) == 0 {
            " PREEMPT"
        } else {
            ""
        };
        let line = format!("{session} r{} LEASE {LEASE_MS}{preempt}", self.made);
        let said = self.say_line(phase, root, "bind", &line);
        if let Some(id) = said.reply().and_then(|reply| reply.field("lease_id")) {
            let id = id.text();
            self.leases.retain(|lease| lease.id != id);
            self.leases.push(Lease {
                root: root.clone(),
                session,
                id,
            });
            if self.leases.len() > 2 * SESSIONS {
                self.leases.remove(0);
            }
        }
    }

    /// Renews or ends a lease, also one that was superseded.
    fn use_lease(&mut self, phase: &Phase) {
        if self.leases.is_empty() {
            return;
        }
        let lease = &self.leases[self.random.usize(..self.leases.len())];
        let root = lease.root.clone();
        let line = format!("{} {}", lease.session, lease.id);
        if self.random.bool() {
            let line = format!("{line} LEASE {LEASE_MS}");
            self.say_line(phase, &root, "renew", &line);
        } else {
            self.say_line(phase, &root, "unbind", &line);
        }
    }

    fn lock(&mut self, phase: &Phase, root: &Arc<str>) {
        let name = format!("l{}", self.random.usize(..LOCKS));
        let owner = format!("o{}", self.number);
        if self.random.u8(..3) > 0 {
            self.say_line(phase, root, "lock", &format!("{name} {owner} {LOCK_MS}"));
        } else {
            self.say_line(phase, root, "unlock", &format!("{name} {owner}"));
        }
    }

    fn reserve(&mut self, phase: &Phase, root: &Arc<str>) {
        self.made += 1;
        let job = format!("v{}-{}", self.number, self.made);
        let node = format!("n{}", self.random.usize(..self.nodes));
        let line = format!("{node} {job} {ACK_MS}");
        let said = self.say_line(phase, root, "reserve", &line);
        if said.reply().and_then(Answer::int) == Some(1) && self.random.bool() {
            // Said twice: the second one must find nothing to give back.
            for _ in 0..2 {
                self.say_line(phase, root, "release", &format!("{job} {node}"));
            }
        }
    }
}
