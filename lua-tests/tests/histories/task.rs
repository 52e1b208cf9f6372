//! A job from the queue as it was followed, and as the cell shows it.

use lockless_lua_tests::Host;

use super::generator::Call;
use crate::cell::{call, code, field, must, number_of, text, text_of};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    Running,
    Ended,
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) state: State,
    /// More urgent first, then older: its place among all that wait.
    pub(crate) place: (i64, i64),
    /// All that was asked for, in a fixed order.
    content: Vec<String>,
    pub(crate) pool: Option<String>,
    pub(crate) pair: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) retries: i64,
    pub(crate) used: i64,
    pub(crate) attempts: i64,
    /// Before then it may not be started.
    pub(crate) ready_at: Option<i64>,
    pub(crate) node: String,
    pub(crate) incarnation: i64,
    /// Whether it may have a slot: a try that runs, or one that has ended for everyone but its node.
    pub(crate) has_hold: bool,
    /// Whether its node has gone, which is not settled yet.
    is_being_lost: bool,
    status: String,
    result: String,
}

/// A job as `lockless_job` shows it.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) status: String,
    pub(crate) node: String,
    pub(crate) attempts: i64,
    pub(crate) ready_at: Option<i64>,
    is_stopping: bool,
    has_ended: bool,
    result: String,
}

impl Record {
    /// None also when the id is that of a pushed job by now, which has no priority.
    pub(crate) fn read(host: &mut dyn Host, job: &str) -> Option<Record> {
        let reply = call(host, "job", &[job]);
        if code(&reply).is_some() || text_of(&reply, "priority").is_empty() {
            return None;
        }
        Some(Record {
            status: text_of(&reply, "status"),
            node: text_of(&reply, "node_id"),
            attempts: number_of(&reply, "attempts"),
            ready_at: text(field(&reply, "ready_ts")).parse().ok(),
            is_stopping: number_of(&reply, "stopping") == 1,
            has_ended: !text_of(&reply, "ended_ts").is_empty(),
            result: text_of(&reply, "result"),
        })
    }

    pub(crate) fn waits(&self) -> bool {
        self.status == "pending" && self.node.is_empty()
    }

    /// Its node has gone, and it is shown as it will be.
    fn is_being_lost(&self) -> bool {
        !self.has_ended && !self.node.is_empty() && self.status != "running"
    }

    /// Whether it is still the try that a task was seen to run.
    pub(crate) fn is_same_try(&self, task: &Task) -> bool {
        let is_live = self.status == "running" || self.is_being_lost();
        is_live && self.node == task.node && self.attempts == task.attempts
    }
}

/// The values after a keyword.
fn options(call: &Call, keyword: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut at = 2;
    while at < call.args.len() {
        let width = if call.arg(at) == "PAIR" { 2 } else { 1 };
        if call.arg(at) == keyword {
            let values: Vec<String> = (1..=width).map(|next| call.arg(at + next)).collect();
            out.push(values.join(":"));
        }
        at += 1 + width;
    }
    out
}

fn option(call: &Call, keyword: &str) -> Option<String> {
    options(call, keyword).pop()
}

fn number(call: &Call, keyword: &str, default: i64) -> i64 {
    option(call, keyword).map_or(default, |value| value.parse().unwrap())
}

/// What has to be the same for a submission to be the same one. TTL counts when it is given.
fn content(call: &Call) -> Vec<String> {
    let mut labels = options(call, "REQUIRE");
    labels.sort();
    labels.dedup();
    let mut out = vec![call.arg(1), labels.join(" ")];
    for (keyword, default) in [
        ("POOL", "-"),
        ("PAIR", "-"),
        ("REGION", "-"),
        ("PRIORITY", "5"),
        ("MEM_MB", "0"),
        ("CPU", "0"),
        ("GPU_MB", "0"),
        ("PREEMPTIBLE", "yes"),
        ("RETRIES", "3"),
    ] {
        out.push(option(call, keyword).unwrap_or_else(|| default.to_owned()));
    }
    out
}

impl Task {
    pub(crate) fn of(call: &Call, number_of_submission: i64, now: i64) -> Task {
        let delay = number(call, "DELAY", 0);
        Task {
            state: State::Waiting,
            place: (number(call, "PRIORITY", 5), number_of_submission),
            content: content(call),
            pool: option(call, "POOL"),
            pair: option(call, "PAIR"),
            region: option(call, "REGION"),
            labels: options(call, "REQUIRE"),
            retries: number(call, "RETRIES", 3),
            used: 0,
            attempts: 0,
            ready_at: (delay > 0).then_some(now + delay),
            node: String::new(),
            incarnation: 0,
            has_hold: false,
            is_being_lost: false,
            status: "pending".to_owned(),
            result: String::new(),
        }
    }

    pub(crate) fn is_same(&self, call: &Call) -> bool {
        self.content == content(call)
    }

    pub(crate) fn waits(&self) -> bool {
        self.state == State::Waiting
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Whether it takes a slot of its node.
    pub(crate) fn is_on_node(&self) -> bool {
        self.has_hold && !self.is_being_lost
    }

    pub(crate) fn may_be_retried(&self) -> bool {
        ["failed", "expired"].contains(&self.status.as_str())
    }

    pub(crate) fn start(&mut self, node: &str, incarnation: i64) {
        self.state = State::Running;
        self.status = "running".to_owned();
        self.attempts += 1;
        self.node = node.to_owned();
        self.incarnation = incarnation;
        self.has_hold = true;
        self.is_being_lost = false;
        self.ready_at = None;
    }

    pub(crate) fn go_back(&mut self, used: i64) {
        self.state = State::Waiting;
        self.status = "pending".to_owned();
        self.used = used;
        self.node.clear();
        self.has_hold = false;
        self.ready_at = None;
    }

    pub(crate) fn end(&mut self, status: &str) {
        self.state = State::Ended;
        self.status = status.to_owned();
        // Until it is seen without.
        self.has_hold = !self.node.is_empty();
    }

    /// Takes over what may change without a change of state, and holds the rest to what is known.
    pub(crate) fn follow(&mut self, record: &Record, told: &str) {
        assert_eq!(record.attempts, self.attempts, "{told}");
        match self.state {
            State::Waiting => {
                assert!(record.waits(), "{told}");
                // Its time has come, or it has been told when it will.
                let is_new = self.ready_at.is_none();
                assert!(
                    record.ready_at.is_none() || is_new || record.ready_at == self.ready_at,
                    "{told}"
                );
                self.ready_at = record.ready_at;
            }
            State::Running => {
                self.is_being_lost = record.is_being_lost();
                assert_eq!(record.node, self.node, "{told}");
            }
            State::Ended => {
                assert_eq!(record.status, self.status, "{told}");
                let had_hold = self.has_hold;
                self.has_hold = record.is_stopping;
                assert!(had_hold || !self.has_hold, "{told}, it got its slot back");
                assert!(
                    self.result.is_empty() || record.result == self.result,
                    "{told}"
                );
            }
        }
        self.result.clone_from(&record.result);
    }

    /// After a failure it waits for a time that doubles with each, give or take a quarter.
    pub(crate) fn assert_backoff(&self, host: &mut dyn Host, record: &Record, now: i64) {
        let config = must(host, "config");
        let setting = |name: &str| text_of(&config, name).parse::<f64>().unwrap();
        let doubled = setting("retry_backoff_ms") * 2f64.powf(self.used as f64 - 1.0);
        let wanted = doubled.min(setting("retry_backoff_max_ms"));
        let waits = record.ready_at.map_or(0, |at| at - now) as f64;
        let is_due = wanted < 2.0 && waits == 0.0;
        assert!(
            is_due || (wanted * 0.75 - 1.0..=wanted * 1.25).contains(&waits),
            "it waits {waits} ms, not about {wanted}"
        );
    }
}
