//! Sessions are bound to nodes.

use std::sync::Arc;

use super::super::call::Call;
use super::super::heard::Heard;
use super::super::names::{NodeId, RequestId, SessionId};
use super::fleet::{Expiry, Fleet, Lease, Session};

/// So many requests that were superseded are remembered.
const SUPERSEDED: usize = 4;

impl Fleet {
    pub(super) fn session_call(&self, call: &Call, heard: Heard<'_>) -> Vec<Self> {
        match call {
            Call::Bind {
                session,
                request,
                needs_label,
                preempts,
            } => self.bind(*session, *request, *needs_label, *preempts, heard),
            Call::Renew { session, lease } => self.renew(*session, lease, heard),
            Call::Unbind { session, lease } => {
                let is_its = self
                    .lease(*session)
                    .is_some_and(|known| known.id.as_ref() == Some(lease));
                if !is_its {
                    return self.unless(!heard.is_number(0));
                }
                self.changed(heard.is_number(1), |next| {
                    next.sessions.entry(*session).or_default().lease = None;
                })
            }
            _ => Vec::new(),
        }
    }

    fn lease(&self, session: SessionId) -> Option<&Lease> {
        self.sessions.get(&session)?.lease.as_ref()
    }

    fn bind(
        &self,
        session: SessionId,
        request: RequestId,
        needs_label: bool,
        preempts: bool,
        heard: Heard<'_>,
    ) -> Vec<Self> {
        let known = self.sessions.get(&session);
        let requests = known.map_or(&[][..], |known| &known.requests);
        if requests.iter().skip(1).any(|before| *before == request) {
            return self.refused(heard, "LEASE_MISMATCH");
        }
        let lease = self.lease(session);
        let is_same = requests.first() == Some(&request);
        if let Some(lease) = lease
            && (is_same || !preempts)
        {
            let state = if is_same { "replayed" } else { "existing" };
            return self.told_of(session, lease, state, heard);
        }
        let mut nodes = self.open_nodes(needs_label);
        if nodes.is_empty() {
            nodes.extend(lease.and_then(|lease| self.own_seat(lease, needs_label)));
        }
        if nodes.is_empty() {
            return self.refused(heard, "NO_AVAILABLE_NODE");
        }
        let bound = nodes.into_iter().flat_map(|node| {
            let fields = [("state", "bound".to_owned()), ("node_id", node.to_string())];
            self.changed(heard.has_fields(&fields), |next| {
                next.sessions
                    .entry(session)
                    .or_default()
                    .take_seat(request, node, heard);
            })
        });
        bound.collect()
    }

    /// A lease as a reply tells of it. What the reply names for the first time is known from then on.
    fn told_of(
        &self,
        session: SessionId,
        lease: &Lease,
        state: &str,
        heard: Heard<'_>,
    ) -> Vec<Self> {
        let fields = [
            ("state", state.to_owned()),
            ("node_id", lease.node.to_string()),
        ];
        let (id, expires) = (heard.field("lease_id"), expiry(heard));
        let is_other = |said: &Arc<str>| lease.id.as_ref().is_some_and(|known| known != said);
        if !heard.has_fields(&fields)
            || id.as_ref().is_some_and(is_other)
            || expires.is_some_and(|said| !lease.expires.allows(said))
        {
            return Vec::new();
        }
        self.changed(true, |next| {
            let known = &mut next.sessions.entry(session).or_default().lease;
            if let Some(lease) = known {
                lease.id = id.or(lease.id.take());
                lease.expires = expires.map_or(lease.expires, Expiry::At);
            }
        })
    }

    /// The lease's own node, when its seat is the one slot that a request which preempts it can have.
    fn own_seat(&self, lease: &Lease, needs_label: bool) -> Option<NodeId> {
        let node = self.nodes.get(&lease.node)?;
        let others = self.held(lease.node).checked_sub(1)?;
        let may = lease.rider.is_none()
            && node.takes_work()
            && node.fits(needs_label)
            && others + node.foreign < node.max_jobs;
        may.then_some(lease.node)
    }

    fn renew(&self, session: SessionId, id: &Arc<str>, heard: Heard<'_>) -> Vec<Self> {
        let known = self.sessions.get(&session);
        if known.is_none_or(|known| known.requests.is_empty()) {
            return self.refused(heard, "NO_SUCH_SESSION");
        }
        let lease = match self.lease(session) {
            Some(lease) if lease.id.as_ref() == Some(id) => lease,
            _ => return self.refused(heard, "LEASE_MISMATCH"),
        };
        let least = lease.expires.least();
        let until = match heard.answer() {
            Some(answer) => answer.int().map(i64::unsigned_abs).map(Expiry::At),
            None => Some(Expiry::NotBefore(least)),
        };
        let is_said = heard.is_answer() && until.is_some_and(|until| until.least() >= least);
        self.changed(is_said, |next| {
            if let (Some(lease), Some(until)) =
                (&mut next.sessions.entry(session).or_default().lease, until)
            {
                lease.expires = until;
            }
        })
    }
}

impl Session {
    fn take_seat(&mut self, request: RequestId, node: NodeId, heard: Heard<'_>) {
        if self.requests.first() != Some(&request) {
            self.requests.insert(0, request);
            self.requests.truncate(1 + SUPERSEDED);
        }
        self.lease = Some(Lease {
            id: heard.field("lease_id"),
            node,
            expires: expiry(heard).map_or(Expiry::NotBefore(0), Expiry::At),
            rider: None,
        });
    }
}

impl Expiry {
    fn least(self) -> u64 {
        match self {
            Self::At(ms) | Self::NotBefore(ms) => ms,
        }
    }

    fn allows(self, said: u64) -> bool {
        match self {
            Self::At(ms) => ms == said,
            Self::NotBefore(ms) => ms <= said,
        }
    }
}

fn expiry(heard: Heard<'_>) -> Option<u64> {
    heard.field("lease_expire_ts")?.parse().ok()
}
