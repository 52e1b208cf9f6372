//! Calls that wait in the sockets of a server that is halted, in a cell of their own.

use std::sync::Arc;
use std::time::Duration;

use redis::Connection;

use super::route::{ToCluster, mark, replies, wait};
use super::servers::Cluster;
use super::trial::cell_of;
use crate::Error;
use crate::outcome::{Rule, Violation};
use crate::rules::cell::ask;
use crate::wire::{Answer, Route, Said, Wire, fcall};

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
        let cell = cell_of(cluster, primary, name)?;
        let mut wire = ToCluster::new(cluster, Duration::ZERO).open();
        ask(wire.as_mut(), &cell, "register", "n1 100000")?;
        wire.confirm(&cell);
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
        let asked = self.calls.len();
        let mut jobs = Vec::new();
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
            if is_sure {
                jobs.push(job);
            }
        }
        Acknowledged {
            cell: self.cell,
            asked,
            jobs,
        }
    }
}

/// Jobs that someone was told are placed.
pub(super) struct Acknowledged {
    cell: Arc<str>,
    /// How many were asked for.
    pub(super) asked: usize,
    /// Those that were acknowledged.
    pub(super) jobs: Vec<String>,
}

impl Acknowledged {
    /// Of so many that were asked for, these.
    pub(super) fn new(cell: &Arc<str>, asked: usize, jobs: Vec<String>) -> Self {
        Self {
            cell: Arc::clone(cell),
            asked,
            jobs,
        }
    }

    /// Those that are not there any more.
    pub(super) fn gone(&self, wire: &mut dyn Wire) -> Result<Vec<Violation>, Error> {
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
