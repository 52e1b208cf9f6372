//! What a fault is, and which there are.

use std::time::Duration;

use crate::outcome::Outcome;
use crate::run::Run;
use crate::{Error, cluster, linear, single};

/// A way to break a deployment.
#[derive(Clone, Copy)]
pub struct Fault {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is broken, for the list and the report.
    pub summary: &'static str,
    /// What stands in the control run's place of what protects, for the report; or why there is none.
    pub control: &'static str,
    /// How long its quick run may take.
    pub quick_limit: Duration,
    /// How long its full run may take.
    pub full_limit: Duration,
    /// Runs it.
    pub run: fn(&Run) -> Result<Outcome, Error>,
}

/// All faults, in the order they are run.
pub fn all() -> Vec<Fault> {
    [single::FAULTS, linear::FAULTS, cluster::FAULTS].concat()
}

/// Those of these names; without names, all.
pub fn named(names: &[String]) -> Result<Vec<Fault>, Error> {
    let all = all();
    for name in names {
        if !all.iter().any(|fault| fault.name == name) {
            let known: Vec<&str> = all.iter().map(|fault| fault.name).collect();
            return Err(Error::NoSuchFault {
                given: name.clone(),
                known: known.join(", "),
            });
        }
    }
    let is_wanted = |fault: &Fault| names.is_empty() || names.iter().any(|name| name == fault.name);
    Ok(all.into_iter().filter(is_wanted).collect())
}
