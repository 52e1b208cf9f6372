//! A peer on a private server of its own.

use std::time::Duration;

use super::CALLERS;
use crate::Error;
use crate::link::{Link, Server};
use crate::load::Spent;
use crate::peers::install::Installed;
use crate::peers::{Keep, Program};

/// Jobs that show that all workers run, and that warm them up.
const WARM_UP_JOBS: usize = 4 * CALLERS;
/// After them the workers have come to rest.
const REST: Duration = Duration::from_millis(100);

/// How workers are run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) keep: Keep,
    pub(super) concurrency: usize,
    /// BullMQ's alone: with 0 the worker is in the process of those who add.
    pub(super) processes: usize,
}

pub(super) struct Theirs {
    _server: Server,
    link: Link,
    program: Program,
}

impl Theirs {
    pub(super) fn start(installed: &Installed) -> Result<Self, Error> {
        let mut server = Server::start(&[])?;
        Ok(Theirs {
            link: server.link()?,
            program: installed.start(server.port())?,
            _server: server,
        })
    }

    /// What `work` cost the server with workers that were there and idle before, and still are after.
    fn counted(
        &mut self,
        setup: Setup,
        warm_up: usize,
        work: impl FnOnce(&mut Program) -> Result<Duration, Error>,
    ) -> Result<Spent, Error> {
        self.link.one(&redis::cmd("FLUSHALL"))?;
        self.program
            .start_workers(setup.concurrency, setup.processes)?;
        self.program.flow(warm_up, setup.keep)?;
        std::thread::sleep(REST);
        let begun = Spent::begin(&mut self.link)?;
        work(&mut self.program)?;
        let spent = Spent::since(begun, &mut self.link)?;
        self.program.stop_workers()?;
        Ok(spent)
    }

    /// What jobs cost the server from many adders to their end, per job.
    pub(super) fn cost(&mut self, jobs: usize, setup: Setup) -> Result<Spent, Error> {
        let flow = |program: &mut Program| program.flow(jobs, setup.keep);
        Ok(self.counted(setup, WARM_UP_JOBS, flow)?.per(jobs))
    }

    /// The same for one job after the other, each of which finds a worker that waits. BullMQ's alone.
    pub(super) fn cost_one_by_one(&mut self, jobs: usize) -> Result<Spent, Error> {
        let setup = Setup {
            keep: Keep::Record,
            concurrency: 1,
            processes: 0,
        };
        let live = |program: &mut Program| program.live(jobs, setup.keep);
        Ok(self.counted(setup, 1, live)?.per(jobs))
    }

    /// Jobs per second, from the first that is added to the end of the last.
    pub(super) fn rate(&mut self, jobs: usize, setup: Setup) -> Result<f64, Error> {
        self.link.one(&redis::cmd("FLUSHALL"))?;
        self.program
            .start_workers(setup.concurrency, setup.processes)?;
        let took = self.program.flow(jobs, setup.keep)?;
        self.program.stop_workers()?;
        Ok(jobs as f64 / took.as_secs_f64())
    }

    /// Jobs per second that were all put in before, and what putting one in cost the server.
    pub(super) fn rate_of_backlog(
        &mut self,
        jobs: usize,
        setup: Setup,
    ) -> Result<(f64, Spent), Error> {
        self.link.one(&redis::cmd("FLUSHALL"))?;
        let begun = Spent::begin(&mut self.link)?;
        self.program.add(jobs, setup.keep)?;
        let spent = Spent::since(begun, &mut self.link)?;
        self.program
            .start_workers(setup.concurrency, setup.processes)?;
        let took = self.program.drain(jobs)?;
        self.program.stop_workers()?;
        Ok((jobs as f64 / took.as_secs_f64(), spent.per(jobs)))
    }
}
