//! What a node says of a job.

use super::super::call::Word;
use super::super::heard::Heard;
use super::super::names::{JobId, NodeId};
use super::fleet::{Fleet, Hold, Job, Origin, Status};

impl Fleet {
    pub(super) fn word(
        &self,
        word: Word,
        id: JobId,
        node: NodeId,
        incarnation: Option<u64>,
        heard: Heard<'_>,
    ) -> Vec<Self> {
        let job = self.jobs.get(&id);
        if word == Word::Release {
            return self.release(job, id, node, incarnation, heard);
        }
        let job = match self.hears(job, node, incarnation) {
            Ok(job) => job,
            Err(code) => return self.refused(heard, code),
        };
        let is_live = job.status.is_none();
        let wrong_state = || self.refused(heard, "WRONG_STATE");
        match word {
            Word::Ack => match job.hold {
                Some(Hold::Running) => self.unless(!heard.is_ok()),
                Some(Hold::Reserved | Hold::Dispatched) => {
                    self.changed(heard.is_ok(), |next| next.set_hold(id, Hold::Running))
                }
                _ => wrong_state(),
            },
            Word::Extend(progress) => match job.hold {
                Some(Hold::Running | Hold::Dispatched) => self.changed(heard.is_answer(), |next| {
                    if let Some(job) = next.jobs.get_mut(&id) {
                        job.progress = Some(progress);
                    }
                }),
                _ => wrong_state(),
            },
            Word::Finished(_) | Word::Failed => {
                let status = match word {
                    Word::Finished(_) => Status::Finished,
                    _ => Status::Failed,
                };
                match job.hold {
                    Some(_) => self.changed(heard.is_ok(), |next| {
                        if is_live {
                            next.end(id, status);
                            if let (Word::Finished(result), Some(job)) =
                                (word, next.jobs.get_mut(&id))
                            {
                                job.result = Some(result);
                            }
                        }
                        next.free(id);
                    }),
                    None if job.status == Some(status) => self.unless(!heard.is_ok()),
                    None => wrong_state(),
                }
            }
            Word::Stopped => match (job.hold, job.origin) {
                (Some(Hold::Stopping), _) => self.changed(heard.is_ok(), |next| next.free(id)),
                // It goes back to its queue, and its next try begins anew.
                (Some(_), Origin::Submitted { .. }) => self.changed(heard.is_ok(), |next| {
                    next.free(id);
                    if let Some(job) = next.jobs.get_mut(&id) {
                        job.back_from = job.node.take();
                        job.progress = None;
                    }
                }),
                (None, _) if job.was_stopped_before(node) => self.unless(!heard.is_ok()),
                _ => wrong_state(),
            },
            Word::Release => Vec::new(),
        }
    }

    /// The job, if a node's word on it is heard, or how it is refused.
    fn hears<'a>(
        &self,
        job: Option<&'a Job>,
        node: NodeId,
        incarnation: Option<u64>,
    ) -> Result<&'a Job, &'static str> {
        let known = self.nodes.get(&node).ok_or("UNKNOWN_NODE")?;
        let job = job.ok_or("NO_SUCH_JOB")?;
        let place = if job.waits() { job.back_from } else { job.node };
        if place.is_some_and(|other| other != node) {
            return Err("NODE_MISMATCH");
        }
        match incarnation {
            Some(given) if given != known.incarnation => Err("STALE_NODE"),
            _ => Ok(job),
        }
    }

    fn release(
        &self,
        job: Option<&Job>,
        id: JobId,
        node: NodeId,
        incarnation: Option<u64>,
        heard: Heard<'_>,
    ) -> Vec<Self> {
        let is_elsewhere = |job: &Job| {
            job.status.is_none() && !job.waits() && job.node.is_some_and(|other| other != node)
        };
        if !self.nodes.contains_key(&node) {
            return self.refused(heard, "UNKNOWN_NODE");
        }
        if job.is_some_and(is_elsewhere) {
            return self.refused(heard, "NODE_MISMATCH");
        }
        if let Err(code) = self.own_word(node, incarnation) {
            return self.refused(heard, code);
        }
        let here = job.filter(|job| job.node == Some(node));
        match here.and_then(|job| Some((job, job.hold?))) {
            None => self.unless(!heard.is_number(0)),
            Some((_, Hold::Running)) => self.refused(heard, "WRONG_STATE"),
            Some((job, _)) => self.changed(heard.is_number(1), |next| {
                next.free(id);
                if job.status.is_some() {
                    return;
                }
                if job.origin == Origin::Reserved {
                    next.jobs.remove(&id);
                } else {
                    next.end(id, Status::Cancelled);
                }
            }),
        }
    }
}

impl Job {
    /// Whether nothing is left to stop: it ended from outside, or this node gave it back.
    fn was_stopped_before(&self, node: NodeId) -> bool {
        match self.status {
            None => self.waits() && self.back_from == Some(node),
            Some(status) => matches!(status, Status::Cancelled | Status::Expired),
        }
    }
}
