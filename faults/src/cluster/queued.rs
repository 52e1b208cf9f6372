//! Calls that wait in the sockets of a server that is halted, in a cell of their own.

use std::sync::Arc;
use std::time::Duration;

use redis::Connection;

use super::http_load::{NODE, new_cell};
use super::route::{mark, replies, wait};
use super::servers::Cluster;
use crate::Error;
use crate::outcome::{Rule, Tally, Violation};
use crate::rules::cell::{is_empty, unsound};
use crate::wire::{Answer, Said, Wire, fcall};

/// How long answers may take once the server goes on.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Connections to one server, each with one call.
pub(super) struct Queue {
    cell: Arc<str>,
    is_durable: bool,
    calls: Vec<(String, Connection)>,
}

impl Queue {
    /// Connects; nothing is sent yet.
    pub(super) fn new(
        cluster: &Arc<Cluster>,
        primary: usize,
        name: &str,
        is_durable: bool,
        count: usize,
    ) -> Result<Self, Error> {
        let cell = new_cell(cluster, primary, name)?;
        let mut calls = Vec::new();
        for number in 0..count {
            let connection = cluster.nodes()[primary].connect(ANSWER_WITHIN);
            let connection = connection.map_err(|source| Error::Command {
                command: "a connection".to_owned(),
                source,
            })?;
            calls.push((format!("{name}-{number}"), connection));
        }
        Ok(Self {
            cell,
            is_durable,
            calls,
        })
    }

    /// Sends a dispatch over each, and asks for a replica's word if that is wanted, without waiting for an answer.
    pub(super) fn send(&mut self) {
        for (job, connection) in &mut self.calls {
            let args = ["s", "-", "-", "p", "JOB", job.as_str()].map(str::to_owned);
            let mut bytes = fcall(&self.cell, "dispatch", &args).get_packed_command();
            if self.is_durable {
                bytes.extend(mark(&self.cell).get_packed_command());
                bytes.extend(wait().get_packed_command());
            }
            // One that can't be sent is never answered.
            let _ = connection.send_packed_command(&bytes);
        }
    }

    /// Reads the answers, and keeps the jobs that were acknowledged.
    pub(super) fn acknowledged(self) -> Acknowledged {
        let count = if self.is_durable { 3 } else { 1 };
        let mut told = Acknowledged::none_of(&self.cell);
        for (job, mut connection) in self.calls {
            let said = replies(&mut connection, count);
            let is_sure = match said.as_slice() {
                [
                    Said::Reply(_),
                    Said::Reply(_),
                    Said::Reply(Answer::Int(1..)),
                ] => true,
                [Said::Reply(_)] => !self.is_durable,
                _ => false,
            };
            // It was made, or refused, if the first word came.
            let has_reply = matches!(said.first(), Some(Said::Reply(_) | Said::Refused(_)));
            told.unanswered += u64::from(!has_reply);
            if is_sure {
                told.jobs.push(job.clone());
            }
            told.asked.push(job);
        }
        told
    }
}

/// Jobs that someone was told are placed.
pub(super) struct Acknowledged {
    cell: Arc<str>,
    /// Those that were asked for.
    pub(super) asked: Vec<String>,
    /// Those of them that were acknowledged.
    pub(super) jobs: Vec<String>,
    /// How many requests got no reply: neither an acknowledgement nor a refusal.
    pub(super) unanswered: u64,
}

impl Acknowledged {
    /// Nothing was asked for in this cell yet.
    pub(super) fn none_of(cell: &Arc<str>) -> Self {
        Self {
            cell: Arc::clone(cell),
            asked: Vec::new(),
            jobs: Vec::new(),
            unanswered: 0,
        }
    }

    /// What was asked for, and what is wrong: jobs that are gone, slots that are not free once all jobs have ended, and what the audit names.
    pub(super) fn judged(&self, wire: &mut dyn Wire) -> Result<Tally, Error> {
        let mut violations = self.gone(wire)?;
        violations.extend(unsound(wire, &self.cell)?);
        for job in &self.asked {
            // Those that were never placed are refused.
            let args = [job, NODE, "finished"].map(str::to_owned);
            wire.call(&self.cell, "complete", &args);
        }
        if let Err(left) = is_empty(wire, &self.cell) {
            let sentence = format!("all jobs have ended, and there is {left}");
            violations.push(Violation::new(Rule::FreedOnce, sentence));
        }
        violations.extend(unsound(wire, &self.cell)?);
        Ok(Tally {
            operations: self.asked.len() as u64,
            maybes: self.unanswered,
            violations,
        })
    }

    /// Those that are not there any more.
    fn gone(&self, wire: &mut dyn Wire) -> Result<Vec<Violation>, Error> {
        let mut gone = Vec::new();
        for job in &self.jobs {
            match wire.call(&self.cell, "job", std::slice::from_ref(job)) {
                Said::Reply(_) => {}
                said if said.code() == Some("NO_SUCH_JOB") => gone.push(Violation::new(
                    Rule::JobKept,
                    format!("job {job} of {} was acknowledged and is gone", self.cell),
                )),
                said => {
                    return Err(Error::Call {
                        call: format!("job {job}"),
                        said: format!("{said:?}"),
                    });
                }
            }
        }
        Ok(gone)
    }
}
