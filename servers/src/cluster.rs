//! A Redis Cluster on this machine, put together without redis-cli.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use redis::{Connection, cmd};

use crate::server::{Directory, Server};
use crate::source::find_startable;
use crate::{Error, Source, client, ports};

const SLOTS: usize = 16_384;
const FORM_TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);
const PORT_TRIES: usize = 3;
/// Short, so that tests of failures need not wait long.
const NODE_TIMEOUT_MS: &str = "2000";

/// A cluster whose nodes all stop when it is dropped.
pub struct Cluster {
    nodes: Vec<ClusterNode>,
}

/// One node of a cluster.
pub struct ClusterNode {
    server: Server,
    bus_port: u16,
    id: String,
    slots: Option<RangeInclusive<u16>>,
    primary_id: Option<String>,
}

impl ClusterNode {
    /// Its id in the cluster.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its port on this machine.
    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// Its process id; a container has none here.
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port())
    }

    /// The slots it was given at the start; a replica has none.
    pub fn slots(&self) -> Option<RangeInclusive<u16>> {
        self.slots.clone()
    }

    /// The id of the primary it was made a replica of; a primary has none.
    pub fn primary_id(&self) -> Option<&str> {
        self.primary_id.as_deref()
    }

    /// Whether it began as a primary.
    pub fn is_primary(&self) -> bool {
        self.primary_id.is_none()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        self.server.ended()
    }

    /// The end of its log.
    pub fn log_tail(&self) -> String {
        self.server.log_tail()
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Halts it: it keeps its connections and answers nobody until [`Self::thaw`].
    pub fn freeze(&self) {
        self.server.freeze(true);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.server.freeze(false);
    }

    fn connect(&self) -> Result<Connection, Error> {
        client::connect_local(self.port())
    }
}

impl Cluster {
    /// A cluster of this many primaries, with the slots shared out evenly and no replicas.
    pub fn start(primaries: usize) -> Result<Self, Error> {
        Self::builder(primaries).start()
    }

    /// A cluster with settings of its own.
    pub fn builder(primaries: usize) -> ClusterBuilder {
        ClusterBuilder {
            primaries,
            replicas_per_primary: 0,
            arguments: Vec::new(),
            program: None,
        }
    }

    /// The addresses of the nodes that began as primaries.
    pub fn urls(&self) -> Vec<String> {
        self.primaries().map(ClusterNode::url).collect()
    }

    /// All nodes: the primaries first, then their replicas.
    pub fn nodes(&self) -> &[ClusterNode] {
        &self.nodes
    }

    /// One node, by its place in [`Self::nodes`].
    pub fn node_mut(&mut self, at: usize) -> Option<&mut ClusterNode> {
        self.nodes.get_mut(at)
    }

    /// All nodes, to be asked or ended.
    pub fn nodes_mut(&mut self) -> &mut [ClusterNode] {
        &mut self.nodes
    }

    /// The nodes that began as primaries.
    pub fn primaries(&self) -> impl Iterator<Item = &ClusterNode> {
        self.nodes.iter().filter(|node| node.is_primary())
    }

    /// Stops all nodes, as dropping does.
    pub fn stop(self) {
        drop(self);
    }

    fn wait_for(
        &self,
        what: &str,
        is_there: impl Fn(&ClusterNode) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let begin = Instant::now();
        for node in &self.nodes {
            while !is_there(node)? {
                if begin.elapsed() > FORM_TIMEOUT {
                    let reason = what.to_owned();
                    let log = node.server.log_tail();
                    return Err(Error::NotReady {
                        port: node.port(),
                        waited: FORM_TIMEOUT,
                        reason,
                        log,
                    });
                }
                sleep(POLL);
            }
        }
        Ok(())
    }
}

/// Settings of a cluster that is yet to start.
#[derive(Debug, Clone)]
pub struct ClusterBuilder {
    primaries: usize,
    replicas_per_primary: usize,
    arguments: Vec<String>,
    program: Option<PathBuf>,
}

impl ClusterBuilder {
    /// How many replicas every primary gets.
    pub fn replicas_per_primary(mut self, replicas: usize) -> Self {
        self.replicas_per_primary = replicas;
        self
    }

    /// More arguments for every node.
    pub fn args<T: Into<String>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// This program instead of the one that is found.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Starts the nodes, joins them, and waits until every node calls the cluster complete.
    pub fn start(self) -> Result<Cluster, Error> {
        if self.primaries == 0 || self.primaries > SLOTS {
            return Err(Error::Invalid(
                "A cluster needs between 1 and 16,384 primaries.",
            ));
        }
        let source = match &self.program {
            Some(program) => Source::Program(program.clone()),
            None => find_startable()?,
        };
        let mut tries_left = PORT_TRIES;
        let mut cluster = loop {
            tries_left -= 1;
            match self.start_nodes(&source) {
                Err(error) if error.is_port_taken() && tries_left > 0 => {}
                other => break other?,
            }
        };
        self.join(&mut cluster)?;
        Ok(cluster)
    }

    fn start_nodes(&self, source: &Source) -> Result<Cluster, Error> {
        let count = self.primaries * (1 + self.replicas_per_primary);
        let ports = ports::free_ports(2 * count)?;
        let mut nodes = Vec::with_capacity(count);
        for pair in ports.chunks_exact(2) {
            let (port, bus_port) = (pair[0], pair[1]);
            let mut arguments: Vec<String> = [
                ["--cluster-enabled", "yes"],
                ["--cluster-port", &bus_port.to_string()],
                ["--cluster-node-timeout", NODE_TIMEOUT_MS],
            ]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect();
            arguments.extend_from_slice(&self.arguments);
            let server = Server::start(source, Directory::private()?, port, &arguments)?;
            nodes.push(ClusterNode {
                server,
                bus_port,
                id: String::new(),
                slots: None,
                primary_id: None,
            });
        }
        for node in &mut nodes {
            let url = node.url();
            node.server.wait_until_ready(&url, None)?;
        }
        Ok(Cluster { nodes })
    }

    fn join(&self, cluster: &mut Cluster) -> Result<(), Error> {
        let first = (cluster.nodes[0].port(), cluster.nodes[0].bus_port);
        for (index, node) in cluster.nodes.iter_mut().enumerate() {
            let port = node.port();
            let mut connection = node.connect()?;
            node.id = client::ask(
                &mut connection,
                port,
                "CLUSTER MYID",
                cmd("CLUSTER").arg("MYID"),
            )?;
            // Distinct epochs from the start spare the nodes a round of settling who is right.
            let set_epoch = &mut cmd("CLUSTER");
            set_epoch.arg("SET-CONFIG-EPOCH").arg(index + 1);
            client::ask::<()>(&mut connection, port, "CLUSTER SET-CONFIG-EPOCH", set_epoch)?;
            if index < self.primaries {
                let slots = share_of_slots(index, self.primaries);
                let add = &mut cmd("CLUSTER");
                add.arg("ADDSLOTSRANGE")
                    .arg(*slots.start())
                    .arg(*slots.end());
                client::ask::<()>(&mut connection, port, "CLUSTER ADDSLOTSRANGE", add)?;
                node.slots = Some(slots);
            }
            if index > 0 {
                let meet = &mut cmd("CLUSTER");
                meet.arg("MEET").arg("127.0.0.1").arg(first.0).arg(first.1);
                client::ask::<()>(&mut connection, port, "CLUSTER MEET", meet)?;
            }
        }
        let known = cluster.nodes.len().to_string();
        cluster.wait_for("its cluster is not complete", |node| {
            let mut connection = node.connect()?;
            let info: String = client::ask(
                &mut connection,
                node.port(),
                "CLUSTER INFO",
                cmd("CLUSTER").arg("INFO"),
            )?;
            let has = |field: &str, value: &str| {
                info.lines().any(|line| {
                    line.strip_prefix(field).and_then(|l| l.strip_prefix(':')) == Some(value)
                })
            };
            Ok(has("cluster_state", "ok") && has("cluster_known_nodes", &known))
        })?;
        self.attach_replicas(cluster)
    }

    fn attach_replicas(&self, cluster: &mut Cluster) -> Result<(), Error> {
        let (primaries, replicas) = cluster.nodes.split_at_mut(self.primaries);
        for (index, replica) in replicas.iter_mut().enumerate() {
            let primary_id = primaries[index % self.primaries].id.clone();
            let mut connection = replica.connect()?;
            let replicate = &mut cmd("CLUSTER");
            replicate.arg("REPLICATE").arg(&primary_id);
            client::ask::<()>(
                &mut connection,
                replica.port(),
                "CLUSTER REPLICATE",
                replicate,
            )?;
            replica.primary_id = Some(primary_id);
        }
        cluster.wait_for("its link to the primary is not up", |node| {
            if node.is_primary() {
                return Ok(true);
            }
            let link = client::info_field(&mut node.connect()?, node.port(), "master_link_status")?;
            Ok(link.as_deref() == Some("up"))
        })?;
        // Who replicates whom travels by gossip; a test that asks any node should be told the same.
        let expected = self.primaries * self.replicas_per_primary;
        cluster.wait_for("it does not know all replicas yet", |node| {
            let nodes: String = client::ask(
                &mut node.connect()?,
                node.port(),
                "CLUSTER NODES",
                cmd("CLUSTER").arg("NODES"),
            )?;
            let flags = nodes.lines().filter_map(|line| line.split(' ').nth(2));
            let replicas = flags.filter(|flags| flags.split(',').any(|flag| flag == "slave"));
            Ok(replicas.count() == expected)
        })
    }
}

fn share_of_slots(index: usize, primaries: usize) -> RangeInclusive<u16> {
    let bound = |index: usize| u16::try_from(index * SLOTS / primaries).unwrap_or(u16::MAX);
    bound(index)..=bound(index + 1) - 1
}

#[cfg(test)]
mod tests {
    use super::share_of_slots;

    #[test]
    fn the_shares_cover_every_slot_once() {
        for primaries in [1, 2, 3, 7, 16_384] {
            let slots: Vec<u16> = (0..primaries)
                .flat_map(|index| share_of_slots(index, primaries))
                .collect();
            assert!(slots.iter().copied().eq(0..16_384), "{primaries} primaries");
        }
    }
}
