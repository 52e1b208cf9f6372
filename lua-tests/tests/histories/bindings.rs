//! What must be true of sessions that are bound: who may end a lease, where their jobs go, and how many seats a node has.

use std::collections::{BTreeMap, BTreeSet};

use lockless_lua_tests::{Host, Reply};

use super::generator::Call;
use crate::cell::{ROOT, code, command, list, number, number_of, say, state, text, text_of, texts};

#[derive(Clone, Debug)]
struct Lease {
    id: String,
    node: String,
    incarnation: i64,
    expire_ms: i64,
    /// The job that sits in the seat.
    rider: Option<String>,
}

#[derive(Default)]
pub(crate) struct Bindings {
    live: BTreeMap<String, Lease>,
    /// The requests that bound a session, the last one first.
    requests: BTreeMap<String, Vec<String>>,
    given: BTreeSet<String>,
}

/// The cell's clock.
pub(crate) fn now_ms(host: &mut dyn Host) -> i64 {
    let clock = state::get(host, "clock").unwrap();
    let time = texts(&command(host, "TIME"));
    let part = |at: usize| time[at].parse::<i64>().unwrap();
    clock.max(part(0) * 1000 + part(1) / 1000)
}

/// The id of the lease that a session's record has.
fn lease_id(host: &mut dyn Host, session: &str) -> Option<String> {
    match command(host, &format!("HGET {ROOT}:session:{session} sticky")) {
        Reply::Nil => None,
        sticky => state::lease_words(&text(&sticky))
            .first()
            .map(|id| (*id).to_owned()),
    }
}

/// The incarnation of a node that is there and not lost.
pub(crate) fn incarnation_of(host: &mut dyn Host, node: &str) -> Option<i64> {
    let runtime = format!("HMGET {ROOT}:node:runtime:{node} incarnation flags");
    match list(&command(host, &runtime)) {
        [Reply::Nil, _] => None,
        [incarnation, flags] => (!text(flags).contains('l')).then(|| number(incarnation)),
        other => panic!("{other:?}"),
    }
}

/// Whether an incarnation of a node has ended.
pub(crate) fn has_ended(host: &mut dyn Host, node: &str, incarnation: i64) -> bool {
    incarnation_of(host, node) != Some(incarnation)
}

/// Whether the incarnation a lease was made with has ended.
fn is_lost(host: &mut dyn Host, lease: &Lease) -> bool {
    has_ended(host, &lease.node, lease.incarnation)
}

impl Bindings {
    /// Follows what a call did to the leases. `has_hold` tells of a job whether it holds a slot now.
    pub(crate) fn see(
        &mut self,
        host: &mut dyn Host,
        call: &Call,
        reply: &Reply,
        has_hold: impl Fn(&mut dyn Host, &str) -> bool,
    ) {
        let session = call.arg(0);
        if let ("bind", Reply::Array(_)) = (call.function, reply) {
            self.see_bind(host, &session, call, reply);
        }
        if let ("bind", Some("LEASE_MISMATCH")) = (call.function, code(reply)) {
            let known = self.requests.get(&session).cloned().unwrap_or_default();
            let superseded = &known[1.min(known.len())..];
            assert!(superseded.contains(&call.arg(1)), "{known:?}");
        }
        if let ("renew", Reply::Int(until)) = (call.function, reply) {
            let lease = self.live.get_mut(&session).expect("a lease that lives");
            assert_eq!(lease.id, call.arg(1), "another lease was renewed");
            assert!(*until >= lease.expire_ms, "a lease was shortened");
            lease.expire_ms = *until;
        }
        for session in self.live.keys().cloned().collect::<Vec<_>>() {
            self.see_lease(host, call, reply, &session);
        }
        for lease in self.live.values_mut() {
            lease.rider = lease.rider.take().filter(|job| has_hold(host, job));
        }
    }

    fn see_bind(&mut self, host: &mut dyn Host, session: &str, call: &Call, reply: &Reply) {
        let id = text_of(reply, "lease_id");
        let requests = self.requests.entry(session.to_owned()).or_default();
        let is_same = requests.first() == Some(&call.arg(1));
        match text_of(reply, "state").as_str() {
            "bound" => {
                if let Some(before) = self.live.remove(session) {
                    let preempts = (2..call.args.len()).any(|at| call.arg(at) == "PREEMPT");
                    let is_over = before.expire_ms <= now_ms(host) || is_lost(host, &before);
                    assert!(
                        is_over || preempts && !is_same,
                        "{before:?} was overwritten"
                    );
                }
                assert!(self.given.insert(id.clone()), "lease {id} came again");
                if !is_same {
                    requests.insert(0, call.arg(1));
                    requests.truncate(5);
                }
                let node = text_of(reply, "node_id");
                let shown = say(host, &format!("node {node}"));
                assert!(
                    ["ready", "full"].contains(&text_of(&shown, "state").as_str()),
                    "{shown:?} was given a seat"
                );
                assert!(number_of(&shown, "effective") <= number_of(&shown, "max_jobs"));
                let lease = Lease {
                    id,
                    node,
                    incarnation: number_of(&shown, "incarnation"),
                    expire_ms: number_of(reply, "lease_expire_ts"),
                    rider: None,
                };
                self.live.insert(session.to_owned(), lease);
            }
            state => {
                assert_eq!(is_same, state == "replayed", "{state}");
                let lease = &self.live[session];
                assert_eq!(
                    (&id, text_of(reply, "node_id")),
                    (&lease.id, lease.node.clone())
                );
                assert_eq!(number_of(reply, "lease_expire_ts"), lease.expire_ms);
            }
        }
    }

    /// A lease that is gone has a reason to be.
    fn see_lease(&mut self, host: &mut dyn Host, call: &Call, reply: &Reply, session: &str) {
        let lease = self.live[session].clone();
        if lease_id(host, session).as_ref() == Some(&lease.id) && !is_lost(host, &lease) {
            let unbound = call.function == "unbind" && *reply == Reply::Int(1);
            assert!(
                !unbound || call.arg(0) != session,
                "{lease:?} is still there"
            );
            return;
        }
        let unbound = call.function == "unbind"
            && *reply == Reply::Int(1)
            && (call.arg(0).as_str(), call.arg(1)) == (session, lease.id.clone());
        let is_over = lease.expire_ms <= now_ms(host) || is_lost(host, &lease);
        assert!(unbound || is_over, "session {session} lost {lease:?}");
        self.live.remove(session);
    }

    /// A job that was just dispatched for a session: it is on the session's node, and in its seat if that was empty.
    /// Says whether the session is bound, and whether the job sits.
    pub(crate) fn see_dispatch(&mut self, session: &str, job: &str, node: &str) -> (bool, bool) {
        let Some(lease) = self.live.get_mut(session) else {
            return (false, false);
        };
        assert_eq!(
            node, lease.node,
            "{session} is bound, its job {job} elsewhere"
        );
        let sits = lease.rider.is_none();
        if sits {
            lease.rider = Some(job.to_owned());
        }
        (true, sits)
    }

    /// A refusal that names the binding is one of a session that is bound.
    pub(crate) fn see_refusal(&self, session: &str, reply: &Reply) {
        if let Reply::Error(line) = reply {
            let is_bound = self.live.contains_key(session);
            assert!(!line.contains(" bound: ") || is_bound, "{line}");
        }
    }

    /// How many seats without a job each node has.
    pub(crate) fn empty_seats(&self) -> BTreeMap<&str, i64> {
        let mut out = BTreeMap::new();
        for lease in self.live.values().filter(|lease| lease.rider.is_none()) {
            *out.entry(lease.node.as_str()).or_default() += 1;
        }
        out
    }
}
