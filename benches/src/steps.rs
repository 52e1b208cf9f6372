//! The calls whose cost is measured, each on a cell that is as that call usually finds it.

use redis::Cmd;

use crate::Error;
use crate::cell::{Cell, PAYLOAD, fcall, granted, labelled_node, node, plain_node};
use crate::link::Server;
use crate::rounds::Cost;
use crate::seed::Nothing;

/// Nodes of each cell.
pub const NODES: usize = 1000;
const LABELS: [&str; 8] = [
    "REQUIRE", "label-00", "REQUIRE", "label-03", "REQUIRE", "label-06", "REQUIRE", "label-09",
];

/// The cells that the figures are taken on.
pub struct Cells {
    nothing: Nothing,
    plain: Cell,
    full: Cell,
    labelled: Cell,
    eight: Cell,
    fresh: usize,
}

/// One kind of call.
pub struct Step {
    /// A name that stays the same.
    pub id: &'static str,
    /// What it is.
    pub what: &'static str,
    /// What one call costs, over so many calls.
    pub cost: fn(&mut Cells, usize) -> Result<Cost, Error>,
}

const fn step(
    id: &'static str,
    what: &'static str,
    cost: fn(&mut Cells, usize) -> Result<Cost, Error>,
) -> Step {
    Step { id, what, cost }
}

/// All of them. The first one does nothing, the next three make a whole job.
pub const STEPS: [Step; 13] = [
    step("nothing", "an empty FCALL", Cells::nothing),
    step("dispatch", "dispatch", |cells, calls| {
        cells.dispatch(calls, &[])
    }),
    step("ack", "ack", Cells::ack),
    step("complete", "complete", Cells::complete),
    step("heartbeat", "heartbeat", Cells::heartbeat),
    step("refusal", "a refusal, all nodes full", Cells::refusal),
    step("register", "register, a new node", Cells::register),
    step(
        "register-again",
        "register, again as it was",
        Cells::register_again,
    ),
    step("dispatch-ack", "dispatch with ACK", |cells, calls| {
        cells.dispatch(calls, &["ACK", "60000"])
    }),
    step("dispatch-job", "dispatch with JOB", |cells, calls| {
        cells.dispatch(calls, &["JOB", "job-#"])
    }),
    step(
        "dispatch-first",
        "dispatch, a session's first job",
        Cells::first_of_a_session,
    ),
    step(
        "dispatch-require-4",
        "dispatch with 4 REQUIREd labels",
        |cells, calls| cells.labelled.dispatch_cost(calls, &LABELS),
    ),
    step(
        "dispatch-classes-8",
        "dispatch, 8 matching classes",
        |cells, calls| cells.eight.dispatch_cost(calls, &[]),
    ),
];

impl Cells {
    /// Prepares them.
    pub fn new(server: &mut Server) -> Result<Self, Error> {
        let mut full = Cell::new(server, 64, |_| plain_node())?;
        full.dispatch(64 * 4, &[])?;
        let eight = Cell::new(server, NODES, |number| {
            let mut words = plain_node();
            words.push("LABEL".to_owned());
            words.push(format!("kind-{}", number % 8));
            words
        })?;
        Ok(Cells {
            nothing: Nothing::new(server)?,
            plain: Cell::plain(server, NODES)?,
            full,
            labelled: Cell::new(server, NODES, |_| labelled_node(12))?,
            eight,
            fresh: 0,
        })
    }

    fn nothing(&mut self, calls: usize) -> Result<Cost, Error> {
        self.nothing.cost(calls)
    }

    fn dispatch(&mut self, calls: usize, options: &[&str]) -> Result<Cost, Error> {
        self.plain.dispatch_cost(calls, options)
    }

    fn ack(&mut self, calls: usize) -> Result<Cost, Error> {
        let jobs = self.plain.dispatch(calls, &[])?;
        let (cost, ()) = self.plain.timed(|cell| cell.ack(&jobs))?;
        self.plain.complete(&jobs)?;
        Ok(cost)
    }

    fn complete(&mut self, calls: usize) -> Result<Cost, Error> {
        let jobs = self.plain.dispatch(calls, &[])?;
        self.plain.ack(&jobs)?;
        Ok(self.plain.timed(|cell| cell.complete(&jobs))?.0)
    }

    fn heartbeat(&mut self, calls: usize) -> Result<Cost, Error> {
        let beats: Vec<Cmd> = (0..calls)
            .map(|call| {
                let load = ["CPU", "12.5", "GPU", "-1", "MEM", "40", "JOBS", "0"];
                let mut command = fcall("lockless_heartbeat", &[node(call % NODES)]);
                command.arg(&load);
                command
            })
            .collect();
        let (cost, _) = self.plain.timed(|cell| cell.all(&beats))?;
        self.plain.keep_present(&first_nodes(calls))?;
        Ok(cost)
    }

    fn refusal(&mut self, calls: usize) -> Result<Cost, Error> {
        let commands = self.full.dispatches(calls, &[]);
        let refused = |cell: &mut Cell| cell.link().all_refused(&commands, "NO_AVAILABLE_NODE");
        Ok(self.full.timed(refused)?.0)
    }

    fn register(&mut self, calls: usize) -> Result<Cost, Error> {
        let names: Vec<String> = (0..calls)
            .map(|call| format!("new-{}", self.fresh + call))
            .collect();
        self.fresh += calls;
        let register: Vec<Cmd> = names.iter().map(described).collect();
        let (cost, _) = self.plain.timed(|cell| cell.all(&register))?;
        let leave: Vec<Cmd> = names
            .iter()
            .map(|name| fcall("lockless_deregister", &[name]))
            .collect();
        self.plain.all(&leave)?;
        Ok(cost)
    }

    fn register_again(&mut self, calls: usize) -> Result<Cost, Error> {
        let register: Vec<Cmd> = (0..calls)
            .map(|call| described(&node(call % NODES)))
            .collect();
        let (cost, _) = self.plain.timed(|cell| cell.all(&register))?;
        self.plain.keep_present(&first_nodes(calls))?;
        Ok(cost)
    }

    fn first_of_a_session(&mut self, calls: usize) -> Result<Cost, Error> {
        let first = self.fresh;
        self.fresh += calls;
        let commands: Vec<Cmd> = (first..self.fresh)
            .map(|number| {
                let session = format!("new-{number}");
                fcall("lockless_dispatch", &[&session, "en", "zh", PAYLOAD])
            })
            .collect();
        let (cost, replies) = self.plain.timed(|cell| cell.all(&commands))?;
        self.plain.complete(&granted(replies)?)?;
        Ok(cost)
    }
}

fn first_nodes(count: usize) -> Vec<String> {
    (0..count.min(NODES)).map(node).collect()
}

fn described(name: &String) -> Cmd {
    let mut command = fcall("lockless_register", &[name]);
    command.arg(plain_node());
    command
}
