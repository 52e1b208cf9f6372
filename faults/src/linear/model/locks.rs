//! Locks with fencing tokens.

use std::collections::BTreeMap;

use super::super::call::Call;
use super::super::heard::Heard;
use super::super::history::Reply;
use super::super::names::{LockName, OwnerId};
use super::super::search::Model;

/// The locks of a cell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Locks {
    /// The greatest token that was told.
    greatest: u64,
    held: BTreeMap<LockName, Held>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Held {
    owner: OwnerId,
    /// Unknown until a reply names it; then it is greater than this.
    token: Result<u64, u64>,
}

impl Locks {
    fn lock(&self, name: LockName, owner: OwnerId, heard: Heard<'_>) -> Option<Self> {
        let held = self.held.get(&name);
        if let Some(other) = held.filter(|held| held.owner != owner) {
            let reply = ["0".to_owned(), other.owner.to_string()];
            return heard.is_list(&reply).then(|| self.clone());
        }
        let token = match heard.answer() {
            None => None,
            Some(answer) => match answer.list() {
                [one, token] if one.int() == Some(1) => Some(token.int()?.unsigned_abs()),
                _ => return None,
            },
        };
        if !heard.is_answer() {
            return None;
        }
        let token = match (held.map(|held| held.token), token) {
            (Some(Ok(known)), Some(said)) if known != said => return None,
            (Some(Ok(known)), _) => Ok(known),
            (Some(Err(below)), Some(said)) if said <= below => return None,
            (Some(Err(below)), None) => Err(below),
            (None, Some(said)) if said <= self.greatest => return None,
            (None, None) => Err(self.greatest),
            (_, Some(said)) => Ok(said),
        };
        let mut next = self.clone();
        next.greatest = next.greatest.max(token.unwrap_or_default());
        next.held.insert(name, Held { owner, token });
        Some(next)
    }

    fn unlock(&self, name: LockName, owner: OwnerId, heard: Heard<'_>) -> Option<Self> {
        let is_its = self.held.get(&name).is_some_and(|held| held.owner == owner);
        let mut next = self.clone();
        if is_its {
            next.held.remove(&name);
        }
        heard.is_number(i64::from(is_its)).then_some(next)
    }
}

impl Model for Locks {
    fn after(&self, call: &Call, reply: Option<&Reply>) -> Vec<Self> {
        let heard = Heard(reply);
        let next = match *call {
            Call::Lock { name, owner } => self.lock(name, owner, heard),
            Call::Unlock { name, owner } => self.unlock(name, owner, heard),
            _ => None,
        };
        next.into_iter().collect()
    }
}
