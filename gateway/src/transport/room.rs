//! The memory that the bodies of all requests take together.

use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// So much of each body is not counted: what most requests need never waits for those that need more.
const UNCOUNTED_BYTES: usize = 16 * 1024;
/// What is counted is counted in these.
const UNIT_BYTES: usize = 1024;

/// The memory for bodies that is left.
#[derive(Debug, Clone)]
pub struct Room {
    units: Arc<Semaphore>,
    bytes: u64,
}

impl Room {
    /// Room for so many bytes.
    pub fn new(bytes: u64) -> Self {
        let units = Arc::new(Semaphore::new(units_in(bytes)));
        Self { units, bytes }
    }

    /// The memory that bodies take now, without the uncounted part of each.
    pub fn taken_bytes(&self) -> usize {
        (units_in(self.bytes) - self.units.available_permits()) * UNIT_BYTES
    }

    /// What a body begins with.
    pub(super) fn nothing(&self) -> Held<'_> {
        Held {
            room: self,
            permit: None,
            units: 0,
        }
    }

    fn is_full(&self) -> Problem {
        Problem::new(
            "TOO_BUSY",
            format!(
                "the bodies of requests take {} bytes already (--body-memory-mb); nothing was done",
                self.bytes
            ),
        )
    }
}

fn units_in(bytes: u64) -> usize {
    let units = usize::try_from(bytes).unwrap_or(usize::MAX) / UNIT_BYTES;
    units.min(Semaphore::MAX_PERMITS)
}

/// The part of it that one body takes.
#[derive(Debug)]
pub(super) struct Held<'a> {
    room: &'a Room,
    permit: Option<OwnedSemaphorePermit>,
    units: usize,
}

impl Held<'_> {
    /// Takes what a body of so many bytes needs, or says that there is no room for it.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        let needed = bytes.saturating_sub(UNCOUNTED_BYTES).div_ceil(UNIT_BYTES);
        let Some(more) = needed.checked_sub(self.units).filter(|more| *more > 0) else {
            return Ok(());
        };
        let more_units = u32::try_from(more).map_err(|_| self.room.is_full())?;
        let units = Arc::clone(&self.room.units);
        let taken = units
            .try_acquire_many_owned(more_units)
            .map_err(|_| self.room.is_full())?;
        match &mut self.permit {
            Some(permit) => permit.merge(taken),
            None => self.permit = Some(taken),
        }
        self.units = needed;
        Ok(())
    }

    /// A body that has arrived, with its room.
    pub(super) fn with(self, bytes: Bytes) -> Received {
        Received {
            bytes,
            _room: self.permit,
        }
    }
}

/// A body that has arrived. Its room is free again when this is dropped.
#[derive(Debug, Default)]
pub struct Received {
    bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

impl Deref for Received {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_bodies_share_the_room_and_small_ones_need_none() {
        let room = Room::new(100 * 1024);
        let mut first = room.nothing();
        first.grow_to(60 * 1024).expect("there is room");
        first.grow_to(110 * 1024).expect("there is room");
        let mut second = room.nothing();
        assert_eq!(second.grow_to(60 * 1024).unwrap_err().code(), "TOO_BUSY");
        second.grow_to(UNCOUNTED_BYTES).expect("it is small");
        assert_eq!(room.taken_bytes(), 94 * 1024);
        drop(first.with(Bytes::new()));
        assert_eq!(room.taken_bytes(), 0);
        second.grow_to(60 * 1024).expect("there is room again");
    }
}
