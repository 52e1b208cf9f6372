//! Jobs are handed to the node that asks.

use super::super::call::Call;
use super::super::heard::{Heard, Item};
use super::super::names::{JobId, NodeId, RequestId};
use super::fleet::{Fleet, Handed, Hold, Job, Node, Origin};

impl Fleet {
    /// What was pushed to the node.
    pub(super) fn take(&self, call: &Call, heard: Heard<'_>) -> Vec<Self> {
        let Call::Take {
            node,
            request,
            incarnation,
        } = *call
        else {
            return Vec::new();
        };
        let known = match self.own_word(node, incarnation) {
            Ok(known) => known,
            Err(code) => return self.refused(heard, code),
        };
        let before = known.taken.as_ref();
        if let Some(before) = before.filter(|before| Some(before.request) == request) {
            return self.handed_again(node, before, heard, false);
        }
        let is_pushed =
            |(_, hold): &(JobId, Hold)| matches!(hold, Hold::Reserved | Hold::Dispatched);
        let pushed: Vec<JobId> = self
            .holds_of(node)
            .filter(is_pushed)
            .map(|(id, _)| id)
            .collect();
        let mut next = self.clone();
        for id in &pushed {
            next.set_hold(*id, Hold::Running);
        }
        // The contract does not say in which order.
        let handed = |request| next.handed(node, request, &pushed);
        let noted = request.filter(|_| !pushed.is_empty()).map(handed);
        let items: Vec<Item> = pushed.iter().map(|id| next.item(*id)).collect();
        if let (Some(noted), Some(known)) = (noted, next.nodes.get_mut(&node)) {
            known.taken = Some(noted);
        }
        next.said(heard.is_handing(&items, &self.to_stop(node), false))
    }

    /// What waits in the queue: by priority, then age.
    pub(super) fn pull(&self, call: &Call, heard: Heard<'_>) -> Vec<Self> {
        let Call::Pull {
            node,
            count,
            request,
            incarnation,
        } = *call
        else {
            return Vec::new();
        };
        let known = match self.own_word(node, incarnation) {
            Ok(known) => known,
            Err(code) => return self.refused(heard, code),
        };
        let before = known.pulled.as_ref();
        if let Some(before) = before.filter(|before| Some(before.request) == request) {
            return self.handed_again(node, before, heard, true);
        }
        let mut waiting = self.waiting_for(known);
        waiting.truncate(count.min(self.room(node, known)));
        let mut next = self.clone();
        for id in &waiting {
            if let Some(job) = next.jobs.get_mut(id) {
                job.node = Some(node);
                job.hold = Some(Hold::Running);
                job.attempts += 1;
            }
        }
        let handed = |request| next.handed(node, request, &waiting);
        let noted = request.filter(|_| !waiting.is_empty()).map(handed);
        let items: Vec<Item> = waiting.iter().map(|id| next.item(*id)).collect();
        if let (Some(noted), Some(known)) = (noted, next.nodes.get_mut(&node)) {
            known.pulled = Some(noted);
        }
        next.said(heard.is_handing(&items, &self.to_stop(node), true))
    }

    /// The same again, as far as it still runs there; nothing changes.
    fn handed_again(
        &self,
        node: NodeId,
        before: &Handed,
        heard: Heard<'_>,
        is_in_order: bool,
    ) -> Vec<Self> {
        let runs = |(id, attempt): &&(JobId, u32)| {
            self.jobs.get(id).is_some_and(|job| {
                job.node == Some(node)
                    && job.status.is_none()
                    && job.hold.is_some()
                    && job.attempts == *attempt
            })
        };
        let left = before.jobs.iter().filter(runs);
        let items: Vec<Item> = left.map(|(id, _)| self.item(*id)).collect();
        self.unless(!heard.is_handing(&items, &before.stop, is_in_order))
    }

    /// What is remembered of jobs that were just handed over.
    fn handed(&self, node: NodeId, request: RequestId, jobs: &[JobId]) -> Handed {
        let attempt = |id: &JobId| self.jobs.get(id).map_or(0, |job| job.attempts);
        Handed {
            request,
            jobs: jobs.iter().map(|id| (*id, attempt(id))).collect(),
            stop: self.to_stop(node),
        }
    }

    /// The jobs in the queue that a node may run, in order.
    fn waiting_for(&self, node: &Node) -> Vec<JobId> {
        let mut waiting: Vec<(u8, u64, JobId)> = Vec::new();
        for (id, job) in &self.jobs {
            if let Origin::Submitted {
                priority,
                number,
                needs_label,
                ..
            } = job.origin
                && job.waits()
                && node.fits(needs_label)
            {
                waiting.push((priority, number, *id));
            }
        }
        waiting.sort_unstable();
        waiting.into_iter().map(|(_, _, id)| id).collect()
    }

    /// How many slots a node has free for work from the queue.
    fn room(&self, id: NodeId, node: &Node) -> usize {
        let used = self.held(id) + node.foreign;
        if node.takes_work() {
            node.max_jobs.saturating_sub(used) as usize
        } else {
            0
        }
    }

    /// This, if the reply says so.
    fn said(self, is_said: bool) -> Vec<Self> {
        if is_said { vec![self] } else { Vec::new() }
    }

    fn item(&self, id: JobId) -> Item {
        let job = self.jobs.get(&id);
        [
            id.to_string(),
            job.map(Job::payload).unwrap_or_default(),
            job.map(Job::session).unwrap_or_default(),
            job.map_or(0, |job| job.attempts).to_string(),
        ]
    }
}
