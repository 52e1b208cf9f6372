//! The way to a cell of a Cluster: it is found wherever it is, as any client of a Cluster does, and a replica's word is asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use lockless_topology::slot_of_key;
use redis::{Cmd, Connection, ConnectionLike};

use super::servers::Cluster;
use crate::wire::{Route, Said, Wire, fcall};

/// How long a reply may take before nobody knows whether the call was made.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How long a replica has to confirm.
const WAIT_MS: u64 = 1000;
/// How often one call is sent on.
const REDIRECTS: usize = 6;

/// The way to all cells of a Cluster, past every cut of the network.
pub(super) struct ToCluster {
    cluster: Arc<Cluster>,
    seen: Arc<Seen>,
    pace: Duration,
}

/// How often each redirect and each refusal was seen, by code.
#[derive(Default)]
pub(super) struct Seen(Mutex<BTreeMap<String, u64>>);

impl Seen {
    fn note(&self, code: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(code.to_owned()).or_default() += 1;
    }

    /// What was seen so far.
    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl ToCluster {
    /// Each call waits for `pace` first.
    pub(super) fn new(cluster: &Arc<Cluster>, pace: Duration) -> Self {
        Self {
            cluster: Arc::clone(cluster),
            seen: Arc::default(),
            pace,
        }
    }

    /// What its wires have seen.
    pub(super) fn seen(&self) -> Arc<Seen> {
        Arc::clone(&self.seen)
    }

    pub(super) fn wire(&self) -> ClusterWire {
        ClusterWire {
            cluster: Arc::clone(&self.cluster),
            seen: Arc::clone(&self.seen),
            pace: self.pace,
            connections: HashMap::new(),
            known: HashMap::new(),
            last: None,
        }
    }
}

impl Route for ToCluster {
    fn open(&self) -> Box<dyn Wire> {
        Box::new(self.wire())
    }
}

/// One caller's way, with connections of its own.
pub(super) struct ClusterWire {
    cluster: Arc<Cluster>,
    seen: Arc<Seen>,
    pace: Duration,
    connections: HashMap<usize, Connection>,
    /// Where each slot was last seen.
    known: HashMap<u16, usize>,
    /// Who made the last call; none if it was asked elsewhere for once.
    last: Option<usize>,
}

impl Wire for ClusterWire {
    fn call(&mut self, root: &str, function: &str, args: &[String]) -> Said {
        sleep(self.pace);
        let slot = slot_of_key(root);
        let mut at = match self.known.get(&slot) {
            Some(at) => *at,
            None => {
                let at = self.cluster.owner_of(slot).unwrap_or_default();
                self.known.insert(slot, at);
                at
            }
        };
        let mut is_asking = false;
        for _ in 0..REDIRECTS {
            let said = self.send(at, root, function, args, is_asking);
            self.last = (!is_asking).then_some(at);
            match said.code() {
                Some(code @ ("MOVED" | "ASK")) => {
                    let Said::Refused(line) = &said else {
                        return said;
                    };
                    let Some(named) = self.named(line) else {
                        return said;
                    };
                    at = named;
                    is_asking = code == "ASK";
                    if !is_asking {
                        self.known.insert(slot, at);
                    }
                }
                Some("READONLY" | "CLUSTERDOWN") => {
                    self.known.remove(&slot);
                    return said;
                }
                Some(_) => return said,
                None => {
                    if !matches!(said, Said::Reply(_)) {
                        self.known.remove(&slot);
                    }
                    return said;
                }
            }
        }
        Said::Unsent("the cell was not found: every server names another one".to_owned())
    }

    fn confirm(&mut self, root: &str) -> bool {
        let Some(at) = self.last else {
            return false;
        };
        let Some(connection) = self.connections.get_mut(&at) else {
            return false;
        };
        let is_confirmed = confirm(connection, root);
        if is_confirmed.is_none() {
            // What is left on it would be taken for the reply to another call.
            self.connections.remove(&at);
        }
        is_confirmed.unwrap_or_default()
    }
}

impl ClusterWire {
    /// Who is meant by `MOVED slot host:port`.
    fn named(&self, line: &str) -> Option<usize> {
        let address = line.split(' ').nth(2)?;
        let mut nodes = self.cluster.nodes().iter();
        nodes.position(|node| node.address() == address)
    }

    fn send(
        &mut self,
        at: usize,
        root: &str,
        function: &str,
        args: &[String],
        is_asking: bool,
    ) -> Said {
        if !self.connections.contains_key(&at) {
            match self.cluster.nodes()[at].connect(PATIENCE) {
                Ok(connection) => self.connections.insert(at, connection),
                Err(error) => return Said::Unsent(error.to_string()),
            };
        }
        let Some(connection) = self.connections.get_mut(&at) else {
            return Said::Unsent("there is no connection".to_owned());
        };
        if is_asking && let Err(error) = connection.req_command(&redis::cmd("ASKING")) {
            self.connections.remove(&at);
            return Said::Unsent(error.to_string());
        }
        let said = Said::from_redis(connection.req_command(&fcall(root, function, args)));
        if let Some(code) = said.code() {
            self.seen.note(code);
        }
        if matches!(said, Said::Maybe(_)) {
            self.connections.remove(&at);
        }
        said
    }
}

/// Whether a replica has what was written over this connection; none when the connection is of no more use.
fn confirm(connection: &mut Connection, root: &str) -> Option<bool> {
    for (command, is_wait) in [(mark(root), false), (wait(), true)] {
        match Said::from_redis(connection.req_command(&command)) {
            Said::Reply(reply) if is_wait => {
                return Some(reply.int().is_some_and(|count| count >= 1));
            }
            Said::Reply(_) => {}
            Said::Refused(_) => return Some(false),
            Said::Maybe(_) | Said::Unsent(_) => return None,
        }
    }
    Some(false)
}

/// A write. A call that is repeated writes nothing, and from Redis 7.2 on `WAIT` is about what its connection wrote last: so something is
/// written in any case.
pub(super) fn mark(root: &str) -> Cmd {
    let mut mark = redis::cmd("HSET");
    mark.arg(format!("{root}:durable")).arg("").arg("");
    mark
}

/// Asks for a replica's word on what this connection wrote.
pub(super) fn wait() -> Cmd {
    let mut wait = redis::cmd("WAIT");
    wait.arg(1).arg(WAIT_MS);
    wait
}

/// The replies to commands that were sent before; fewer when the connection ends.
pub(super) fn replies(connection: &mut Connection, count: usize) -> Vec<Said> {
    let mut replies = Vec::new();
    for _ in 0..count {
        let said = Said::from_redis(connection.recv_response());
        let is_over = matches!(said, Said::Maybe(_));
        replies.push(said);
        if is_over {
            break;
        }
    }
    replies
}
