//! The minimal spec's own scripts, as what the library is compared with.

use redis::{Cmd, Value};

use crate::Error;
use crate::cell::{CAPS, Granted, PAYLOAD, ROOT, fcall, granted, node, strings};
use crate::link::{Link, Server};
use crate::rounds::Cost;

/// The scripts as a Redis Functions library.
pub const LIBRARY: &str = include_str!("seed.lua");

const MAX_JOBS: &str = "4";
const POOL: &str = "general";
/// What a node says of itself with a heartbeat, as much as ours says.
const LOAD: &str = r#"{"cpu":12.5,"gpu":-1,"mem":40,"jobs":0}"#;

/// A cell that the minimal spec's scripts schedule, part of its nodes full.
pub struct SeedCell {
    link: Link,
    full: Vec<String>,
    calls: usize,
    holes: usize,
}

impl SeedCell {
    /// Nodes of 4 slots, of which so many are full: those that come first in the pool's set, because the script takes
    /// the first node with room and so fills them in this order.
    pub fn new(server: &mut Server, nodes: usize, full: usize) -> Result<Self, Error> {
        let mut link = server.link()?;
        let register: Vec<Cmd> = (0..nodes)
            .map(|number| {
                let args = [&node(number), CAPS, MAX_JOBS, POOL, "en", "zh"];
                fcall("seed_register_node", &args)
            })
            .collect();
        link.all(&register)?;
        let members =
            link.one(redis::cmd("SMEMBERS").arg(format!("{ROOT}:pool:{POOL}:members")))?;
        let mut order = strings(members)?;
        order.truncate(full);
        let fill: Vec<Cmd> = order.iter().map(|node| slots(node, 4)).collect();
        link.all(&fill)?;
        Ok(SeedCell {
            link,
            full: order,
            calls: 0,
            holes: 0,
        })
    }

    fn dispatch(&mut self) -> Cmd {
        self.calls += 1;
        let session = format!("session-{:02}", self.calls % 64);
        fcall("seed_dispatch_task", &[&session, "en", "zh", PAYLOAD])
    }

    /// Server time per dispatch; the jobs are completed afterwards.
    pub fn dispatch_cost(&mut self, calls: usize) -> Result<Cost, Error> {
        let commands: Vec<Cmd> = (0..calls).map(|_| self.dispatch()).collect();
        self.link.begin()?;
        let replies = self.link.all(&commands)?;
        let cost = self.link.cost_per_fcall()?;
        let complete: Vec<Cmd> = granted(replies)?
            .iter()
            .map(|Granted { node, job }| fcall("seed_complete_task", &[job, node, "finished"]))
            .collect();
        self.link.all(&complete)?;
        Ok(cost)
    }

    /// The same when each dispatch finds one slot free on one of the full nodes, each in turn from all over the set.
    pub fn dispatch_cost_with_holes(&mut self, calls: usize) -> Result<Cost, Error> {
        let mut commands = Vec::with_capacity(2 * calls);
        for _ in 0..calls {
            // About the golden section further each time, so that few calls are already spread over the whole set.
            self.holes += 1;
            let hole = self.holes * 619 % 1000 * self.full.len() / 1000;
            commands.push(slots(&self.full[hole], -1));
            commands.push(self.dispatch());
        }
        self.link.begin()?;
        let replies = self.link.all(&commands)?;
        let cost = self.link.cost_per_fcall()?;
        let grants: Vec<Value> = replies.into_iter().skip(1).step_by(2).collect();
        granted(grants)?;
        Ok(cost)
    }

    /// Server time per heartbeat of these nodes.
    pub fn heartbeat_cost(&mut self, names: &[String]) -> Result<Cost, Error> {
        let beat = |name: &String| fcall("seed_heartbeat", &[name.as_str(), "true", LOAD]);
        let beats: Vec<Cmd> = names.iter().map(beat).collect();
        self.link.begin()?;
        self.link.all(&beats)?;
        self.link.cost_per_fcall()
    }
}

/// An empty FCALL: what any function costs.
pub struct Nothing {
    link: Link,
}

impl Nothing {
    /// On a server that has the scripts.
    pub fn new(server: &mut Server) -> Result<Self, Error> {
        Ok(Nothing {
            link: server.link()?,
        })
    }

    /// Server time per call.
    pub fn cost(&mut self, calls: usize) -> Result<Cost, Error> {
        let nothings = vec![fcall("seed_nothing", &[""]); calls];
        self.link.begin()?;
        self.link.all(&nothings)?;
        self.link.cost_per_fcall()
    }
}

fn slots(node: &str, by: i64) -> Cmd {
    let mut command = redis::cmd("HINCRBY");
    command.arg(format!("{ROOT}:node:runtime:{node}"));
    command.arg("current_jobs").arg(by);
    command
}
