//! What pulls and ticks hand out: the same again for the same request, else the next jobs that fit, in order, as far as there is room.

use std::collections::{BTreeMap, BTreeSet};

use lockless_lua_tests::{Host, Reply};

use super::{
    bindings::incarnation_of,
    generator::Call,
    task::{Record, Task},
};
use crate::cell::{code, field, list, must, number, number_of, text, text_of, texts};

/// What one call handed out.
#[derive(Default)]
pub(crate) struct Sight {
    call: Option<Call>,
    node: String,
    incarnation: i64,
    /// The ids of what was started, and which attempt each is.
    started: Vec<(String, i64)>,
    blocked: Vec<String>,
    emergencies: i64,
    is_replayed: bool,
    /// target_workers and start_budget of a tick.
    limits: Option<(i64, i64)>,
}

impl Sight {
    /// What it started, nothing for a request that was repeated.
    pub(crate) fn started(&self) -> impl Iterator<Item = &(String, i64)> {
        self.started.iter().filter(|_| !self.is_replayed)
    }

    /// The node that was handed something by a call that was not repeated.
    pub(crate) fn node(&self) -> Option<&str> {
        (self.call.is_some() && !self.is_replayed).then_some(&self.node)
    }

    pub(crate) fn incarnation(&self) -> i64 {
        self.incarnation
    }

    /// How many jobs a tick blocked, and whether it was an emergency.
    pub(crate) fn counted(&self) -> Option<(i64, i64)> {
        self.limits?;
        Some((i64::try_from(self.blocked.len()).unwrap(), self.emergencies))
    }
}

/// What a request was given, by node and function.
#[derive(Default)]
pub(crate) struct Handed {
    last: BTreeMap<(String, &'static str), (String, i64, Reply)>,
}

fn option(call: &Call, keyword: &str) -> Option<String> {
    (1..call.args.len())
        .find(|at| call.arg(*at) == keyword)
        .map(|at| call.arg(at + 1))
}

fn items(reply: &Reply) -> Vec<(String, i64)> {
    let read = |item: &Reply| (text(&list(item)[1]), number(&list(item)[11]));
    list(reply).iter().map(read).collect()
}

/// The job items of a reply of pull or tick.
fn items_of<'a>(function: &str, reply: &'a Reply) -> &'a Reply {
    match function {
        "tick" => field(reply, "start"),
        _ => &list(reply)[0],
    }
}

/// A repeated request is given what it was, without what is not on the node any more.
fn assert_again(function: &str, first: &Reply, again: &Reply) {
    let given = list(items_of(function, first));
    let is_known = |item: &Reply| given.contains(item);
    assert!(
        list(items_of(function, again)).iter().all(is_known),
        "{first:?}, and again {again:?}"
    );
    let others = |reply: &Reply| match function {
        "tick" => ["mode", "target_workers", "start_budget", "stop", "blocked"]
            .map(|name| field(reply, name).clone())
            .to_vec(),
        _ => vec![list(reply)[1].clone()],
    };
    assert_eq!(others(first), others(again));
}

impl Handed {
    /// To be called after every call.
    pub(crate) fn see(&mut self, host: &mut dyn Host, call: &Call, reply: &Reply) -> Sight {
        if !["pull", "tick"].contains(&call.function) || code(reply).is_some() {
            return Sight::default();
        }
        let node = call.arg(0);
        let incarnation = incarnation_of(host, &node).expect("a node that was handed jobs");
        let key = (node.clone(), call.function);
        let request = option(call, "REQUEST");
        let known = self.last.get(&key);
        let is_replayed =
            known.is_some_and(|(id, of, _)| request.as_ref() == Some(id) && *of == incarnation);
        if let Some((_, _, first)) = known.filter(|_| is_replayed) {
            assert_again(call.function, first, reply);
        }
        let started = items(items_of(call.function, reply));
        let mut sight = Sight {
            call: Some(call.clone()),
            node,
            incarnation,
            started,
            is_replayed,
            ..Sight::default()
        };
        if call.function == "tick" {
            let blocked = list(field(reply, "blocked"));
            sight.blocked = blocked.iter().map(|pair| text(&list(pair)[0])).collect();
            sight.emergencies = i64::from(text_of(reply, "mode") == "EMERGENCY");
            sight.limits = Some(
                ["target_workers", "start_budget"]
                    .map(|name| number_of(reply, name))
                    .into(),
            );
        }
        // A pull notes what it handed out, a tick whatever it did.
        let is_noted = call.function == "tick" || !sight.started.is_empty();
        match request {
            Some(id) if is_noted => drop(self.last.insert(key, (id, incarnation, reply.clone()))),
            None if call.function == "tick" => drop(self.last.remove(&key)),
            _ => {}
        }
        sight
    }

    /// What a node was given goes with it.
    pub(crate) fn forget(&mut self, there: &BTreeSet<String>) {
        self.last.retain(|(node, _), _| there.contains(node));
    }

    /// The jobs that a call could have handed out, the next one first: those it did, and those that wait in their queues still.
    fn candidates(
        host: &mut dyn Host,
        sight: &Sight,
        shown: &Reply,
        tasks: &BTreeMap<String, Task>,
        now: i64,
    ) -> Vec<String> {
        let has =
            |list: &str, wanted: &str| texts(field(shown, list)).iter().any(|item| item == wanted);
        let region = text_of(shown, "region");
        let fits = |task: &Task| {
            task.pool.as_ref().is_none_or(|pool| has("pools", pool))
                && task.pair.as_ref().is_none_or(|pair| has("pairs", pair))
                && task.region.as_ref().is_none_or(|wanted| *wanted == region)
                && task.labels.iter().all(|label| has("labels", label))
        };
        let mut out = Vec::new();
        for (job, task) in tasks.iter().filter(|(_, task)| fits(task)) {
            let is_started = sight.started.iter().any(|(started, _)| started == job);
            // What is about to come due may be in its queue or not.
            let mut is_queued = || match task.ready_at {
                Some(at) if at > now => false,
                Some(_) => Record::read(host, job).is_some_and(|it| it.ready_at.is_none()),
                None => true,
            };
            if is_started || task.waits() && is_queued() {
                out.push((task.place, job.clone()));
            }
        }
        out.sort();
        out.into_iter().map(|(_, job)| job).collect()
    }

    /// The best fitting jobs were handed out, in order, and as many as there was room for.
    pub(crate) fn assert_order(
        &self,
        host: &mut dyn Host,
        sight: &Sight,
        node: &str,
        tasks: &BTreeMap<String, Task>,
        now: i64,
    ) {
        let shown = must(host, &format!("node {node}"));
        let scan_limit = text_of(&must(host, "config"), "tick_scan_limit");
        let scan_limit: usize = scan_limit.parse().unwrap();
        let candidates = Self::candidates(host, sight, &shown, tasks, now);
        let started: Vec<&String> = sight.started.iter().map(|(job, _)| job).collect();
        let visited: BTreeSet<&String> = started.iter().copied().chain(&sight.blocked).collect();
        let told = format!("{started:?} and {:?} of {candidates:?}", sight.blocked);
        let first: BTreeSet<&String> = candidates.iter().take(visited.len()).collect();
        assert_eq!(visited, first, "{told}");
        let place = |job: &&String| tasks[*job].place;
        assert!(started.is_sorted_by_key(place), "{told}");
        assert!(
            sight
                .blocked
                .iter()
                .collect::<Vec<_>>()
                .is_sorted_by_key(place),
            "{told}"
        );

        let [effective, max_jobs] = ["effective", "max_jobs"].map(|name| number_of(&shown, name));
        let count = i64::try_from(started.len()).unwrap();
        assert!(count == 0 || effective <= max_jobs, "{told}: {shown:?}");
        let state = text_of(&shown, "state");
        let is_closed = match sight.limits {
            None => ["offline", "draining", "busy"].contains(&state.as_str()),
            Some(_) => ["offline", "draining"].contains(&state.as_str()),
        };
        assert!(!is_closed || count == 0, "{node} is {state}: {told}");
        let call = sight.call.as_ref().unwrap();
        let wished = option(call, "COUNT").map_or(16, |count| count.parse().unwrap());
        let jobs_on = number_of(&shown, "current_jobs");
        let most = match sight.limits {
            None => wished,
            // Seats that nobody sits in count for less; then more may be started than is told here.
            Some((target, budget)) => budget.min(target - jobs_on + count),
        };
        let room = if is_closed {
            0
        } else {
            max_jobs - effective + count
        };
        if let Some((_, budget)) = sight.limits {
            assert!(count <= budget, "{told}");
        }
        if count < most.min(room) {
            let all = candidates.len().min(scan_limit);
            assert!(
                visited.len() >= all,
                "{told}: there was room for {}",
                most.min(room)
            );
        }
    }
}
