//! What must be true after every call, told from replies alone: how a job may change, who may be given work, and that the jobs
//! that hold a slot are as many as the nodes say.

use std::collections::{BTreeMap, BTreeSet};

use lockless_lua_tests::{Host, Reply};

use super::{
    bindings::Bindings,
    claims::Claims,
    generator::Call,
    guarded::Guarded,
    news::{News, see_snapshot},
    tasks::Tasks,
};
use crate::cell::{call, code, field, list, must, number_of, state, text, text_of, texts};

/// A job as `lockless_job` showed it last.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    node: String,
    status: String,
    stopping: bool,
    created: String,
    ended: String,
    result: String,
}

impl Seen {
    fn is_live(&self) -> bool {
        self.status == "dispatched" || self.status == "running"
    }

    fn has_hold(&self) -> bool {
        self.is_live() || self.stopping
    }
}

#[derive(Default)]
pub(crate) struct Oracle {
    jobs: BTreeMap<String, Seen>,
    /// Jobs that had a hold when last seen.
    holding: BTreeSet<String>,
    /// Ended jobs, looked at in turn.
    ended: Vec<String>,
    grants: i64,
    known_before: bool,
    news: News,
    bindings: Bindings,
    guarded: Guarded,
    tasks: Tasks,
    claims: Claims,
    /// The snapshot that was there before the call.
    overview: String,
}

/// None also when the id is that of a job from the queue by now, which has a priority.
fn read(host: &mut dyn Host, job: &str) -> Option<Seen> {
    let reply = call(host, "job", &[job]);
    if code(&reply).is_some() || !text_of(&reply, "priority").is_empty() {
        return None;
    }
    Some(Seen {
        node: text_of(&reply, "node_id"),
        status: text_of(&reply, "status"),
        stopping: number_of(&reply, "stopping") == 1,
        created: text_of(&reply, "created_ts"),
        ended: text_of(&reply, "ended_ts"),
        result: text_of(&reply, "result"),
    })
}

/// The job a call of dispatch or reserve names.
fn asked_job(call: &Call) -> Option<String> {
    match call.function {
        "reserve" => Some(call.arg(1)),
        "dispatch" => (4..call.args.len())
            .step_by(2)
            .find(|at| call.arg(*at) == "JOB")
            .map(|at| call.arg(at + 1)),
        _ => None,
    }
}

/// The jobs a reply of `take` handed over.
fn taken(reply: &Reply) -> Vec<String> {
    if code(reply).is_some() {
        return Vec::new();
    }
    list(&list(reply)[0])
        .iter()
        .map(|item| text(&list(item)[1]))
        .collect()
}

fn named(call: &Call, job: &str) -> bool {
    call.arg(0) == job
}

/// Whether this call may have brought a job from one status to another. Time can only make it expire.
fn may_cause(call: &Call, reply: &Reply, job: &str, from: &str, to: &str) -> bool {
    if to == "expired" {
        return from == "dispatched" || from == "running";
    }
    if code(reply).is_some() {
        return false;
    }
    match (from, to) {
        ("dispatched", "running") => match call.function {
            "ack" => named(call, job),
            "take" => taken(reply).iter().any(|taken| taken == job),
            _ => false,
        },
        ("dispatched" | "running", "finished" | "failed") => {
            call.function == "complete" && named(call, job) && call.arg(2) == to
        }
        ("dispatched", "cancelled") => {
            matches!(call.function, "cancel" | "release") && named(call, job)
        }
        ("running", "cancelled") => call.function == "cancel" && named(call, job),
        _ => false,
    }
}

impl Oracle {
    /// To be called before a call: notes whether the job it names is there.
    pub(crate) fn before(&mut self, host: &mut dyn Host, call: &Call) {
        self.news.before(host);
        self.claims.before(host);
        self.overview = text(&must(host, "overview"));
        self.known_before = asked_job(call).is_some_and(|job| read(host, &job).is_some());
    }

    /// To be called after it.
    pub(crate) fn after(
        &mut self,
        host: &mut dyn Host,
        call: &Call,
        reply: &Reply,
        said: Vec<String>,
    ) {
        self.news.after(host, said);
        let has_hold =
            |host: &mut dyn Host, job: &str| read(host, job).is_some_and(|job| job.has_hold());
        self.bindings.see(host, call, reply, has_hold);
        self.guarded.see(host, call, reply);
        self.claims.see(host, call, reply);
        self.grants += self.tasks.see(host, call, reply);
        self.see_grant(host, call, reply);
        let mut look_at = self.holding.clone();
        look_at.extend(
            [call.arg(0)]
                .into_iter()
                .filter(|job| self.jobs.contains_key(job)),
        );
        if !self.ended.is_empty() {
            let turn = self.ended.len() - 1;
            look_at.insert(self.ended[turn].clone());
            self.ended.rotate_right(1);
        }
        for job in look_at {
            self.see_job(host, call, reply, &job);
        }
        self.compare_holds(host);
        if call.function == "snapshot" && code(reply).is_none() && text(reply) != self.overview {
            see_snapshot(host, &text(reply));
        }
    }

    fn see_grant(&mut self, host: &mut dyn Host, call: &Call, reply: &Reply) {
        let made = state::get(host, "grants").unwrap_or(0);
        let (job, node) = match (call.function, reply) {
            ("dispatch", Reply::Array(_)) => {
                let given = texts(reply);
                (given[1].clone(), given[0].clone())
            }
            ("reserve", Reply::Int(1)) => (call.arg(1), call.arg(0)),
            _ => {
                assert_eq!(made, self.grants, "a grant without a reply that says so");
                if call.function == "dispatch" {
                    self.bindings.see_refusal(&call.arg(0), reply);
                }
                return;
            }
        };
        if made == self.grants {
            assert!(
                self.known_before,
                "job {job} was given for the first time without a grant"
            );
            return;
        }
        assert_eq!(made, self.grants + 1, "more than one grant in one call");
        assert!(
            !self.known_before,
            "job {job} was there and was granted again"
        );
        self.grants = made;
        let (mut is_bound, mut sits) = (false, false);
        if call.function == "dispatch" {
            self.news.assert_named(&node, "and has a job to take");
            (is_bound, sits) = self.bindings.see_dispatch(&call.arg(0), &job, &node);
        }
        Self::assert_may_take(host, call, &node, is_bound, sits);
        let seen = read(host, &job).expect("a job that was just granted");
        assert_eq!(
            (seen.status.as_str(), seen.node.as_str()),
            ("dispatched", node.as_str())
        );
        self.ended.retain(|ended| *ended != job);
        self.holding.insert(job.clone());
        self.jobs.insert(job, seen);
    }

    /// The node just given a slot had one, was open for work, and fits what was asked for. A job that sits in its session's
    /// seat needs no slot, and a session that is bound has its node also while that drains or is busy.
    fn assert_may_take(host: &mut dyn Host, call: &Call, name: &str, is_bound: bool, sits: bool) {
        let node = must(host, &format!("node {name}"));
        let (effective, max_jobs) = (number_of(&node, "effective"), number_of(&node, "max_jobs"));
        assert!(
            sits || effective <= max_jobs,
            "{name} was given work beyond its {max_jobs} slots: {node:?}"
        );
        let state = text_of(&node, "state");
        assert!(
            state == "ready" || state == "full" || is_bound && state != "offline",
            "{name} is {state} and was given work"
        );
        if call.function != "dispatch" {
            return;
        }
        let has =
            |list: &str, wanted: &str| texts(field(&node, list)).iter().any(|item| item == wanted);
        if call.arg(1) != "-" {
            let pair = format!("{}:{}", call.arg(1), call.arg(2));
            assert!(has("pairs", &pair), "{name} does not serve {pair}");
        }
        for at in (4..call.args.len()).step_by(2) {
            let value = call.arg(at + 1);
            match call.arg(at).as_str() {
                "POOL" => assert!(has("pools", &value), "{name} is not in pool {value}"),
                "REQUIRE" => assert!(has("labels", &value), "{name} lacks label {value}"),
                "REGION" => assert_eq!(text_of(&node, "region"), value),
                _ => {}
            }
        }
    }

    fn see_job(&mut self, host: &mut dyn Host, call: &Call, reply: &Reply, job: &str) {
        let before = self.jobs[job].clone();
        let Some(now) = read(host, job) else {
            let released =
                call.function == "release" && named(call, job) && *reply == Reply::Int(1);
            let gone = !before.has_hold() || released && before.status == "dispatched";
            // What ends and is let go in one call after a long time is gone before anyone looks.
            assert!(gone || before.is_live(), "job {job} has gone: {before:?}");
            self.jobs.remove(job);
            self.holding.remove(job);
            self.ended.retain(|ended| ended != job);
            return;
        };
        assert_eq!(
            (&now.node, &now.created),
            (&before.node, &before.created),
            "job {job} was moved"
        );
        if now.status != before.status {
            assert!(
                may_cause(call, reply, job, &before.status, &now.status),
                "job {job}: {before:?} -> {now:?}"
            );
        } else if !before.is_live() {
            assert_eq!(now.result, before.result, "job {job} had ended");
            assert!(
                before.ended.is_empty() || now.ended == before.ended,
                "job {job} ended again"
            );
            assert!(
                before.stopping || !now.stopping,
                "job {job} got its slot back"
            );
        }
        if now.stopping && !before.stopping {
            self.news.assert_named(&now.node, "and has a job to stop");
        }
        if now.has_hold() {
            self.holding.insert(job.to_owned());
        } else if self.holding.remove(job) {
            self.ended.push(job.to_owned());
        }
        self.jobs.insert(job.to_owned(), now);
    }

    /// Every slot that a node says is taken is a job's or a session's, and every job that holds one is counted.
    fn compare_holds(&self, host: &mut dyn Host) {
        let mut held = self.bindings.empty_seats();
        for (node, count) in self.tasks.holds() {
            *held.entry(node).or_default() += count;
        }
        for job in &self.holding {
            *held.entry(&self.jobs[job].node).or_default() += 1;
        }
        let page = must(host, "nodes 0 1000");
        for name in texts(&list(&page)[1]) {
            let node = must(host, &format!("node {name}"));
            let current = number_of(&node, "current_jobs");
            assert_eq!(
                current,
                held.remove(name.as_str()).unwrap_or(0),
                "the holds of {name}"
            );
            let effective = current + number_of(&node, "foreign");
            assert_eq!(number_of(&node, "effective"), effective);
            let expected = match text(field(&node, "state")).as_str() {
                "full" => effective >= number_of(&node, "max_jobs"),
                "ready" => effective < number_of(&node, "max_jobs"),
                "offline" => text_of(&node, "online") == "false",
                "draining" => text_of(&node, "draining") == "true",
                _ => true,
            };
            assert!(expected, "{node:?}");
        }
        assert!(
            held.is_empty(),
            "holds on nodes that are not there: {held:?}"
        );
    }
}
