//! What the gateway serves from: its own scheduler, a private Redis server or a private Cluster.

use anyhow::{Result, bail};
use lockless_servers::{Cluster, Standalone};

use super::Arguments;
use crate::{deploy, run};

/// With a Cluster of three primaries, one of these cells is on each.
pub(super) const CLUSTER_CELLS: [&str; 3] =
    ["scheduler:{main}", "scheduler:{blue}", "scheduler:{green}"];

/// Where the library is.
pub(super) enum Host {
    Embedded,
    Redis(Box<Standalone>),
    Cluster(Cluster),
}

impl Host {
    /// Starts servers, if there are to be any, and loads the library into them.
    pub(super) fn start(arguments: &Arguments) -> Result<Self> {
        let host = if arguments.cluster {
            Self::Cluster(Cluster::start(CLUSTER_CELLS.len())?)
        } else if arguments.redis {
            let builder = Standalone::builder().private();
            let builder = match arguments.port {
                Some(port) => builder.port(port),
                None => builder,
            };
            Self::Redis(Box::new(builder.start()?))
        } else {
            Self::Embedded
        };
        if let Some(url) = host.url() {
            deploy::load_quietly(&url)?;
        }
        Ok(host)
    }

    /// Starts this program again with containers built in, if servers are needed and can't be had otherwise.
    pub(super) fn prepare(arguments: &Arguments) -> Result<()> {
        if arguments.redis || arguments.cluster {
            run::with_docker_if_needed()?;
        }
        Ok(())
    }

    /// The address of a server, if there is one.
    pub(super) fn url(&self) -> Option<String> {
        match self {
            Self::Embedded => None,
            Self::Redis(server) => Some(server.url()),
            Self::Cluster(cluster) => cluster.urls().into_iter().next(),
        }
    }

    /// More arguments for the gateway.
    pub(super) fn gateway_arguments(&self) -> Vec<&'static str> {
        match self {
            Self::Cluster(_) => CLUSTER_CELLS
                .into_iter()
                .flat_map(|cell| ["--cell", cell])
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Fails when a server has ended by itself.
    pub(super) fn check(&mut self) -> Result<()> {
        let (ended, log) = match self {
            Self::Embedded => return Ok(()),
            Self::Redis(server) => (server.ended(), server.log_tail()),
            Self::Cluster(cluster) => {
                let mut nodes = cluster.nodes_mut().iter_mut();
                match nodes.find_map(|node| Some((node.ended()?, node.log_tail()))) {
                    Some((ended, log)) => (Some(ended), log),
                    None => return Ok(()),
                }
            }
        };
        if let Some(status) = ended {
            bail!("a server ended by itself ({status}); the end of its log:\n{log}");
        }
        Ok(())
    }

    /// Ends the servers.
    pub(super) fn stop(self) {
        match self {
            Self::Embedded => {}
            Self::Redis(server) => server.stop(),
            Self::Cluster(cluster) => cluster.stop(),
        }
    }
}
