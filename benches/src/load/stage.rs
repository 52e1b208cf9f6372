//! Where callers come to: cells on a server, or on a Cluster.

use std::sync::Arc;

use lockless_functions::LIBRARY;
use lockless_servers::Cluster;
use redis::ConnectionLike;
use redis::cluster::ClusterClient;
use tokio::runtime::Runtime;

use super::{Door, Fleet, Ran, Until, Work, run};
use crate::cell::ROOT;
use crate::link::Link;
use crate::{Error, failed};

/// So many jobs before a run that is counted, on average.
const WARM_UP_JOBS_PER_CALLER: usize = 4;

/// Cells whose nodes are registered anew before each run, and audited after it.
pub struct Stage {
    connection: Box<dyn ConnectionLike>,
    fleets: Vec<Arc<Fleet>>,
}

impl Stage {
    /// One cell of so many nodes on the server of this port, which has the library.
    pub fn on_server(port: u16, nodes: usize, slots_per_node: u32) -> Result<Self, Error> {
        let connection = redis::Client::open(format!("redis://127.0.0.1:{port}"))
            .and_then(|client| client.get_connection())
            .map_err(failed("a connection"))?;
        Ok(Stage {
            connection: Box::new(connection),
            fleets: vec![Arc::new(Fleet::new(ROOT, nodes, slots_per_node))],
        })
    }

    /// So many cells on a Cluster, which is given the library. The nodes are shared out among them.
    pub fn on_cluster(
        cluster: &Cluster,
        cells: usize,
        nodes: usize,
        slots_per_node: u32,
    ) -> Result<Self, Error> {
        let connection = ClusterClient::new(cluster.urls())
            .and_then(|client| client.get_connection())
            .map_err(failed("a connection to the Cluster"))?;
        let fleet = |number| {
            let root = format!("scheduler:{{cell-{number}}}");
            Arc::new(Fleet::new(&root, nodes / cells, slots_per_node))
        };
        let mut stage = Stage {
            connection: Box::new(connection),
            fleets: (0..cells).map(fleet).collect(),
        };
        let mut load = redis::cmd("FUNCTION");
        stage.send(load.arg("LOAD").arg(LIBRARY))?;
        Ok(stage)
    }

    /// The cells' root keys.
    pub fn roots(&self) -> Vec<&str> {
        self.fleets.iter().map(|fleet| fleet.root()).collect()
    }

    /// One run on cells that were empty before it. What the library says of itself and what the callers hold must agree after it.
    pub fn run(
        &mut self,
        runtime: &Runtime,
        door: &Door,
        callers: usize,
        work: Work,
        until: Until,
    ) -> Result<Ran, Error> {
        self.prepare()?;
        let ran = runtime.block_on(run(door, &self.fleets, callers, work, until))?;
        self.check()?;
        Ok(ran)
    }

    /// The same, and what it cost the server. The callers are warm, as the workers of a peer are: each session has its pool.
    pub fn run_counted(
        &mut self,
        runtime: &Runtime,
        door: &Door,
        callers: usize,
        work: Work,
        until: Until,
        link: &mut Link,
    ) -> Result<(Ran, Spent), Error> {
        self.prepare()?;
        let warm_up = Until::Count(WARM_UP_JOBS_PER_CALLER * callers);
        runtime.block_on(run(door, &self.fleets, callers, Work::WholeJob, warm_up))?;
        let before = Spent::begin(link)?;
        let ran = runtime.block_on(run(door, &self.fleets, callers, work, until))?;
        let spent = Spent::since(before, link)?;
        self.check()?;
        Ok((ran, spent))
    }

    fn check(&mut self) -> Result<(), Error> {
        for fleet in &self.fleets {
            fleet.check(self.connection.as_mut())?;
        }
        Ok(())
    }

    /// Empty cells with all their nodes.
    pub fn prepare(&mut self) -> Result<(), Error> {
        self.send(&redis::cmd("FLUSHALL"))?;
        for fleet in &self.fleets {
            fleet.register(self.connection.as_mut())?;
        }
        Ok(())
    }

    fn send(&mut self, command: &redis::Cmd) -> Result<(), Error> {
        let done = self.connection.req_command(command);
        done.map(drop).map_err(|source| Error::Command {
            what: "preparing a server".to_owned(),
            source,
        })
    }
}

/// What a server spent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Microseconds inside functions and scripts, by the server's own account.
    pub script_us: f64,
    /// Microseconds of processor time in all, protocol included.
    pub cpu_us: f64,
}

/// What a server had spent when the counting began.
pub struct Begun {
    cpu_us: f64,
}

impl Spent {
    /// From here on it counts.
    pub fn begin(link: &mut Link) -> Result<Begun, Error> {
        link.begin()?;
        let cpu_us = link.processor()?;
        Ok(Begun { cpu_us })
    }

    /// The same for each of so many.
    pub fn per(self, count: usize) -> Self {
        Spent {
            script_us: self.script_us / count as f64,
            cpu_us: self.cpu_us / count as f64,
        }
    }

    /// What was spent since.
    pub fn since(begun: Begun, link: &mut Link) -> Result<Self, Error> {
        let cpu_us = link.processor()? - begun.cpu_us;
        let script_us = link.micros_of(&["fcall", "evalsha", "eval"])?;
        Ok(Spent { script_us, cpu_us })
    }
}
