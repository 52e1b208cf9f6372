//! Deployments: long-running commands that the cell assigns to the node and that run here for as long as it does.
//!
//! What a claim says is assigned is the whole truth ([`book`]): one task looks after each deployment ([`run`]) and runs what is
//! wanted of it, behind a guardian as jobs do.

pub(crate) mod book;
pub(crate) mod claim;
pub(crate) mod run;
pub mod spec;
pub(crate) mod weights;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How nodes are compared when they claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Policy {
    /// By how many deployments they have
    DeploymentCount,
    /// By their use of CPU and memory
    ResourceUsage,
}

impl fmt::Display for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::DeploymentCount => "deployment_count",
            Self::ResourceUsage => "resource_usage",
        })
    }
}

/// How a node runs deployments.
#[derive(Debug, Clone, PartialEq)]
pub struct Deploying {
    /// Between two claims.
    pub interval: Duration,
    /// The agent's own, instead of the cell's.
    pub policy: Option<Policy>,
    /// What the cell's weight of CPU is set to.
    pub cpu_weight: Option<f64>,
    /// What the cell's weight of memory is set to.
    pub mem_weight: Option<f64>,
    /// Where their output goes.
    pub log_dir: PathBuf,
    /// A file of it is put aside when it has so many.
    pub log_max_bytes: u64,
    /// So many files are kept of each.
    pub log_files: u32,
}
