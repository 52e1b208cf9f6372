//! A Cluster whose servers can be killed, started again, halted and cut off: three primaries, a replica for each.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use lockless_servers::{Source, find_server};
use lockless_topology::slot_of_key;

use super::network::Network;
use super::node::Node;
use crate::Error;
use crate::run::Run;

/// So many primaries; each has one replica, whose place is so many after its own.
pub(super) const PRIMARIES: usize = 3;
/// Servers in all.
pub(super) const SERVERS: usize = 2 * PRIMARIES;
/// After so long without a word a server is thought to be gone. More than a server may wait for its turn on a busy machine: a
/// replica that takes over unasked loses what the rules take for kept.
pub(super) const NODE_TIMEOUT: Duration = Duration::from_secs(2);
const WHOLE_WITHIN: Duration = Duration::from_secs(60);
const SLOTS: usize = 16_384;
/// A port is free in a namespace that nobody else is in.
const PORT: u16 = 7000;
const BUS_PORT: u16 = 17_000;

/// Three primaries with a replica each.
pub(super) struct Cluster {
    nodes: Vec<Node>,
    network: Option<Network>,
}

impl Cluster {
    /// A Cluster on this machine's loopback, with the library on all primaries.
    pub(super) fn on_loopback(run: &Run) -> Result<Self, Error> {
        let program = program()?;
        let ports = free_ports(2 * SERVERS)?;
        let mut nodes = Vec::new();
        for (at, pair) in ports.chunks_exact(2).enumerate() {
            let directory = run.directory().join(format!("server-{at}"));
            let ip = Ipv4Addr::LOCALHOST;
            nodes.push(Node::new(&program, directory, ip, pair[0], pair[1])?);
        }
        Self::form(run, nodes, None)
    }

    /// A Cluster whose servers are the first members of a network of their own, which has so many more.
    pub(super) fn in_a_network(run: &Run, more: u8) -> Result<Self, Error> {
        let program = program()?;
        let servers = SERVERS as u8;
        let network = Network::new(run, servers + more)?;
        let nodes = (0..servers).map(|at| {
            let directory = run.directory().join(format!("server-{at}"));
            Node::new(&program, directory, Network::address(at), PORT, BUS_PORT)
        });
        Self::form(run, nodes.collect::<Result<_, Error>>()?, Some(network))
    }

    fn form(run: &Run, nodes: Vec<Node>, network: Option<Network>) -> Result<Self, Error> {
        let mut cluster = Self { nodes, network };
        for at in 0..SERVERS {
            cluster.start_node(run, at)?;
        }
        let (first_ip, first_port, first_bus) = {
            let first = &cluster.nodes[0];
            (
                first.ip.to_string(),
                first.port.to_string(),
                first.bus_port().to_string(),
            )
        };
        for (at, node) in cluster.nodes.iter_mut().enumerate() {
            node.id = node.say(&["CLUSTER", "MYID"])?;
            node.say::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()])?;
            if at < PRIMARIES {
                let bound = |at: usize| at * SLOTS / PRIMARIES;
                let (first, last) = (bound(at).to_string(), (bound(at + 1) - 1).to_string());
                node.say::<()>(&["CLUSTER", "ADDSLOTSRANGE", &first, &last])?;
                node.say::<()>(&["FUNCTION", "LOAD", "REPLACE", lockless_functions::LIBRARY])?;
            }
            if at > 0 {
                node.say::<()>(&["CLUSTER", "MEET", &first_ip, &first_port, &first_bus])?;
            }
        }
        cluster.wait_for(run, "that the servers know each other", || {
            cluster.nodes.iter().all(|node| {
                let known: Result<String, Error> = node.say(&["CLUSTER", "NODES"]);
                known.is_ok_and(|known| {
                    known.matches(" connected").count() == SERVERS && !known.contains("handshake")
                })
            })
        })?;
        for (at, replica) in cluster.nodes.iter().enumerate().skip(PRIMARIES) {
            replica.say::<()>(&["CLUSTER", "REPLICATE", &cluster.nodes[at - PRIMARIES].id])?;
        }
        cluster.wait_until_whole(run)?;
        Ok(cluster)
    }

    /// Starts a server, or starts it again.
    pub(super) fn start_node(&self, run: &Run, at: usize) -> Result<(), Error> {
        let timeout_ms = NODE_TIMEOUT.as_millis().to_string();
        let settings = [
            "--cluster-node-timeout",
            &timeout_ms,
            "--cluster-announce-ip",
            &self.nodes[at].ip.to_string(),
            "--repl-ping-replica-period",
            "1",
            "--appendonly",
            "yes",
            "--appendfsync",
            "everysec",
        ];
        let namespace = self
            .network
            .as_ref()
            .map(|network| network.member(at as u8));
        self.nodes[at].start(run, namespace, &settings)
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The network they are in, unless that is the machine's loopback.
    pub(super) fn network(&self) -> Result<&Network, Error> {
        self.network.as_ref().ok_or_else(|| {
            Error::CannotRunHere("this Cluster has no network of its own".to_owned())
        })
    }

    /// The places of those that are primaries and have slots, as they see it themselves.
    pub(super) fn primaries(&self) -> Vec<usize> {
        (0..SERVERS).filter(|at| self.is_primary(*at)).collect()
    }

    fn is_primary(&self, at: usize) -> bool {
        let view = self.nodes[at].view();
        view.is_ok_and(|view| view.is_primary && !view.slots.is_empty())
    }

    /// The place of the primary that has a slot: of those that claim it, the one with the latest epoch.
    pub(super) fn owner_of(&self, slot: u16) -> Option<usize> {
        let views = (0..SERVERS).filter_map(|at| Some((at, self.nodes[at].view().ok()?)));
        views
            .filter(|(_, view)| view.is_primary && view.has_slot(slot))
            .max_by_key(|(_, view)| view.epoch)
            .map(|(at, _)| at)
    }

    /// The place of the primary that has a cell.
    pub(super) fn primary_of(&self, cell: &str) -> Option<usize> {
        self.owner_of(slot_of_key(cell))
    }

    /// The place of the replica of a primary.
    pub(super) fn replica_of(&self, primary: usize) -> Result<usize, Error> {
        let id = &self.nodes[primary].id;
        let is_it = |node: &Node| {
            let view = node.view();
            view.is_ok_and(|view| !view.is_primary && view.primary_id == *id)
        };
        self.nodes
            .iter()
            .position(is_it)
            .ok_or_else(|| Error::Call {
                call: format!("the replica of {}", self.nodes[primary]),
                said: "there is none".to_owned(),
            })
    }

    /// When replicas have taken their primaries' places so far, asked to or not, in their order.
    pub(super) fn promotions(&self) -> Vec<SystemTime> {
        let mut promotions: Vec<_> = self.nodes.iter().flat_map(Node::promotions).collect();
        promotions.sort_unstable();
        promotions
    }

    /// Whether replicas take over when they hear nothing of their primary. A server that is started again may.
    pub(super) fn may_fail_over(&self, run: &Run, may: bool) -> Result<(), Error> {
        let value = if may { "no" } else { "yes" };
        let words = ["CONFIG", "SET", "cluster-replica-no-failover", value];
        let is_told = |node: &Node| node.say::<()>(&words).is_ok();
        let what = "that all know whether they may take over";
        self.wait_for(run, what, || self.nodes.iter().all(is_told))?;
        Ok(())
    }

    /// Waits until a replica has taken its primary's place.
    pub(super) fn wait_until_primary(&self, run: &Run, replica: usize) -> Result<Duration, Error> {
        self.wait_for_primary(run, replica, WHOLE_WITHIN)
    }

    /// The same for so long.
    pub(super) fn wait_for_primary(
        &self,
        run: &Run,
        replica: usize,
        patience: Duration,
    ) -> Result<Duration, Error> {
        self.wait_within(run, "the replica's promotion", patience, || {
            self.is_primary(replica)
        })
    }

    /// Waits until every slot has one primary, each primary a replica that is up to date, and all agree.
    pub(super) fn wait_until_whole(&self, run: &Run) -> Result<Duration, Error> {
        self.wait_for(run, "a whole Cluster", || self.is_whole())
    }

    fn is_whole(&self) -> bool {
        let says = |node: &Node, words: &[&str], text: &str| {
            let said: Result<String, Error> = node.say(words);
            said.is_ok_and(|said| said.contains(text))
        };
        let is_ok = |node: &Node| says(node, &["CLUSTER", "INFO"], "cluster_state:ok");
        if !self.nodes.iter().all(is_ok) {
            return false;
        }
        let views = self.nodes.iter().map(Node::view);
        let Ok(views) = views.collect::<Result<Vec<_>, Error>>() else {
            return false;
        };
        let primaries: Vec<_> = (0..SERVERS).filter(|at| views[*at].is_primary).collect();
        let slots = primaries.iter().flat_map(|at| &views[*at].slots);
        let covered: usize = slots
            .map(|(first, last)| usize::from(last - first) + 1)
            .sum();
        let has_replica = |primary: &usize| {
            let id = &self.nodes[*primary].id;
            let is_its = |at: &usize| !views[*at].is_primary && views[*at].primary_id == *id;
            let mut replicas = (0..SERVERS).filter(is_its);
            replicas.any(|at| {
                says(
                    &self.nodes[at],
                    &["INFO", "replication"],
                    "master_link_status:up",
                )
            })
        };
        primaries.len() == PRIMARIES && covered == SLOTS && primaries.iter().all(has_replica)
    }

    /// Waits for a condition, and says how long that took.
    pub(super) fn wait_for(
        &self,
        run: &Run,
        what: &str,
        is_so: impl Fn() -> bool,
    ) -> Result<Duration, Error> {
        self.wait_within(run, what, WHOLE_WITHIN, is_so)
    }

    fn wait_within(
        &self,
        run: &Run,
        what: &str,
        patience: Duration,
        is_so: impl Fn() -> bool,
    ) -> Result<Duration, Error> {
        run.wait_for(what, patience, || {
            if is_so() {
                return Ok(());
            }
            let views = self
                .nodes
                .iter()
                .map(|node| format!("\n{node}: {:?}", node.view()));
            Err(views.collect())
        })
    }
}

fn program() -> Result<PathBuf, Error> {
    match find_server()? {
        Source::Program(program) => Ok(program),
        _ => Err(Error::CannotRunHere(
            "it needs the program redis-server on the PATH: install redis-server 7.0 or later"
                .to_owned(),
        )),
    }
}

fn free_ports(count: usize) -> Result<Vec<u16>, Error> {
    // All are held until all are known, so that no two are the same.
    let listeners = (0..count).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let ports = listeners.collect::<Result<Vec<_>, _>>().and_then(|held| {
        held.iter()
            .map(|one| Ok(one.local_addr()?.port()))
            .collect()
    });
    ports.map_err(|error: std::io::Error| Error::CannotRunHere(format!("no free port: {error}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tempfile::TempDir;

    use super::*;
    use crate::cluster::route::ToCluster;
    use crate::wire::Wire;

    fn a_run() -> (Run, TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(120);
        let path = directory.path().to_owned();
        (Run::new("test", 1, true, false, limit, path), directory)
    }

    fn is_kept(wire: &mut impl Wire, root: &str, line: &str) -> bool {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let said = wire.call(root, &words[0], &words[1..]);
        said.reply().is_some() && wire.confirm(root)
    }

    fn survives_a_kill(run: &Run, cluster: Cluster) {
        let cluster = Arc::new(cluster);
        let root = "scheduler:{main}";
        let mut wire = ToCluster::new(&cluster, Duration::ZERO).wire();
        assert!(is_kept(&mut wire, root, "register n1 4"));
        let killed = cluster.primary_of(root).unwrap();
        let replica = cluster.replica_of(killed).unwrap();
        let before = SystemTime::now();
        cluster.nodes()[killed].kill(run);
        cluster.wait_until_primary(run, replica).unwrap();
        cluster.start_node(run, killed).unwrap();
        cluster.wait_until_whole(run).unwrap();
        assert_eq!(cluster.replica_of(replica).unwrap(), killed);
        let promotions = cluster.promotions();
        let meanwhile = before..SystemTime::now();
        assert!(promotions.iter().any(|at| meanwhile.contains(at)));
        // The first try finds its connection broken.
        let is_dispatched = |_| is_kept(&mut wire, root, "dispatch s - - p JOB j1");
        assert!((0..2).any(is_dispatched));
    }

    #[test]
    fn a_killed_primary_comes_back_as_a_replica() {
        let (run, _directory) = a_run();
        survives_a_kill(&run, Cluster::on_loopback(&run).unwrap());
    }

    #[test]
    fn so_it_does_in_a_network_of_its_own() {
        let (run, _directory) = a_run();
        match Cluster::in_a_network(&run, 1) {
            Ok(cluster) => survives_a_kill(&run, cluster),
            Err(Error::CannotRunHere(why)) => eprintln!("not tested here: {why}"),
            Err(error) => panic!("{error}"),
        }
    }
}
