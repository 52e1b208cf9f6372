//! The calls a history is made of.

use std::sync::Arc;

use super::names::{
    InstanceId, JobId, LimitName, LockName, NodeId, Note, OwnerId, RequestId, SessionId,
};

/// The label that some nodes have and some jobs need.
pub const LABEL: &str = "gpu";
/// How many calls a rate limit allows.
pub const LIMIT: u32 = 3;

/// A call of one function. What it leaves out is left to its default.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "they are the functions' own arguments")]
pub enum Call {
    Register {
        node: NodeId,
        max_jobs: u32,
        instance: Option<InstanceId>,
        has_label: bool,
    },
    Heartbeat {
        node: NodeId,
        foreign: Option<u32>,
        online: Option<bool>,
        incarnation: Option<u64>,
    },
    Drain {
        node: NodeId,
        on: bool,
        incarnation: Option<u64>,
    },
    Deregister {
        node: NodeId,
        incarnation: Option<u64>,
    },
    Node {
        node: NodeId,
    },
    Dispatch {
        session: SessionId,
        payload: Note,
        job: JobId,
        needs_label: bool,
        needs_ack: bool,
    },
    Reserve {
        node: NodeId,
        job: JobId,
    },
    Submit {
        job: JobId,
        payload: Note,
        priority: u8,
        needs_label: bool,
    },
    Pull {
        node: NodeId,
        count: usize,
        request: Option<RequestId>,
        incarnation: Option<u64>,
    },
    Take {
        node: NodeId,
        request: Option<RequestId>,
        incarnation: Option<u64>,
    },
    Word {
        word: Word,
        job: JobId,
        node: NodeId,
        incarnation: Option<u64>,
    },
    Cancel {
        job: JobId,
    },
    Job {
        job: JobId,
    },
    Bind {
        session: SessionId,
        request: RequestId,
        needs_label: bool,
        preempts: bool,
    },
    Renew {
        session: SessionId,
        lease: Arc<str>,
    },
    Unbind {
        session: SessionId,
        lease: Arc<str>,
    },
    Lock {
        name: LockName,
        owner: OwnerId,
    },
    Unlock {
        name: LockName,
        owner: OwnerId,
    },
    Limit {
        name: LimitName,
        request: Option<RequestId>,
    },
}

/// What a node says of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Word {
    /// It has it.
    Ack,
    /// It gives it back.
    Release,
    /// It ended well, with a result.
    Finished(Note),
    /// It failed.
    Failed,
    /// It stopped it.
    Stopped,
    /// It needs longer, and has come so far.
    Extend(Note),
}

/// Which part of a cell a call is about. The parts know nothing of each other, and a history is linearizable if it is so for each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Nodes, jobs and sessions.
    Fleet,
    /// The locks, which share their tokens.
    Locks,
    /// One rate limit.
    Limit(LimitName),
}

impl Call {
    /// The part of the cell it is about.
    pub fn part(&self) -> Part {
        match self {
            Self::Lock { .. } | Self::Unlock { .. } => Part::Locks,
            Self::Limit { name, .. } => Part::Limit(*name),
            _ => Part::Fleet,
        }
    }

    /// Whether it changes nothing, whatever the cell is like.
    pub fn only_reads(&self) -> bool {
        matches!(self, Self::Node { .. } | Self::Job { .. })
    }

    /// The function's name without its prefix.
    pub fn function(&self) -> &'static str {
        match self {
            Self::Register { .. } => "register",
            Self::Heartbeat { .. } => "heartbeat",
            Self::Drain { .. } => "drain",
            Self::Deregister { .. } => "deregister",
            Self::Node { .. } => "node",
            Self::Dispatch { .. } => "dispatch",
            Self::Reserve { .. } => "reserve",
            Self::Submit { .. } => "submit",
            Self::Pull { .. } => "pull",
            Self::Take { .. } => "take",
            Self::Word { word, .. } => word.function(),
            Self::Cancel { .. } => "cancel",
            Self::Job { .. } => "job",
            Self::Bind { .. } => "bind",
            Self::Renew { .. } => "renew",
            Self::Unbind { .. } => "unbind",
            Self::Lock { .. } => "lock",
            Self::Unlock { .. } => "unlock",
            Self::Limit { .. } => "limit",
        }
    }
}

impl Word {
    fn function(self) -> &'static str {
        match self {
            Self::Ack => "ack",
            Self::Release => "release",
            Self::Finished(_) | Self::Failed => "complete",
            Self::Stopped => "stopped",
            Self::Extend(_) => "extend",
        }
    }
}
