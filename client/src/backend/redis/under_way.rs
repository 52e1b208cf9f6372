//! Calls on their way: where each is to be sent, and what has become of it.

use std::sync::Arc;

use futures_util::future::join_all;

use super::answer::Trouble;
use super::map::Map;
use super::server::Server;
use crate::backend::{Call, Durability, Failure, Reply};

/// Calls, each with what is known of its outcome.
pub(super) struct UnderWay<'a> {
    calls: &'a [Call],
    states: Vec<State>,
}

enum State {
    /// Not answered. A connection broke during it, or none did.
    Sent {
        lost: Option<String>,
    },
    /// To be sent again.
    Again {
        trouble: Trouble,
        lost: Option<String>,
    },
    Done(Result<Reply, Failure>),
}

/// Calls for one server.
struct Parcel {
    server: Arc<Server>,
    at: Vec<usize>,
    is_asking: bool,
}

impl<'a> UnderWay<'a> {
    /// Calls that are to be sent. The first may have been tried before, and met this.
    pub(super) fn new(calls: &'a [Call], met: Option<Trouble>) -> Self {
        let mut states: Vec<State> = calls.iter().map(|_| State::Sent { lost: None }).collect();
        if let (Some(first), Some(trouble)) = (states.first_mut(), met) {
            first.note(Err(trouble));
        }
        Self { calls, states }
    }

    pub(super) fn is_done(&self) -> bool {
        self.states
            .iter()
            .all(|state| matches!(state, State::Done(_)))
    }

    /// Whether the cell of some call is not where it was thought to be.
    pub(super) fn is_elsewhere(&self) -> bool {
        let mut troubles = self.states.iter().filter_map(State::trouble);
        troubles.any(|trouble| matches!(trouble, Trouble::Elsewhere(_)))
    }

    /// A server to which a connection broke under some call.
    pub(super) fn lost_on<'m>(&self, map: &'m Map) -> Option<&'m Arc<Server>> {
        let is_lost = |state: &State| matches!(state.trouble(), Some(Trouble::Lost(_)));
        let at = self.states.iter().position(is_lost)?;
        map.server_of(&self.calls[at].cell)
    }

    /// There is no server.
    pub(super) fn none_can_be_sent(&mut self, why: &str) {
        for state in &mut self.states {
            state.note(Err(Trouble::Final(Failure::Away(why.to_owned()))));
        }
    }

    /// Sends whatever has no outcome yet.
    pub(super) async fn send(&mut self, map: &Map, durability: Durability) {
        let parcels = self.parcels(map);
        if let [parcel] = parcels.as_slice() {
            let replies = parcel.send(self.calls, durability).await;
            return self.note(&parcel.at, replies);
        }
        let sending = parcels
            .iter()
            .map(|parcel| parcel.send(self.calls, durability));
        let replies = join_all(sending).await;
        for (parcel, replies) in parcels.iter().zip(replies) {
            self.note(&parcel.at, replies);
        }
    }

    pub(super) fn outcomes(self) -> Vec<Result<Reply, Failure>> {
        self.states.into_iter().map(State::outcome).collect()
    }

    fn parcels(&mut self, map: &Map) -> Vec<Parcel> {
        let mut parcels: Vec<Parcel> = Vec::new();
        for (at, state) in self.states.iter_mut().enumerate() {
            let asked = match state {
                State::Done(_) => continue,
                State::Again {
                    trouble: Trouble::Ask(address),
                    ..
                } => map.server_at(address),
                _ => None,
            };
            let is_asking = asked.is_some();
            let cell = &self.calls[at].cell;
            let Some(server) = asked.or_else(|| map.server_of(cell)) else {
                state.note(Err(Trouble::Elsewhere(format!(
                    "no primary has the slot of {cell}"
                ))));
                continue;
            };
            state.sent();
            let known = parcels.iter_mut().find(|parcel| {
                !is_asking && !parcel.is_asking && Arc::ptr_eq(&parcel.server, server)
            });
            match known {
                Some(parcel) => parcel.at.push(at),
                None => parcels.push(Parcel {
                    server: Arc::clone(server),
                    at: vec![at],
                    is_asking,
                }),
            }
        }
        parcels
    }

    fn note(&mut self, at: &[usize], replies: Vec<Result<Reply, Trouble>>) {
        for (&at, reply) in at.iter().zip(replies) {
            self.states[at].note(reply);
        }
    }
}

impl Parcel {
    async fn send(&self, calls: &[Call], durability: Durability) -> Vec<Result<Reply, Trouble>> {
        if self.is_asking {
            let call = &calls[self.at[0]];
            let reply = self.server.send_asking(call).await;
            // No WAIT follows it there. The same call again, once the cell has moved, is confirmed.
            if durability == Durability::Replica && call.writes && reply.is_ok() {
                return vec![Err(Trouble::Final(Failure::DurabilityUnknown))];
            }
            return vec![reply];
        }
        let own: Vec<&Call> = self.at.iter().map(|&at| &calls[at]).collect();
        self.server.send(&own, durability).await
    }
}

impl State {
    fn trouble(&self) -> Option<&Trouble> {
        match self {
            Self::Again { trouble, .. } => Some(trouble),
            _ => None,
        }
    }

    fn lost(&mut self) -> Option<String> {
        match self {
            Self::Sent { lost } | Self::Again { lost, .. } => lost.take(),
            Self::Done(_) => None,
        }
    }

    fn sent(&mut self) {
        let lost = self.lost();
        *self = Self::Sent { lost };
    }

    fn note(&mut self, reply: Result<Reply, Trouble>) {
        let lost = self.lost();
        *self = match reply {
            Ok(reply) => Self::Done(Ok(reply)),
            Err(Trouble::Final(failure)) => Self::Done(Err(with_past(failure, lost))),
            Err(Trouble::Lost(why)) => Self::Again {
                trouble: Trouble::Lost(why.clone()),
                lost: Some(why),
            },
            Err(trouble) => Self::Again { trouble, lost },
        };
    }

    fn outcome(self) -> Result<Reply, Failure> {
        match self {
            Self::Done(outcome) => outcome,
            Self::Again { trouble, lost } => Err(with_past(trouble.failure(), lost)),
            Self::Sent { .. } => Err(Failure::Slow),
        }
    }
}

/// That nothing was done is true only of a call whose earlier attempt was not lost.
fn with_past(failure: Failure, lost: Option<String>) -> Failure {
    match (failure, lost) {
        (Failure::Away(_) | Failure::Full(_) | Failure::LibraryMissing, Some(lost)) => {
            Failure::Lost(lost)
        }
        (Failure::Library { code, .. }, Some(lost)) if code == "CELL_MOVING" => Failure::Lost(lost),
        (failure, _) => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_lost_once_is_never_said_not_to_be_done() {
        let mut state = State::Sent { lost: None };
        state.note(Err(Trouble::Lost("broken".to_owned())));
        state.sent();
        state.note(Err(Trouble::Elsewhere("moved".to_owned())));
        state.sent();
        state.note(Err(Trouble::Final(Failure::Away("closed".to_owned()))));
        assert_eq!(state.outcome(), Err(Failure::Lost("broken".to_owned())));
    }

    #[test]
    fn a_call_without_an_answer_is_slow() {
        assert_eq!(State::Sent { lost: None }.outcome(), Err(Failure::Slow));
    }
}
