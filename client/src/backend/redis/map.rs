//! Which primary has which cell.

use std::sync::Arc;

use lockless_topology::{Address, Primary, slot_of_key};

use super::server::Server;
use crate::backend::Cell;

/// The primaries there are, each with its connections.
pub(super) struct Map {
    primaries: Vec<(Primary, Arc<Server>)>,
}

impl Map {
    pub(super) fn new(primaries: Vec<(Primary, Arc<Server>)>) -> Self {
        Self { primaries }
    }

    /// The primary of a cell; none while its slot belongs to nobody.
    pub(super) fn server_of(&self, cell: &Cell) -> Option<&Arc<Server>> {
        if let [(_, only)] = self.primaries.as_slice() {
            return Some(only);
        }
        let slot = slot_of_key(cell.root());
        let mut found = self
            .primaries
            .iter()
            .filter(|(primary, _)| primary.has_slot(slot));
        found.next().map(|(_, server)| server)
    }

    /// The primary at an address.
    pub(super) fn server_at(&self, address: &Address) -> Option<&Arc<Server>> {
        self.servers().find(|server| server.address == *address)
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.primaries.iter().map(|(_, server)| server)
    }

    pub(super) fn primaries(&self) -> &[(Primary, Arc<Server>)] {
        &self.primaries
    }
}
