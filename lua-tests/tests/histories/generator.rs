//! Random calls of every function over few names, so that they meet each other, with a share of nonsense and of repeats.

use std::collections::BTreeMap;

use lockless_lua_tests::Reply;

use super::{deployment_calls::DEPLOYMENT_SETTINGS, queue_calls::QUEUE_SETTINGS};
use crate::cell::{number_of, text, text_of, words};

pub(super) const NODES: [&str; 6] = ["n1", "n2", "n3", "n4", "n5", "n6"];
pub(super) const POOLS: [&str; 4] = ["default", "fast", "slow", "none"];
pub(super) const PAIRS: [[&str; 2]; 4] = [["en", "fr"], ["en", "de"], ["de", "fr"], ["fi", "sv"]];
pub(super) const LABELS: [&str; 3] = ["gpu", "big", "model:x"];
pub(super) const REGIONS: [&str; 2] = ["eu", "us"];
const SESSIONS: [&str; 8] = ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"];
const NONSENSE: [&str; 14] = [
    "",
    " ",
    "a b",
    "a\nb",
    "\0",
    "-",
    "-1",
    "1.5",
    "1e3",
    "0x10",
    "NOPE",
    "JOB",
    "99999999999999999999",
    "\u{7f}",
];

/// Each function and how often it is called, of about two hundred calls.
const WEIGHTS: [(&str, u32); 43] = [
    ("dispatch", 20),
    ("bind", 7),
    ("renew", 3),
    ("unbind", 2),
    ("model_unavailable", 3),
    ("limit", 2),
    ("lock", 2),
    ("unlock", 1),
    ("submit", 14),
    ("pull", 11),
    ("tick", 8),
    ("stopped", 6),
    ("retry", 4),
    ("claim", 20),
    ("deploy", 9),
    ("undeploy", 3),
    ("deployment", 1),
    ("deployments", 1),
    ("complete", 16),
    ("heartbeat", 13),
    ("ack", 8),
    ("register", 7),
    ("reserve", 6),
    ("take", 6),
    ("release", 5),
    ("cancel", 4),
    ("extend", 4),
    ("sweep", 3),
    ("listen", 2),
    ("drain", 2),
    ("config", 2),
    ("job", 2),
    ("jobs", 2),
    ("deregister", 1),
    ("node", 1),
    ("nodes", 1),
    ("stats", 1),
    ("explain", 1),
    ("events", 1),
    ("snapshot", 1),
    ("overview", 1),
    ("check", 1),
    ("version", 1),
];

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: &'static str,
    pub(crate) args: Vec<Vec<u8>>,
}

impl Call {
    pub(crate) fn arg(&self, at: usize) -> String {
        self.args
            .get(at)
            .map(|arg| arg.escape_ascii().to_string())
            .unwrap_or_default()
    }
}

pub(crate) struct Generator {
    pub(super) random: fastrand::Rng,
    /// Whether settings that let keys expire are changed, too.
    with_expiry: bool,
    pub(super) granted: Vec<(String, String)>,
    incarnations: BTreeMap<String, i64>,
    leases: BTreeMap<String, String>,
    last: Option<Call>,
    pub(super) next_job: u32,
}

impl Generator {
    pub(crate) fn new(seed: u64, with_expiry: bool) -> Generator {
        let random = fastrand::Rng::with_seed(seed);
        Generator {
            random,
            with_expiry,
            granted: Vec::new(),
            incarnations: BTreeMap::new(),
            leases: BTreeMap::new(),
            last: None,
            next_job: 1,
        }
    }

    pub(super) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.random.usize(..from.len())]
    }

    pub(crate) fn one_in(&mut self, n: u32) -> bool {
        self.random.u32(..n) == 0
    }

    /// Mostly moments, sometimes long enough for reservations, run limits, presence, and an outage.
    pub(crate) fn pause_ms(&mut self) -> u64 {
        match self.random.u32(..100) {
            0..60 => self.random.u64(0..50),
            60..85 => self.random.u64(100..2_000),
            85..96 => self.random.u64(2_000..9_000),
            96..99 => self.random.u64(9_000..60_000),
            _ => self.random.u64(60_000..8_000_000),
        }
    }

    pub(crate) fn call(&mut self) -> Call {
        if let Some(last) = self.last.clone()
            && self.one_in(14)
        {
            return last;
        }
        let total: u32 = WEIGHTS.iter().map(|(_, weight)| weight).sum();
        let mut at = self.random.u32(..total);
        let mut function = WEIGHTS[0].0;
        for (name, weight) in WEIGHTS {
            if at < weight {
                function = name;
                break;
            }
            at -= weight;
        }
        let mut args = words(&self.arguments(function));
        if self.one_in(16) {
            self.spoil(&mut args);
        }
        let call = Call { function, args };
        self.last = Some(call.clone());
        call
    }

    /// Notes what a reply gave, so that later calls speak of jobs and incarnations that are there.
    pub(crate) fn learn(&mut self, call: &Call, reply: &Reply) {
        match (call.function, reply) {
            ("dispatch", Reply::Array(given)) => {
                self.granted.push((text(&given[1]), text(&given[0])));
            }
            ("reserve", Reply::Int(1)) => self.granted.push((call.arg(1), call.arg(0))),
            ("bind", Reply::Array(_)) => {
                self.leases.insert(call.arg(0), text_of(reply, "lease_id"));
            }
            ("register", Reply::Array(_)) => {
                self.incarnations
                    .insert(call.arg(0), number_of(reply, "incarnation"));
            }
            _ => self.learn_queued(call, reply),
        }
    }

    fn spoil(&mut self, args: &mut Vec<Vec<u8>>) {
        let nonsense = match self.random.u32(..15) {
            0 => vec![b'x'; 300],
            _ => self.pick(&NONSENSE).as_bytes().to_vec(),
        };
        let at = self.random.usize(..=args.len());
        match self.random.u32(..3) {
            0 if at < args.len() => args[at] = nonsense,
            1 if at < args.len() => drop(args.remove(at)),
            _ => args.insert(at, nonsense),
        }
    }

    /// A job and the node it is on: mostly a recent one, now and then an old one, the wrong node, or none there is.
    pub(super) fn job_and_node(&mut self) -> [String; 2] {
        if self.granted.is_empty() || self.one_in(25) {
            return ["ghost".to_owned(), self.pick(&NODES).to_owned()];
        }
        let recent = self.granted.len().saturating_sub(12);
        let from = if self.one_in(6) { 0 } else { recent };
        let (job, mut node) = self.granted[self.random.usize(from..self.granted.len())].clone();
        if self.one_in(12) {
            node = self.pick(&NODES).to_owned();
        }
        [job, node]
    }

    pub(super) fn option(&mut self, args: &mut Vec<String>, one_in: u32, words: &[&str]) {
        if self.one_in(one_in) {
            args.extend(words.iter().map(|word| (*word).to_owned()));
        }
    }

    pub(super) fn incarnation(&mut self, args: &mut Vec<String>, node: &str) {
        let known = self.incarnations.get(node).copied().unwrap_or(1);
        let wrong = self.random.i64(1..5);
        self.option(args, 4, &["INCARNATION", &known.to_string()]);
        if args.iter().all(|arg| arg != "INCARNATION") {
            self.option(args, 30, &["INCARNATION", &wrong.to_string()]);
        }
    }

    pub(super) fn some(
        &mut self,
        args: &mut Vec<String>,
        one_in: u32,
        keyword: &str,
        from: &[&str],
    ) {
        let value = self.pick(from);
        self.option(args, one_in, &[keyword, value]);
    }

    fn arguments(&mut self, function: &str) -> Vec<String> {
        let mut args: Vec<String> = Vec::new();
        let mut node = self.pick(&NODES).to_owned();
        match function {
            "register" => {
                let max_jobs = self.pick(&["1", "2", "3", "4", "-"]);
                args.extend([node.clone(), max_jobs.to_owned()]);
                self.some(&mut args, 4, "INSTANCE", &["a", "b", "c"]);
                for _ in 0..self.random.u32(..3) {
                    self.some(&mut args, 2, "POOL", &POOLS[..3]);
                    self.some(&mut args, 2, "LABEL", &LABELS);
                    let [source, target] = PAIRS[self.random.usize(..3)];
                    self.option(&mut args, 1, &["PAIR", source, target]);
                }
                self.some(&mut args, 3, "REGION", &REGIONS);
                self.some(&mut args, 5, "CAPS", &["{}", "{\"a\":[]}", "\u{1}\u{fe}"]);
                self.option(&mut args, 40, &["INCARNATION", "1"]);
            }
            "heartbeat" => {
                args.push(node.clone());
                self.some(&mut args, 8, "ONLINE", &["true", "true", "false"]);
                self.some(&mut args, 6, "JOBS", &["0", "1", "2", "4"]);
                self.some(&mut args, 8, "FOREIGN", &["0", "0", "1", "3"]);
                self.some(&mut args, 6, "CPU", &["0", "50.5", "99", "100"]);
                self.some(&mut args, 10, "GPU", &["-1", "20", "95"]);
                self.some(&mut args, 10, "MEM", &["10", "91"]);
                self.some(&mut args, 6, "MEM_MB", &["0", "1024", "2048", "5000"]);
                if self.one_in(10) {
                    self.some(&mut args, 1, "LABEL", &LABELS);
                    self.some(&mut args, 2, "LABEL", &LABELS);
                }
                self.some(&mut args, 15, "CAPS", &["{\"b\":1}"]);
                self.incarnation(&mut args, &node);
            }
            "drain" => {
                args.extend([node.clone(), self.pick(&["on", "off", "off"]).to_owned()]);
                self.incarnation(&mut args, &node);
            }
            "deregister" | "node" | "take" => {
                args.push(node.clone());
                if function == "take" {
                    self.some(&mut args, 3, "COUNT", &["1", "2", "256"]);
                    self.some(&mut args, 2, "REQUEST", &["q1", "q2"]);
                }
                if function != "node" {
                    self.incarnation(&mut args, &node);
                }
            }
            "bind" => {
                args.push(self.pick(&SESSIONS).to_owned());
                args.push(
                    self.pick(&["q1", "q2", "q3", "q4", "q5", "q6", "q7"])
                        .to_owned(),
                );
                self.some(
                    &mut args,
                    1,
                    "LEASE",
                    &["1", "900", "6000", "20000", "90000"],
                );
                if self.one_in(2) {
                    let [source, target] = PAIRS[self.random.usize(..4)];
                    self.option(&mut args, 1, &["PAIR", source, target]);
                }
                self.some(&mut args, 6, "POOL", &POOLS);
                self.some(&mut args, 12, "REGION", &REGIONS);
                self.some(&mut args, 8, "REQUIRE", &LABELS);
                self.option(&mut args, 3, &["PREEMPT"]);
            }
            "renew" | "unbind" => {
                let session = self.pick(&SESSIONS).to_owned();
                let lease = self.leases.get(&session).cloned();
                args.push(session);
                args.push(lease.unwrap_or_else(|| "1-1".to_owned()));
                if function == "renew" {
                    self.some(&mut args, 2, "LEASE", &["1", "5000", "90000"]);
                }
            }
            "nodes" => args.extend(["0".to_owned(), self.pick(&["1", "3", "1000"]).to_owned()]),
            "dispatch" | "explain" => {
                let [source, target] = PAIRS[self.random.usize(..4)];
                let pair = if self.one_in(3) {
                    ["-", "-"]
                } else {
                    [source, target]
                };
                args.extend([self.pick(&SESSIONS), pair[0], pair[1]].map(str::to_owned));
                if function == "dispatch" {
                    args.push(self.pick(&["", "{}", "payload", "\u{0}\u{ff}"]).to_owned());
                    if self.one_in(12) {
                        let again = self.job_and_node()[0].clone();
                        self.option(&mut args, 1, &["JOB", &again]);
                    } else if self.one_in(2) {
                        self.next_job += 1;
                        self.option(&mut args, 1, &["JOB", &format!("j{}", self.next_job)]);
                    }
                }
                self.some(&mut args, 8, "POOL", &POOLS);
                self.some(&mut args, 10, "REGION", &REGIONS);
                self.some(&mut args, 8, "REQUIRE", &LABELS);
                self.some(&mut args, 20, "REQUIRE", &LABELS);
                self.some(&mut args, 3, "ACK", &["-", "1", "800", "4000", "3700000"]);
                self.some(
                    &mut args,
                    3,
                    "TTL",
                    &["1", "700", "5000", "3599999", "7200000"],
                );
            }
            "reserve" => {
                self.next_job += 1;
                let job = if self.one_in(4) {
                    self.job_and_node()[0].clone()
                } else {
                    format!("r{}", self.next_job)
                };
                args.extend([
                    node,
                    job,
                    self.pick(&["-", "500", "3000", "4000000"]).to_owned(),
                ]);
            }
            "ack" | "release" | "complete" | "extend" => {
                let [job, on] = self.job_and_node();
                node = on;
                args.extend([job, node.clone()]);
                if function == "complete" {
                    args.push(self.pick(&["finished", "finished", "failed"]).to_owned());
                    self.some(&mut args, 4, "RESULT", &["", "{\"ok\":true}", "\u{0}\u{1}"]);
                    self.some(&mut args, 5, "REASON", &["", "out of memory"]);
                }
                if function == "extend" {
                    args.push(
                        self.pick(&["1", "900", "20000", "3599999", "5000000"])
                            .to_owned(),
                    );
                    self.some(&mut args, 3, "PROGRESS", &["", "50 %"]);
                }
                self.incarnation(&mut args, &node);
            }
            "submit" | "pull" | "tick" | "stopped" => return self.queue_arguments(function),
            "deploy" | "undeploy" | "claim" | "deployment" | "deployments" => {
                return self.deployment_arguments(function);
            }
            "cancel" | "job" | "retry" => {
                args.push(self.job_and_node()[0].clone());
                if function == "cancel" {
                    self.some(&mut args, 3, "REASON", &["", "not needed"]);
                }
            }
            "jobs" => {
                let state = self.pick(&[
                    "pending",
                    "dispatched",
                    "running",
                    "failed",
                    "expired",
                    "cancelled",
                ]);
                args.extend([state, "0", self.pick(&["1", "5", "1000"])].map(str::to_owned));
            }
            "model_unavailable" => {
                args.extend([node.clone(), self.pick(&["x", "y"]).to_owned()]);
                self.option(&mut args, 1, &["WINDOW", "3000"]);
                self.some(&mut args, 2, "REQUEST", &["q1", "q2"]);
                self.incarnation(&mut args, &node);
            }
            "limit" => {
                args.extend(
                    [self.pick(&["a", "b"]), self.pick(&["1", "3"]), "3000"].map(str::to_owned),
                );
                self.some(&mut args, 2, "REQUEST", &["q1", "q2", "q3"]);
            }
            "lock" | "unlock" => {
                args.extend([self.pick(&["a", "b"]), self.pick(&["o1", "o2"])].map(str::to_owned));
                if function == "lock" {
                    args.push("2000".to_owned());
                }
            }
            "events" => {
                args.push(self.pick(&["-", "0", "$"]).to_owned());
                args.push(self.pick(&["1", "1000"]).to_owned());
            }
            "config" => self.settings(&mut args),
            "check" => self.option(&mut args, 2, &["CURSOR", "0", "COUNT", "7"]),
            "sweep" => self.some(&mut args, 2, "LIMIT", &["1", "2", "10000"]),
            _ => {}
        }
        args
    }

    fn settings(&mut self, args: &mut Vec<String>) {
        let mut choices: Vec<(&str, &[&str])> = vec![
            ("heartbeat_ttl_ms", &["3000", "8000", "30000"]),
            ("forget_node_ms", &["5000", "20000"]),
            ("reserve_ttl_ms", &["400", "5000"]),
            ("job_ttl_ms", &["2000", "20000", "3600000"]),
            ("resource_threshold_pct", &["0", "90", "99.5"]),
            ("max_jobs_default", &["1", "4"]),
            ("payload_max_bytes", &["1", "5", "65536"]),
            ("events", &["lifecycle", "all"]),
        ];
        choices.extend(QUEUE_SETTINGS);
        choices.extend(DEPLOYMENT_SETTINGS);
        if self.with_expiry {
            choices.extend::<[(&str, &[&str]); 3]>([
                ("keep_finished_ms", &["100", "1500", "6000"]),
                ("session_ttl_ms", &["100", "4000"]),
                // Redis drops events in pages that the model does not cut exactly alike.
                ("events_max", &["150", "10000"]),
            ]);
        }
        for _ in 0..self.random.u32(..3) {
            let (name, values) = choices[self.random.usize(..choices.len())];
            let value = self.pick(values);
            self.option(args, 1, &[name, value]);
        }
    }
}
