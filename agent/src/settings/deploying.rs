//! The settings of a node that runs deployments.

use std::path::Path;
use std::time::Duration;

use super::given::{Given, WEIGHT_LIMIT};
use crate::deployments::Deploying;

/// What holds, with defaults, if deployments are wanted. What the file says was not checked by the command line.
pub(super) fn read(given: &Given, state_dir: &Path) -> Result<Option<Deploying>, String> {
    for (name, weight) in [
        ("cpu_weight", given.cpu_weight),
        ("mem_weight", given.mem_weight),
    ] {
        if weight.is_some_and(|weight| !(0.0..=WEIGHT_LIMIT).contains(&weight)) {
            return Err(format!("{name} takes a number from 0 to {WEIGHT_LIMIT}"));
        }
    }
    let interval_ms = given.claim_interval_ms.unwrap_or(5000);
    if interval_ms < 100 {
        return Err(format!(
            "claim_interval_ms takes a whole number from 100, given {interval_ms}"
        ));
    }
    let log_files = given.log_files.unwrap_or(5);
    if log_files == 0 {
        return Err("log_files takes a whole number from 1, given 0".to_owned());
    }
    if !given.deployments.unwrap_or(false) {
        return Ok(None);
    }
    Ok(Some(Deploying {
        interval: Duration::from_millis(interval_ms),
        policy: given.claim_policy,
        cpu_weight: given.cpu_weight,
        mem_weight: given.mem_weight,
        log_dir: given
            .log_dir
            .clone()
            .unwrap_or_else(|| state_dir.join("logs")),
        log_max_bytes: given.log_max_bytes.unwrap_or(10 << 20),
        log_files,
    }))
}

/// The same as it was given, with what follows from it.
pub(super) fn shown(given: Given, deploying: Option<&Deploying>) -> Given {
    let Some(deploying) = deploying else {
        return given;
    };
    Given {
        claim_interval_ms: u64::try_from(deploying.interval.as_millis()).ok(),
        log_dir: Some(deploying.log_dir.clone()),
        log_max_bytes: Some(deploying.log_max_bytes),
        log_files: Some(deploying.log_files),
        ..given
    }
}
