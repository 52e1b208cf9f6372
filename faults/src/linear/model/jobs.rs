//! Jobs are made, cancelled and looked at.

use super::super::call::Call;
use super::super::heard::Heard;
use super::super::names::{JobId, NodeId, Note, SessionId};
use super::fleet::{Fleet, Hold, Job, Origin, Status};

impl Fleet {
    pub(super) fn job_call(&self, call: &Call, heard: Heard<'_>) -> Vec<Self> {
        match *call {
            Call::Dispatch {
                session,
                payload,
                job,
                needs_label,
                needs_ack,
            } => {
                let hold = if needs_ack {
                    Hold::Reserved
                } else {
                    Hold::Dispatched
                };
                match self.jobs.get(&job) {
                    Some(known) => self.dispatched_again(known, session, payload, job, heard),
                    None => self.dispatch(session, payload, job, needs_label, hold, heard),
                }
            }
            Call::Reserve { node, job } => self.reserve(node, job, heard),
            Call::Submit {
                job,
                payload,
                priority,
                needs_label,
            } => self.submit(job, payload, priority, needs_label, heard),
            Call::Cancel { job } => self.cancel(job, heard),
            Call::Job { job } => match self.jobs.get(&job) {
                None => self.refused(heard, "NO_SUCH_JOB"),
                Some(known) => self.unless(!heard.has_fields(&known.fields())),
            },
            _ => Vec::new(),
        }
    }

    fn dispatched_again(
        &self,
        known: &Job,
        session: SessionId,
        payload: Note,
        job: JobId,
        heard: Heard<'_>,
    ) -> Vec<Self> {
        if known.origin != (Origin::Dispatched { session, payload }) {
            return self.refused(heard, "JOB_EXISTS");
        }
        if let Some(Status::Expired | Status::Cancelled) = known.status {
            return self.refused(heard, "WRONG_STATE");
        }
        let node = known.node.map(|node| node.to_string()).unwrap_or_default();
        self.unless(!heard.is_list(&[node, job.to_string()]))
    }

    fn dispatch(
        &self,
        session: SessionId,
        payload: Note,
        job: JobId,
        needs_label: bool,
        hold: Hold,
        heard: Heard<'_>,
    ) -> Vec<Self> {
        let origin = Origin::Dispatched { session, payload };
        let lease = self
            .sessions
            .get(&session)
            .and_then(|session| session.lease.as_ref());
        let (nodes, takes_seat) = match lease {
            None => (self.open_nodes(needs_label), false),
            Some(lease) => {
                let takes_seat = lease.rider.is_none();
                let may = self.nodes.get(&lease.node).is_some_and(|node| {
                    node.fits(needs_label)
                        && !node.is_offline
                        && (takes_seat || self.has_room(lease.node, node))
                });
                (may.then_some(lease.node).into_iter().collect(), takes_seat)
            }
        };
        if nodes.is_empty() {
            return self.refused(heard, "NO_AVAILABLE_NODE");
        }
        let granted = nodes.into_iter().flat_map(|node| {
            let is_said = heard.is_list(&[node.to_string(), job.to_string()]);
            self.changed(is_said, |next| {
                next.jobs
                    .insert(job, Job::on(origin, Some(node), Some(hold)));
                let known = next.sessions.entry(session).or_default();
                if takes_seat && let Some(lease) = &mut known.lease {
                    lease.rider = Some(job);
                }
            })
        });
        granted.collect()
    }

    fn reserve(&self, node: NodeId, job: JobId, heard: Heard<'_>) -> Vec<Self> {
        let Some(known) = self.nodes.get(&node) else {
            return self.refused(heard, "UNKNOWN_NODE");
        };
        if let Some(before) = self.jobs.get(&job) {
            return if before.node.is_some_and(|other| other != node) {
                self.refused(heard, "NODE_MISMATCH")
            } else if before.origin != Origin::Reserved {
                self.refused(heard, "JOB_EXISTS")
            } else if before.status.is_some() {
                self.refused(heard, "WRONG_STATE")
            } else {
                self.unless(!heard.is_number(1))
            };
        }
        if !known.takes_work() || !self.has_room(node, known) {
            return self.unless(!heard.is_number(0));
        }
        self.changed(heard.is_number(1), |next| {
            let made = Job::on(Origin::Reserved, Some(node), Some(Hold::Reserved));
            next.jobs.insert(job, made);
        })
    }

    fn submit(
        &self,
        job: JobId,
        payload: Note,
        priority: u8,
        needs_label: bool,
        heard: Heard<'_>,
    ) -> Vec<Self> {
        let number = match self.jobs.get(&job).map(|known| known.origin) {
            Some(Origin::Submitted { number, .. }) => number,
            _ => self.submitted + 1,
        };
        let origin = Origin::Submitted {
            payload,
            priority,
            needs_label,
            number,
        };
        match self.jobs.get(&job) {
            Some(known) if known.origin == origin => self.unless(!heard.is_number(0)),
            Some(_) => self.refused(heard, "JOB_EXISTS"),
            None => self.changed(heard.is_number(1), |next| {
                next.submitted = number;
                next.jobs.insert(job, Job::on(origin, None, None));
            }),
        }
    }

    fn cancel(&self, id: JobId, heard: Heard<'_>) -> Vec<Self> {
        let Some(job) = self.jobs.get(&id) else {
            return self.refused(heard, "NO_SUCH_JOB");
        };
        match job.status {
            Some(Status::Cancelled) => self.unless(!heard.is_ok()),
            Some(_) => self.refused(heard, "WRONG_STATE"),
            None => self.changed(heard.is_ok(), |next| {
                let may_run = matches!(job.hold, Some(Hold::Dispatched | Hold::Running));
                next.end(id, Status::Cancelled);
                if may_run {
                    next.set_hold(id, Hold::Stopping);
                } else {
                    next.free(id);
                }
            }),
        }
    }

    /// Writes how a job ended.
    pub(super) fn end(&mut self, id: JobId, status: Status) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.status = Some(status);
        }
    }

    /// Changes what a job's slot says.
    pub(super) fn set_hold(&mut self, id: JobId, hold: Hold) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.hold = Some(hold);
        }
    }
}

impl Job {
    pub(super) fn on(origin: Origin, node: Option<NodeId>, hold: Option<Hold>) -> Self {
        Self {
            origin,
            node,
            hold,
            status: None,
            // The first try of a job that was submitted is still to come.
            attempts: u32::from(node.is_some()),
            back_from: None,
            result: None,
            progress: None,
        }
    }

    /// Whether it is in the queue.
    pub(super) fn waits(&self) -> bool {
        self.status.is_none() && self.node.is_none()
    }

    pub(super) fn payload(&self) -> String {
        match self.origin {
            Origin::Dispatched { payload, .. } | Origin::Submitted { payload, .. } => {
                payload.to_string()
            }
            Origin::Reserved => String::new(),
        }
    }

    pub(super) fn session(&self) -> String {
        match self.origin {
            Origin::Dispatched { session, .. } => session.to_string(),
            _ => String::new(),
        }
    }

    fn fields(&self) -> [(&'static str, String); 8] {
        let status = match (self.status, self.hold) {
            (Some(Status::Finished), _) => "finished",
            (Some(Status::Failed), _) => "failed",
            (Some(Status::Cancelled), _) => "cancelled",
            (Some(Status::Expired), _) => "expired",
            (None, None) => "pending",
            (None, Some(Hold::Running)) => "running",
            (None, Some(_)) => "dispatched",
        };
        let text = |note: Option<Note>| note.map(|note| note.to_string()).unwrap_or_default();
        let is_stopping = self.hold == Some(Hold::Stopping);
        [
            ("status", status.to_owned()),
            (
                "node_id",
                self.node.map(|node| node.to_string()).unwrap_or_default(),
            ),
            ("session_id", self.session()),
            ("payload_json", self.payload()),
            ("attempts", self.attempts.to_string()),
            ("result", text(self.result)),
            ("progress", text(self.progress)),
            ("stopping", u8::from(is_stopping).to_string()),
        ]
    }
}
