//! Nodes, jobs and sessions, and the slots that tie them together.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::call::Call;
use super::super::heard::Heard;
use super::super::history::Reply;
use super::super::names::{InstanceId, JobId, NodeId, Note, RequestId, SessionId};
use super::super::search::Model;

/// The nodes, jobs and sessions of a cell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Fleet {
    pub(super) nodes: BTreeMap<NodeId, Node>,
    pub(super) jobs: BTreeMap<JobId, Job>,
    pub(super) sessions: BTreeMap<SessionId, Session>,
    /// The last one drawn.
    pub(super) incarnation: u64,
    /// How many jobs were submitted.
    pub(super) submitted: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) max_jobs: u32,
    pub(super) instance: Option<InstanceId>,
    pub(super) incarnation: u64,
    pub(super) has_label: bool,
    pub(super) is_draining: bool,
    pub(super) is_offline: bool,
    pub(super) foreign: u32,
    /// What the last request that was handed jobs was handed by `take`, and by `pull`.
    pub(super) taken: Option<Handed>,
    pub(super) pulled: Option<Handed>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Handed {
    pub(super) request: RequestId,
    /// The jobs, each with its try.
    pub(super) jobs: Vec<(JobId, u32)>,
    pub(super) stop: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Job {
    pub(super) origin: Origin,
    /// None while it waits in the queue, and when it was withdrawn from there.
    pub(super) node: Option<NodeId>,
    pub(super) hold: Option<Hold>,
    /// How it ended, if it has.
    pub(super) status: Option<Status>,
    pub(super) attempts: u32,
    /// The node that gave it back to the queue last.
    pub(super) back_from: Option<NodeId>,
    pub(super) result: Option<Note>,
    pub(super) progress: Option<Note>,
}

/// What made a job, and what makes another call the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    Dispatched {
        session: SessionId,
        payload: Note,
    },
    Reserved,
    Submitted {
        payload: Note,
        priority: u8,
        needs_label: bool,
        /// Its place among all that were submitted.
        number: u64,
    },
}

/// What its slot says of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Hold {
    /// Until the node acknowledges.
    Reserved,
    Dispatched,
    Running,
    /// It has ended for everyone but its node.
    Stopping,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Status {
    Finished,
    Failed,
    Cancelled,
    Expired,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Session {
    /// The request that bound it last, and those it superseded.
    pub(super) requests: Vec<RequestId>,
    pub(super) lease: Option<Lease>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Lease {
    /// Unknown until a reply names it.
    pub(super) id: Option<Arc<str>>,
    pub(super) node: NodeId,
    /// When it ends, ms, as far as it was told: exactly, or not before.
    pub(super) expires: Expiry,
    /// The job that sits in its seat.
    pub(super) rider: Option<JobId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Expiry {
    At(u64),
    NotBefore(u64),
}

impl Fleet {
    /// The slots taken on a node: by jobs, and by seats that nobody sits in.
    pub(super) fn held(&self, node: NodeId) -> u32 {
        let jobs = self.holds_of(node).count();
        let leases = self
            .sessions
            .values()
            .filter_map(|session| session.lease.as_ref());
        let seats = leases.filter(|lease| lease.node == node && lease.rider.is_none());
        (jobs + seats.count()) as u32
    }

    /// The jobs that have a slot on a node.
    pub(super) fn holds_of(&self, node: NodeId) -> impl Iterator<Item = (JobId, Hold)> + '_ {
        let on_node = self
            .jobs
            .iter()
            .filter(move |(_, job)| job.node == Some(node));
        on_node.filter_map(|(id, job)| Some((*id, job.hold?)))
    }

    /// The jobs a node must stop, in order.
    pub(super) fn to_stop(&self, node: NodeId) -> Vec<String> {
        let stopping = self
            .holds_of(node)
            .filter(|(_, hold)| *hold == Hold::Stopping);
        stopping.map(|(id, _)| id.to_string()).collect()
    }

    /// The nodes that may take a request now.
    pub(super) fn open_nodes(&self, needs_label: bool) -> Vec<NodeId> {
        let is_open = |(id, node): &(&NodeId, &Node)| {
            node.takes_work() && node.fits(needs_label) && self.has_room(**id, node)
        };
        self.nodes
            .iter()
            .filter(is_open)
            .map(|(id, _)| *id)
            .collect()
    }

    pub(super) fn has_room(&self, id: NodeId, node: &Node) -> bool {
        self.held(id) + node.foreign < node.max_jobs
    }

    /// Gives a job's slot back: to the seat it sat in, or to its node.
    pub(super) fn free(&mut self, id: JobId) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.hold = None;
        }
        for session in self.sessions.values_mut() {
            if let Some(lease) = &mut session.lease
                && lease.rider == Some(id)
            {
                lease.rider = None;
            }
        }
    }

    /// The end of an incarnation: what it had is lost.
    pub(super) fn lose(&mut self, node: NodeId) {
        for job in self.jobs.values_mut() {
            if job.node != Some(node) || job.hold.take().is_none() {
                continue;
            }
            // No job from the queue has a further try here.
            let lost = match job.origin {
                Origin::Submitted { .. } => Status::Failed,
                _ => Status::Expired,
            };
            job.status.get_or_insert(lost);
        }
        for session in self.sessions.values_mut() {
            session.lease.take_if(|lease| lease.node == node);
        }
    }

    /// This, if the call may be refused so.
    pub(super) fn refused(&self, heard: Heard<'_>, code: &str) -> Vec<Self> {
        self.unless(!heard.is_refusal(code))
    }

    /// This, unless it can't be so.
    pub(super) fn unless(&self, is_wrong: bool) -> Vec<Self> {
        if is_wrong {
            Vec::new()
        } else {
            vec![self.clone()]
        }
    }

    /// This with a change, if the reply says so.
    pub(super) fn changed(&self, is_said: bool, change: impl FnOnce(&mut Self)) -> Vec<Self> {
        if !is_said {
            return Vec::new();
        }
        let mut next = self.clone();
        change(&mut next);
        vec![next]
    }
}

impl Node {
    pub(super) fn takes_work(&self) -> bool {
        !self.is_draining && !self.is_offline
    }

    pub(super) fn fits(&self, needs_label: bool) -> bool {
        self.has_label || !needs_label
    }
}

impl Model for Fleet {
    fn after(&self, call: &Call, reply: Option<&Reply>) -> Vec<Self> {
        let heard = Heard(reply);
        match call {
            Call::Register { .. }
            | Call::Heartbeat { .. }
            | Call::Drain { .. }
            | Call::Deregister { .. }
            | Call::Node { .. } => self.node_call(call, heard),
            Call::Dispatch { .. }
            | Call::Reserve { .. }
            | Call::Submit { .. }
            | Call::Cancel { .. }
            | Call::Job { .. } => self.job_call(call, heard),
            Call::Take { .. } => self.take(call, heard),
            Call::Pull { .. } => self.pull(call, heard),
            Call::Word {
                word,
                job,
                node,
                incarnation,
            } => self.word(*word, *job, *node, *incarnation, heard),
            Call::Bind { .. } | Call::Renew { .. } | Call::Unbind { .. } => {
                self.session_call(call, heard)
            }
            Call::Lock { .. } | Call::Unlock { .. } | Call::Limit { .. } => Vec::new(),
        }
    }
}
