//! Random calls, with few names, so that they meet.

use fastrand::Rng;

use super::call::{Call, Word};
use super::known::Known;
use super::names::{
    InstanceId, JobId, LimitName, LockName, NodeId, Note, OwnerId, RequestId, SessionId,
};

/// How many nodes there are at most.
pub(super) const NODES: u8 = 2;

fn any_node(random: &mut Rng) -> NodeId {
    NodeId(random.u8(..NODES))
}

fn any_job(random: &mut Rng) -> JobId {
    JobId(random.u8(..4))
}

fn any_session(random: &mut Rng) -> SessionId {
    SessionId(random.u8(..2))
}

fn any_note(random: &mut Rng) -> Note {
    Note(random.u8(..2))
}

fn any_request(random: &mut Rng) -> Option<RequestId> {
    random.bool().then(|| RequestId(random.u8(..2)))
}

fn one_in(random: &mut Rng, of: u32) -> bool {
    random.u32(..of) == 0
}

/// Mostly the one that was told last, sometimes an older one, sometimes none.
fn incarnation(random: &mut Rng, known: &Known, node: NodeId) -> Option<u64> {
    if random.bool() {
        return None;
    }
    let told = *known.incarnations.get(&node)?;
    let is_old = told > 1 && one_in(random, 4);
    Some(if is_old { told - 1 } else { told })
}

pub(super) fn dispatch(random: &mut Rng, _: &Known) -> Call {
    // A job mostly has the same session and payload, so that it is dispatched again.
    let job = any_job(random);
    let is_other = one_in(random, 8);
    Call::Dispatch {
        session: if is_other {
            any_session(random)
        } else {
            SessionId(job.0 % 2)
        },
        payload: Note(0),
        job,
        needs_label: one_in(random, 5),
        needs_ack: random.bool(),
    }
}

pub(super) fn plain_dispatch(random: &mut Rng, _: &Known) -> Call {
    // Each only once: the script knew no repetition.
    Call::Dispatch {
        session: SessionId(0),
        payload: Note(0),
        job: JobId(random.u8(..)),
        needs_label: false,
        needs_ack: false,
    }
}

pub(super) fn plain_complete(random: &mut Rng, known: &Known) -> Call {
    let at = random.usize(..known.nodes.len().max(1));
    let told = known.nodes.iter().nth(at);
    match told {
        Some((job, node)) => Call::Word {
            word: Word::Finished(Note(0)),
            job: *job,
            node: *node,
            incarnation: None,
        },
        None => plain_dispatch(random, known),
    }
}

pub(super) fn reserve(random: &mut Rng, _: &Known) -> Call {
    Call::Reserve {
        node: any_node(random),
        job: any_job(random),
    }
}

pub(super) fn submit(random: &mut Rng, _: &Known) -> Call {
    let job = any_job(random);
    Call::Submit {
        job,
        payload: Note(0),
        priority: if one_in(random, 8) { 9 } else { 5 - job.0 % 2 },
        needs_label: job.0 == 3,
    }
}

pub(super) fn pull(random: &mut Rng, known: &Known) -> Call {
    let node = any_node(random);
    Call::Pull {
        node,
        count: random.usize(1..=2),
        request: any_request(random),
        incarnation: incarnation(random, known, node),
    }
}

pub(super) fn take(random: &mut Rng, known: &Known) -> Call {
    let node = any_node(random);
    Call::Take {
        node,
        request: any_request(random),
        incarnation: incarnation(random, known, node),
    }
}

pub(super) fn word(random: &mut Rng, known: &Known) -> Call {
    let job = any_job(random);
    let told = known.nodes.get(&job).copied();
    let node = told
        .filter(|_| !one_in(random, 10))
        .unwrap_or_else(|| any_node(random));
    let word = match random.u32(..9) {
        0 | 1 => Word::Ack,
        2 => Word::Release,
        3 | 4 => Word::Finished(any_note(random)),
        5 => Word::Failed,
        6 | 7 => Word::Stopped,
        _ => Word::Extend(any_note(random)),
    };
    Call::Word {
        word,
        job,
        node,
        incarnation: incarnation(random, known, node),
    }
}

pub(super) fn cancel(random: &mut Rng, _: &Known) -> Call {
    Call::Cancel {
        job: any_job(random),
    }
}

pub(super) fn look(random: &mut Rng, known: &Known) -> Call {
    if random.bool() {
        return look_at_node(random, known);
    }
    Call::Job {
        job: any_job(random),
    }
}

pub(super) fn look_at_node(random: &mut Rng, _: &Known) -> Call {
    Call::Node {
        node: any_node(random),
    }
}

pub(super) fn register(random: &mut Rng, _: &Known) -> Call {
    Call::Register {
        node: any_node(random),
        max_jobs: random.u32(1..=2),
        instance: random.bool().then(|| InstanceId(random.u8(..3))),
        has_label: random.bool(),
    }
}

pub(super) fn heartbeat(random: &mut Rng, known: &Known) -> Call {
    let node = any_node(random);
    Call::Heartbeat {
        node,
        foreign: random.bool().then(|| random.u32(..2)),
        online: one_in(random, 4).then(|| random.bool()),
        incarnation: incarnation(random, known, node),
    }
}

pub(super) fn drain(random: &mut Rng, known: &Known) -> Call {
    let node = any_node(random);
    Call::Drain {
        node,
        on: random.bool(),
        incarnation: incarnation(random, known, node),
    }
}

pub(super) fn depart(random: &mut Rng, known: &Known) -> Call {
    let node = any_node(random);
    Call::Deregister {
        node,
        incarnation: incarnation(random, known, node),
    }
}

pub(super) fn bind(random: &mut Rng, _: &Known) -> Call {
    Call::Bind {
        session: any_session(random),
        request: RequestId(random.u8(..5)),
        needs_label: one_in(random, 5),
        preempts: random.bool(),
    }
}

pub(super) fn lease(random: &mut Rng, known: &Known) -> Call {
    let session = any_session(random);
    let told = known.leases.get(&session).map_or(&[][..], Vec::as_slice);
    let newest = random.usize(..told.len().clamp(1, 2));
    let told = told.iter().rev().nth(newest).cloned();
    let lease = told.unwrap_or_else(|| "1-1".into());
    if random.bool() {
        Call::Renew { session, lease }
    } else {
        Call::Unbind { session, lease }
    }
}

pub(super) fn lock(random: &mut Rng, _: &Known) -> Call {
    Call::Lock {
        name: LockName(random.u8(..2)),
        owner: OwnerId(random.u8(..3)),
    }
}

pub(super) fn unlock(random: &mut Rng, _: &Known) -> Call {
    Call::Unlock {
        name: LockName(random.u8(..2)),
        owner: OwnerId(random.u8(..3)),
    }
}

pub(super) fn limit(random: &mut Rng, _: &Known) -> Call {
    Call::Limit {
        name: LimitName(random.u8(..2)),
        request: random.bool().then(|| RequestId(random.u8(..5))),
    }
}
