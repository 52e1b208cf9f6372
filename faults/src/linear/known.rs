//! What callers know from replies.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::call::Call;
use super::history::Reply;
use super::names::{JobId, NodeId, SessionId};
use crate::wire::Answer;

/// What callers know from replies, their own and those of others.
#[derive(Debug, Default)]
pub struct Known {
    pub(super) nodes: BTreeMap<JobId, NodeId>,
    pub(super) leases: BTreeMap<SessionId, Vec<Arc<str>>>,
    pub(super) incarnations: BTreeMap<NodeId, u64>,
}

impl Known {
    /// Takes in what a reply says.
    pub fn learn(&mut self, call: &Call, reply: &Reply) {
        let Reply::Answer(answer) = reply else { return };
        match call {
            Call::Dispatch { job, .. } => {
                if let Some(node) = answer.list().first() {
                    self.nodes
                        .extend(NodeId::read(&node.text()).map(|node| (*job, node)));
                }
            }
            Call::Reserve { node, job } if answer.int() == Some(1) => {
                self.nodes.insert(*job, *node);
            }
            Call::Pull { node, .. } => {
                for item in answer.list().first().map_or(&[][..], |items| items.list()) {
                    let job = item.field("job_id").and_then(|id| JobId::read(&id.text()));
                    self.nodes.extend(job.map(|job| (job, *node)));
                }
            }
            Call::Bind { session, .. } => {
                if let Some(lease) = answer.field("lease_id") {
                    let known = self.leases.entry(*session).or_default();
                    known.push(lease.text().into());
                }
            }
            Call::Register { node, .. } => {
                let drawn = answer.field("incarnation").and_then(Answer::int);
                if let Some(drawn) = drawn {
                    let known = self.incarnations.entry(*node).or_default();
                    *known = drawn.unsigned_abs().max(*known);
                }
            }
            _ => {}
        }
    }
}
