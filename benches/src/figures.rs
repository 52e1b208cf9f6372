//! What each call costs, without a target, and two bundles side by side.

use redis::Cmd;

use crate::cell::{Cell, PAYLOAD, fcall, granted, node, plain_node};
use crate::link::Server;
use crate::report::Report;
use crate::rounds::{Micros, compare, median};
use crate::targets::labelled_node;
use crate::{Effort, Error};

const NODES: usize = 1000;
const LABELS: [&str; 8] = [
    "REQUIRE", "label-00", "REQUIRE", "label-03", "REQUIRE", "label-06", "REQUIRE", "label-09",
];

/// The cells that the figures are taken on.
pub struct Cells {
    plain: Cell,
    full: Cell,
    labelled: Cell,
    eight: Cell,
    fresh: usize,
}

/// One way to spend server time on the cells: per call, over so many calls.
type Figure = fn(&mut Cells, usize) -> Result<Micros, Error>;

/// The steps of a job and of a node, by name.
const STEPS: [(&str, Figure); 7] = [
    ("dispatch", |cells, calls| cells.dispatch(calls, &[])),
    ("ack", Cells::ack),
    ("complete", Cells::complete),
    ("heartbeat", Cells::heartbeat),
    ("a refusal, all nodes full", Cells::refusal),
    ("register, a new node", Cells::register),
    ("register, again as it was", Cells::register_again),
];

/// Variants of a dispatch, by name.
const DISPATCHES: [(&str, Figure); 5] = [
    ("dispatch with ACK", |cells, calls| {
        cells.dispatch(calls, &["ACK", "60000"])
    }),
    ("dispatch with JOB", |cells, calls| {
        cells.dispatch(calls, &["JOB", "job-#"])
    }),
    ("dispatch, a session's first job", Cells::first_of_a_session),
    ("dispatch with 4 required labels", |cells, calls| {
        cells.labelled.dispatch_cost(calls, &LABELS)
    }),
    ("dispatch, 8 matching classes", |cells, calls| {
        cells.eight.dispatch_cost(calls, &[])
    }),
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
            plain: Cell::plain(server, NODES)?,
            full,
            labelled: Cell::new(server, NODES, |_| labelled_node())?,
            eight,
            fresh: 0,
        })
    }

    fn dispatch(&mut self, calls: usize, options: &[&str]) -> Result<Micros, Error> {
        self.plain.dispatch_cost(calls, options)
    }

    fn ack(&mut self, calls: usize) -> Result<Micros, Error> {
        let jobs = self.plain.dispatch(calls, &[])?;
        let (micros, ()) = self.plain.timed(|cell| cell.ack(&jobs))?;
        self.plain.complete(&jobs)?;
        Ok(micros)
    }

    fn complete(&mut self, calls: usize) -> Result<Micros, Error> {
        let jobs = self.plain.dispatch(calls, &[])?;
        self.plain.ack(&jobs)?;
        Ok(self.plain.timed(|cell| cell.complete(&jobs))?.0)
    }

    fn heartbeat(&mut self, calls: usize) -> Result<Micros, Error> {
        let beats: Vec<Cmd> = (0..calls)
            .map(|call| {
                let load = ["CPU", "12.5", "GPU", "-1", "MEM", "40", "JOBS", "0"];
                let mut command = fcall("lockless_heartbeat", &[node(call % NODES)]);
                command.arg(&load);
                command
            })
            .collect();
        let (micros, _) = self.plain.timed(|cell| cell.all(&beats))?;
        // At default settings a heartbeat is good for 30 s only: the presence of before is put back.
        self.plain.stay_present(calls.min(NODES))?;
        Ok(micros)
    }

    fn refusal(&mut self, calls: usize) -> Result<Micros, Error> {
        let commands = self.full.dispatches(calls, &[]);
        let refused = |cell: &mut Cell| cell.link().all_refused(&commands, "NO_AVAILABLE_NODE");
        Ok(self.full.timed(refused)?.0)
    }

    fn register(&mut self, calls: usize) -> Result<Micros, Error> {
        let names: Vec<String> = (0..calls)
            .map(|call| format!("new-{}", self.fresh + call))
            .collect();
        self.fresh += calls;
        let register: Vec<Cmd> = names.iter().map(described).collect();
        let (micros, _) = self.plain.timed(|cell| cell.all(&register))?;
        let leave: Vec<Cmd> = names
            .iter()
            .map(|name| fcall("lockless_deregister", &[name]))
            .collect();
        self.plain.all(&leave)?;
        Ok(micros)
    }

    fn register_again(&mut self, calls: usize) -> Result<Micros, Error> {
        let register: Vec<Cmd> = (0..calls)
            .map(|call| described(&node(call % NODES)))
            .collect();
        let (micros, _) = self.plain.timed(|cell| cell.all(&register))?;
        self.plain.stay_present(calls.min(NODES))?;
        Ok(micros)
    }

    fn first_of_a_session(&mut self, calls: usize) -> Result<Micros, Error> {
        let first = self.fresh;
        self.fresh += calls;
        let commands: Vec<Cmd> = (first..self.fresh)
            .map(|number| {
                let session = format!("new-{number}");
                fcall("lockless_dispatch", &[&session, "en", "zh", PAYLOAD])
            })
            .collect();
        let (micros, replies) = self.plain.timed(|cell| cell.all(&commands))?;
        self.plain.complete(&granted(replies)?)?;
        Ok(micros)
    }
}

fn described(name: &String) -> Cmd {
    let mut command = fcall("lockless_register", &[name]);
    command.arg(plain_node());
    command
}

/// Measures and prints what each call costs.
pub fn run(server: &mut Server, effort: Effort, report: &mut Report) -> Result<(), Error> {
    let mut cells = Cells::new(server)?;
    let mut nothing = server.link()?;
    let nothings = vec![fcall("seed_nothing", &[""]); effort.calls];
    let mut measured: Vec<Vec<Micros>> = vec![Vec::new(); 1 + STEPS.len() + DISPATCHES.len()];
    for round in 0..=effort.rounds {
        nothing.reset_statistics()?;
        nothing.all(&nothings)?;
        let mut row = vec![nothing.usec_per_fcall()?];
        for (_, figure) in STEPS.iter().chain(&DISPATCHES) {
            row.push(figure(&mut cells, effort.calls)?);
        }
        // The first round warms up.
        if round > 0 {
            for (all, one) in measured.iter_mut().zip(row) {
                all.push(one);
            }
        }
    }
    let names = STEPS.iter().chain(&DISPATCHES).map(|(name, _)| *name);
    let figures: Vec<(String, Micros)> = std::iter::once("an empty FCALL")
        .chain(names)
        .zip(&measured)
        .map(|(name, all)| (name.to_owned(), median(all)))
        .collect();
    let title = "Server time per call (INFO commandstats), 1000 nodes";
    Report::figures(title, &figures, figures[1].1);
    events_of_every_job(server, effort, report)?;
    finished_jobs(server, effort, report)
}

/// What a cell pays for telling of every job. Any setting that is not the default costs a read in each call, so the ratio
/// against a cell with another setting is that of the events alone.
fn events_of_every_job(
    server: &mut Server,
    effort: Effort,
    report: &mut Report,
) -> Result<(), Error> {
    let mut all = Cell::plain(server, NODES)?;
    all.set("events", "all")?;
    let mut other = Cell::plain(server, NODES)?;
    other.set("events_max", "10001")?;
    let mut default = Cell::plain(server, NODES)?;
    Report::comparisons(
        "Dispatch and complete, us of server time",
        "first",
        "second",
    );
    let sides = compare(
        effort.rounds,
        || all.way_cost(effort.calls),
        || default.way_cost(effort.calls),
    )?;
    report.compared("events all / default settings", sides, None);
    let sides = compare(
        effort.rounds,
        || all.way_cost(effort.calls),
        || other.way_cost(effort.calls),
    )?;
    report.compared("events all / lifecycle with another setting", sides, None);
    Ok(())
}

fn finished_jobs(server: &mut Server, effort: Effort, report: &mut Report) -> Result<(), Error> {
    let mut many = Cell::plain(server, NODES)?;
    let mut none = Cell::plain(server, NODES)?;
    for _ in 0..effort.finished / 1000 {
        let jobs = many.dispatch(1000, &[])?;
        many.complete(&jobs)?;
    }
    Report::comparisons("Growth, us of server time", "first", "second");
    let sides = compare(
        effort.rounds,
        || many.dispatch_cost(effort.calls, &[]),
        || {
            let micros = none.dispatch_cost(effort.calls, &[])?;
            none.forget_jobs()?;
            Ok(micros)
        },
    )?;
    let what = format!("dispatch at {} finished jobs / at 0", effort.finished);
    report.compared(&what, sides, None);
    Ok(())
}

/// Measures the steps and dispatches of two bundles, each on its own server, and prints the ratios.
pub fn against(ours: &mut Server, other: &mut Server, effort: Effort) -> Result<(), Error> {
    let (mut first, mut second) = (Cells::new(other)?, Cells::new(ours)?);
    let mut report = Report::default();
    Report::comparisons(
        "The bundle given / this one, us of server time",
        "given",
        "this",
    );
    for (name, figure) in STEPS.iter().chain(&DISPATCHES) {
        let sides = compare(
            effort.rounds,
            || figure(&mut first, effort.calls),
            || figure(&mut second, effort.calls),
        )?;
        report.compared(name, sides, None);
    }
    Ok(())
}
