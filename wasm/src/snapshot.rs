//! A copy of a machine's memory, from which its state can be saved elsewhere.

use std::sync::Arc;

use crate::{
    Error, Limits,
    instance::{Ended, Instance},
};

/// The state of a machine at the time when it was taken.
pub struct Snapshot {
    pub(crate) limits: Limits,
    pub(crate) image: Arc<Vec<u8>>,
}

impl Snapshot {
    /// The whole keyspace, as [`Machine::save`](crate::Machine::save) gives it.
    pub fn save(&self) -> Result<Vec<u8>, Error> {
        let mut instance = Instance::from_image(&self.limits, &self.image)?;
        let saved = instance.save().map_err(|Ended(stopped)| stopped)?;
        Ok(saved?)
    }
}
