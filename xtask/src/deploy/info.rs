//! What a server says about itself.

use std::collections::HashMap;

use lockless_topology::Address;
use redis::cmd;

use super::link::Link;
use super::problem::Problem;

const OLDEST_MAJOR: u64 = 7;

/// The lines of `INFO`'s reply.
pub(crate) struct Info(HashMap<String, String>);

impl Info {
    pub(crate) fn read(link: &mut Link) -> Result<Self, Problem> {
        let text: String = link.ask("INFO", &cmd("INFO"))?;
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        Ok(Self(
            lines
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect(),
        ))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Functions came with version 7.0.
    pub(crate) fn refuse_old(&self, address: &Address) -> Result<(), Problem> {
        let Some(version) = self.get("redis_version") else {
            return Ok(());
        };
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse::<u64>().ok());
        if major.is_some_and(|major| major < OLDEST_MAJOR) {
            return Err(Problem::TooOld {
                address: address.clone(),
                version: version.to_owned(),
            });
        }
        Ok(())
    }

    /// A replica takes no writes; it usually knows who does.
    pub(crate) fn refuse_replica(&self, address: &Address) -> Result<(), Problem> {
        if self.get("role") != Some("slave") {
            return Ok(());
        }
        let primary = match (self.get("master_host"), self.get("master_port")) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            _ => "which it does not name".to_owned(),
        };
        Err(Problem::Replica {
            address: address.clone(),
            primary,
        })
    }
}
