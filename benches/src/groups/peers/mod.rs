//! Other queues beside Lockless: they move jobs, it places them.

mod bullmq;
mod others;
mod theirs;

use lockless_functions::LIBRARY;
use tokio::runtime::Runtime;

use crate::harness::{Context, Effort};
use crate::link::{Link, Server};
use crate::load::{Door, Ran, Spent, Stage, Until, Work};
use crate::peers::install::Installed;
use crate::peers::{BULLMQ, Kind, Peer};
use crate::results::GroupResult;
use crate::{Error, failed};

/// Callers of Lockless, as targets name them.
const CALLERS: usize = 64;
const NODES: usize = 1000;
const SLOTS_PER_NODE: u32 = 20;
/// What each side does that the other does not.
const DIFFERENCES: &str = include_str!("differences.md");

pub(super) fn run(context: &mut Context) -> Result<GroupResult, Error> {
    let mut result = GroupResult::default();
    let mut ours = Ours::start()?;
    let found = installed(context, &BULLMQ);
    let measured = match &found {
        Ok(there) => bullmq::run(context, &mut ours, there, &mut result),
        Err(_) => Ok(()),
    };
    named(&mut result, BULLMQ.name, measured)?;
    others::run(context, &mut ours, found, &mut result)?;
    result.remarks.push(DIFFERENCES.trim().to_owned());
    Ok(result)
}

/// A peer that fails is named with the reason, and the others are measured.
fn named<T>(
    result: &mut GroupResult,
    name: &str,
    outcome: Result<T, Error>,
) -> Result<Option<T>, Error> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(reason) => {
            result.lacks(name, reason);
            Ok(None)
        }
    }
}

/// A peer that can be started. A quick run installs only what takes seconds.
fn installed(context: &mut Context, peer: &Peer) -> Result<Installed, Error> {
    if let Some(there) = peer.find(&context.repository) {
        return Ok(there);
    }
    let may_take_long = context.effort == Effort::Full || context.is_asked_for;
    if !may_take_long && peer.kind != Kind::Node {
        return Err(Error::Failed {
            what: "it is not installed".to_owned(),
            reason: "`cargo xtask bench --only peers` installs it".to_owned(),
        });
    }
    context.say(&format!("  installing {}", peer.name));
    peer.install(&context.repository)
}

/// Lockless on a private server, called without a gateway.
struct Ours {
    runtime: Runtime,
    server: Server,
    stage: Stage,
    link: Link,
    door: Door,
}

impl Ours {
    fn start() -> Result<Self, Error> {
        let runtime = Runtime::new().map_err(failed("a runtime"))?;
        let mut server = Server::start(&[LIBRARY])?;
        Ok(Ours {
            stage: Stage::on_server(server.port(), NODES, SLOTS_PER_NODE)?,
            link: server.link()?,
            door: runtime.block_on(Door::direct(server.port()))?,
            runtime,
            server,
        })
    }

    /// What so many whole jobs of so many callers cost the server, per job. They are warm, as a peer's workers are for the same.
    fn cost(&mut self, callers: usize, count: usize) -> Result<Spent, Error> {
        let (_, spent) = self.stage.run_counted(
            &self.runtime,
            &self.door,
            callers,
            Work::WholeJob,
            Until::Count(count),
            &mut self.link,
        )?;
        Ok(spent.per(count))
    }

    /// How fast this is done so often, in a cell that was empty before, as a peer's queue is.
    fn rate(&mut self, work: Work, count: usize) -> Result<Ran, Error> {
        let until = Until::Count(count);
        self.stage
            .run(&self.runtime, &self.door, CALLERS, work, until)
    }

    /// The same for whole jobs through another door.
    fn rate_through(&mut self, door: &Door, count: usize) -> Result<Ran, Error> {
        let until = Until::Count(count);
        let work = Work::WholeJob;
        self.stage.run(&self.runtime, door, CALLERS, work, until)
    }
}
