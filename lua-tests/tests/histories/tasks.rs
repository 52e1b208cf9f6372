//! What must be true of jobs from the queue, told from replies alone: how each may change, how often it was tried, and that every count
//! of the cell and of its nodes is the sum of what was seen to happen.

use std::collections::{BTreeMap, BTreeSet};

use lockless_lua_tests::{Host, Reply};

use super::{
    bindings::{has_ended, now_ms},
    counts::Counts,
    generator::Call,
    handed::{Handed, Sight},
    task::{Record, State, Task},
};
use crate::cell::{code, list, must, texts};

#[derive(Default)]
pub(crate) struct Tasks {
    tasks: BTreeMap<String, Task>,
    /// Those that have ended and hold nothing, looked at in turn.
    ended: Vec<String>,
    submitted: i64,
    counts: Counts,
    handed: Handed,
}

impl Tasks {
    /// Follows what a call did; how many tries it started.
    pub(crate) fn see(&mut self, host: &mut dyn Host, call: &Call, reply: &Reply) -> i64 {
        let now = now_ms(host);
        self.see_submission(host, call, reply, now);
        let sight = self.handed.see(host, call, reply);
        let mut look_at: BTreeSet<String> = self
            .tasks
            .iter()
            .filter(|(_, task)| !task.waits() && task.has_hold)
            .map(|(job, _)| job.clone())
            .collect();
        let named = sight.started().map(|(job, _)| job.clone());
        look_at.extend(named.chain([call.arg(0)]));
        look_at.extend(self.ended.first().cloned());
        if !self.ended.is_empty() {
            self.ended.rotate_left(1);
        }
        let before = self.counts.started();
        for job in look_at {
            self.see_task(host, call, reply, &sight, &job, now);
        }
        self.see_nodes(host, &sight);
        self.counts.see_registration(host, call, reply);
        self.compare_waiting(host);
        if let Some(node) = sight.node() {
            self.handed
                .assert_order(host, &sight, node, &self.tasks, now);
        }
        self.counts.compare(host);
        self.counts.started() - before
    }

    /// How many slots of each node its tries hold.
    pub(crate) fn holds(&self) -> BTreeMap<&str, i64> {
        let mut out = BTreeMap::new();
        for task in self.tasks.values().filter(|task| task.is_on_node()) {
            *out.entry(task.node.as_str()).or_default() += 1;
        }
        out
    }

    fn see_submission(&mut self, host: &mut dyn Host, call: &Call, reply: &Reply, now: i64) {
        if call.function != "submit" {
            return;
        }
        let job = call.arg(0);
        match reply {
            Reply::Int(1) => {
                let before = self.tasks.get(&job);
                assert!(
                    before.is_none_or(|task| task.has_ended() && !task.has_hold),
                    "{before:?} was submitted again"
                );
                self.submitted += 1;
                let task = Task::of(call, self.submitted, now);
                let record = Record::read(host, &job).expect("a job that was just submitted");
                assert!(record.waits() && record.attempts == 0, "{record:?}");
                assert_eq!(record.ready_at, task.ready_at);
                self.ended.retain(|ended| *ended != job);
                self.tasks.insert(job, task);
                self.counts.add("submitted_total", 1);
                self.counts.add("pending", 1);
            }
            Reply::Int(_) => {
                let task = self.tasks.get(&job).expect("a job that is there already");
                assert!(task.is_same(call), "{task:?} is not {call:?}");
            }
            _ => {}
        }
    }

    fn see_task(
        &mut self,
        host: &mut dyn Host,
        call: &Call,
        reply: &Reply,
        sight: &Sight,
        job: &str,
        now: i64,
    ) {
        let Some(before) = self.tasks.get(job).cloned() else {
            assert!(
                !sight.started().any(|(started, _)| started == job),
                "{job} was handed out and is no job from the queue"
            );
            return;
        };
        let Some(record) = Record::read(host, job) else {
            assert!(
                before.has_ended() && !before.has_hold,
                "job {job} has gone: {before:?}"
            );
            self.tasks.remove(job);
            self.ended.retain(|ended| ended != job);
            return;
        };
        let told = format!("job {job}: {before:?} -> {record:?}");
        let mut task = before.clone();
        let is_said = code(reply).is_none() && call.arg(0) == job;
        let said = |function: &str| is_said && call.function == function;
        if task.state == State::Running && !record.is_same_try(&task) {
            let is_over = has_ended(host, &task.node, task.incarnation);
            let how = match (call.function, call.arg(2).as_str()) {
                _ if record.status == "expired" => "timeout_total",
                ("complete", "finished") if said("complete") && !is_over => "completed_total",
                ("complete", _) if said("complete") && !is_over => "failed_total",
                ("stopped", "ok") if said("stopped") && !is_over => "preempted_total",
                ("cancel", _) if said("cancel") && !is_over => "cancelled",
                _ => {
                    assert!(is_over, "{told}");
                    "lost_total"
                }
            };
            self.end_try(&mut task, &record, how, said("retry"), &told);
            if how == "failed_total" && task.waits() {
                task.assert_backoff(host, &record, now);
            }
        }
        if task.has_ended() && record.waits() {
            assert!(said("retry") && task.may_be_retried(), "{told}");
            self.counts.add("retried", 1);
            self.counts.add("pending", 1);
            task.go_back(0);
        }
        if task.waits() && record.status == "cancelled" {
            assert!(said("cancel") && record.node.is_empty(), "{told}");
            self.counts.add("withdrawn", 1);
            self.counts.add("pending", -1);
            task.end("cancelled");
        }
        if task.waits() && record.status == "running" {
            let item = sight.started().find(|(started, _)| started == job);
            let node = sight.node().unwrap_or_default();
            assert!(
                item.is_some_and(|(_, attempt)| *attempt == task.attempts + 1),
                "{told}, not handed out"
            );
            assert!(
                task.ready_at.is_none_or(|at| at <= now),
                "{told}, too early"
            );
            assert_eq!(record.node, node, "{told}");
            task.start(node, sight.incarnation());
            self.counts.add("pending", -1);
            self.counts.add_on(node, "started_total", 1);
        }
        task.follow(&record, &told);
        let was_looked_at = before.has_hold || before.waits();
        if was_looked_at && task.has_ended() && !task.has_hold {
            self.ended.push(job.to_owned());
        } else if !task.has_ended() {
            self.ended.retain(|ended| ended != job);
        }
        self.tasks.insert(job.to_owned(), task);
    }

    /// A try that was live has ended, and with it the job, or the job has gone back.
    fn end_try(
        &mut self,
        task: &mut Task,
        record: &Record,
        how: &'static str,
        is_retried: bool,
        told: &str,
    ) {
        let node = task.node.clone();
        self.counts.add_on(&node, how, 1);
        let uses_up = how == "failed_total" || how == "lost_total";
        let has_left = task.used < task.retries;
        // One that is lost and cancelled before that is settled keeps its node.
        let is_cut_short = record.status == "cancelled" && !record.node.is_empty();
        let goes_back = how == "preempted_total" || uses_up && has_left && !is_cut_short;
        if goes_back {
            task.go_back(task.used + i64::from(uses_up));
            self.counts.add("requeued", 1);
            self.counts.add("pending", 1);
            return;
        }
        let status = match how {
            "timeout_total" => "expired",
            "completed_total" => "finished",
            "cancelled" => "cancelled",
            _ if is_cut_short && has_left => "cancelled",
            _ => "failed",
        };
        task.end(status);
        // One that is lost for good and brought back at once is seen waiting.
        assert!(record.status == status || is_retried, "{told}");
    }

    /// Notes which nodes there are now, and what a tick counted.
    fn see_nodes(&mut self, host: &mut dyn Host, sight: &Sight) {
        if let (Some(node), Some((blocked, emergencies))) = (sight.node(), sight.counted()) {
            self.counts.add_on(node, "blocked_total", blocked);
            self.counts.add_on(node, "emergency_ticks", emergencies);
        }
        let page = must(host, "nodes 0 1000");
        let there: BTreeSet<String> = texts(&list(&page)[1]).into_iter().collect();
        self.handed.forget(&there);
        self.counts.see_nodes(there);
    }

    fn compare_waiting(&self, host: &mut dyn Host) {
        let page = must(host, "jobs pending 0 1000");
        let listed: BTreeSet<String> = texts(&list(&page)[1]).into_iter().collect();
        let waiting = self.tasks.iter().filter(|(_, task)| task.waits());
        let expected: BTreeSet<String> = waiting.map(|(job, _)| job.clone()).collect();
        assert_eq!(listed, expected, "what waits, as listed and as followed");
    }
}
