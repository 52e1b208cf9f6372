//! A primary that does not have the library, or has an old one, and a slot that is moved there.

use std::sync::Arc;
use std::time::Duration;

use lockless_functions::{LIBRARY, VERSION, contract};
use lockless_topology::slot_of_key;

use super::http::{Caller, Page};
use super::programs::Program;
use super::route::ToCluster;
use super::servers::Cluster;
use super::trial::cell_of;
use crate::Error;
use crate::fault::Fault;
use crate::outcome::{Outcome, Rule, Violation};
use crate::rules::cell::{ask, unsound};
use crate::run::Run;
use crate::wire::{Route, Said};

pub(super) const FAULT: Fault = Fault {
    name: "library",
    summary: "Cluster: a primary without the library, or with an old one, and a live slot moved there.",
    control: "none: it is the library that protects, and it is what is taken away. That calls are refused and change no byte is seen directly.",
    quick_limit: Duration::from_secs(60),
    full_limit: Duration::from_secs(180),
    run,
};

const READY_WITHIN: Duration = Duration::from_secs(15);
/// Calls that are tried while the library is not right: some that write much, some that give back, some that read.
const CALLS: [(&str, &str); 10] = [
    ("register", "n2 4 POOL p"),
    ("heartbeat", "n1 JOBS 1"),
    ("dispatch", "s - - p JOB new"),
    ("submit", "queued p"),
    ("take", "n1"),
    ("complete", "running n1 finished"),
    ("bind", "session request"),
    ("cancel", "waiting"),
    ("sweep", ""),
    ("check", ""),
];

/// What a primary has instead of the library.
#[derive(Debug, Clone, Copy)]
enum Instead {
    Nothing,
    Old,
}

impl Instead {
    /// What calls are answered with there.
    fn refusal(self) -> &'static str {
        match self {
            Self::Nothing => "ERR Function not found",
            Self::Old => "SCHEMA_MISMATCH",
        }
    }

    /// What the gateway says of it when it is asked whether it is ready.
    fn complaint(self) -> &'static str {
        match self {
            Self::Nothing => "does not have the library",
            Self::Old => "has version 0.0.1 of the library",
        }
    }

    /// What the gateway answers calls with.
    fn code(self) -> &'static str {
        match self {
            Self::Nothing => "LIBRARY_MISSING",
            Self::Old => "SCHEMA_MISMATCH",
        }
    }
}

fn run(run: &Run) -> Result<Outcome, Error> {
    let cluster = Arc::new(Cluster::on_loopback(run)?);
    let url = cluster.nodes()[0].url();
    let arguments = [
        "--redis",
        &url,
        "--cell",
        "faults:{main}",
        "--cell",
        "faults:{*}",
    ];
    let gateway = Program::gateway(run, None, "gateway", &arguments)?;
    let caller = Caller::new(gateway.address(), Duration::from_secs(5));
    run.wait_for("a ready gateway", READY_WITHIN, || caller.is_ready())?;
    let mut trial = Trial {
        run,
        cluster: &cluster,
        caller: &caller,
        outcome: Outcome::default(),
    };
    for round in 0..run.rounds(1, 5) {
        for instead in [Instead::Nothing, Instead::Old] {
            trial.one_primary_has(instead, round)?;
            trial.outcome.rounds += 1;
        }
    }
    Ok(trial.outcome)
}

struct Trial<'a> {
    run: &'a Run,
    cluster: &'a Arc<Cluster>,
    caller: &'a Caller,
    outcome: Outcome,
}

impl Trial<'_> {
    fn one_primary_has(&mut self, instead: Instead, round: u64) -> Result<(), Error> {
        let primaries = self.cluster.primaries();
        let (wrong, right) = (
            primaries[round as usize % 3],
            primaries[(round as usize + 1) % 3],
        );
        let name = format!("{instead:?}{round}").to_lowercase();
        let there = self.new_cell(wrong, &format!("{name}-there"))?;
        let moved = self.new_cell(right, &format!("{name}-moved"))?;
        let elsewhere = self.new_cell(right, &format!("{name}-elsewhere"))?;
        let node = &self.cluster.nodes()[wrong];
        match instead {
            Instead::Nothing => node.order(self.run, &["FUNCTION", "DELETE", "lockless"])?,
            Instead::Old => {
                node.say_order(self.run, "FUNCTION LOAD REPLACE ...    # an old version");
                node.say::<()>(&["FUNCTION", "LOAD", "REPLACE", &old_library()?])?;
            }
        }
        self.changes_nothing(&there, wrong, instead)?;
        self.gateway_says_so(instead, &there, &elsewhere, &node.address())?;
        // A slot that is moved there loses nothing either, and is served again once the library is there.
        self.cluster
            .move_slot(self.run, slot_of_key(&moved), wrong, || {})?;
        self.changes_nothing(&moved, wrong, instead)?;
        node.say::<()>(&["FUNCTION", "LOAD", "REPLACE", LIBRARY])?;
        let took = self
            .run
            .wait_for("a ready gateway", READY_WITHIN, || self.caller.is_ready())?;
        self.outcome.recovered_in(took);
        self.is_served_again(&there)?;
        self.is_served_again(&moved)?;
        self.cluster
            .move_slot(self.run, slot_of_key(&moved), right, || {})?;
        self.is_served_again(&moved)
    }

    /// A cell with jobs in several states.
    fn new_cell(&mut self, primary: usize, name: &str) -> Result<Arc<str>, Error> {
        let cell = cell_of(self.cluster, primary, name)?;
        let mut wire = ToCluster::new(self.cluster, Duration::ZERO).open();
        for (function, line) in [
            ("config", "heartbeat_ttl_ms 600000"),
            ("register", "n1 40"),
            ("dispatch", "s - - p JOB running"),
            ("ack", "running n1"),
            ("submit", "waiting p"),
        ] {
            ask(wire.as_mut(), &cell, function, line)?;
        }
        Ok(cell)
    }

    /// Every call is refused with one clear error, and not a byte of the cell changes.
    fn changes_nothing(
        &mut self,
        cell: &str,
        primary: usize,
        instead: Instead,
    ) -> Result<(), Error> {
        let slot = slot_of_key(cell);
        let before = self.cluster.content(primary, slot)?;
        let mut wire = ToCluster::new(self.cluster, Duration::ZERO).open();
        for (function, line) in CALLS {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let said = wire.call(cell, function, &args);
            self.outcome.protected.operations += 1;
            let is_refused =
                matches!(&said, Said::Refused(line) if line.starts_with(instead.refusal()));
            if !is_refused {
                self.wrong(format!(
                    "{function} {line} on a primary with {instead:?}: {said:?}"
                ));
            }
        }
        if self.cluster.content(primary, slot)? != before {
            self.wrong(format!("calls that were refused changed {cell}"));
        }
        Ok(())
    }

    /// The gateway names the server and what to do, refuses calls of cells there, and serves the others.
    fn gateway_says_so(
        &mut self,
        instead: Instead,
        there: &str,
        elsewhere: &str,
        address: &str,
    ) -> Result<(), Error> {
        self.run
            .wait_for("the gateway's complaint", READY_WITHIN, || {
                match self.caller.is_ready() {
                    Err(said)
                        if said.contains(instead.complaint())
                            && said.contains(address)
                            && said.contains("deploy") =>
                    {
                        Ok(())
                    }
                    other => Err(format!("{other:?}")),
                }
            })?;
        for (cell, expected) in [(there, instead.code()), (elsewhere, "")] {
            let page = self.caller.dispatch(cell, "by-gateway", false);
            self.outcome.protected.operations += 1;
            let is_so = page
                .as_ref()
                .is_ok_and(|page| page.code() == expected && page.is_ok() == expected.is_empty());
            if !is_so {
                self.wrong(format!(
                    "the gateway was to answer '{expected}' for {cell}: {page:?}"
                ));
            }
        }
        Ok(())
    }

    fn is_served_again(&mut self, cell: &str) -> Result<(), Error> {
        let mut wire = ToCluster::new(self.cluster, Duration::ZERO).open();
        for (function, line) in [("job", "running"), ("job", "waiting"), ("heartbeat", "n1")] {
            ask(wire.as_mut(), cell, function, line)?;
            self.outcome.protected.operations += 1;
        }
        let job = format!("after-{}", self.outcome.protected.operations);
        let page = self.caller.dispatch(cell, &job, true);
        if !page.as_ref().is_ok_and(Page::is_ok) {
            self.wrong(format!(
                "{cell} is not served although the library is back: {page:?}"
            ));
        }
        let found = unsound(wire.as_mut(), cell)?;
        self.outcome.protected.violations.extend(found);
        Ok(())
    }

    fn wrong(&mut self, sentence: String) {
        self.outcome
            .protected
            .violations
            .push(Violation::new(Rule::Fault, sentence));
    }
}

/// A library of an older version, which keeps cells in another way.
fn old_library() -> Result<String, Error> {
    let own = format!(
        "version = '{VERSION}', schema = {},",
        contract().library.schema
    );
    if !LIBRARY.contains(&own) {
        return Err(Error::Call {
            call: "the version of the library".to_owned(),
            said: format!("it does not say `{own}`"),
        });
    }
    Ok(LIBRARY.replacen(&own, "version = '0.0.1', schema = 0,", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_library_differs_in_version_and_schema() {
        let old = old_library().expect("the library says both in its first lines");
        assert!(old.contains("version = '0.0.1', schema = 0,"));
        assert!(!LIBRARY.contains("version = '0.0.1'"));
    }
}
