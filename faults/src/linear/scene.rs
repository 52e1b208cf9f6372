//! Random calls that meet: few nodes with few slots, few jobs, few sessions.

use fastrand::Rng;

use super::call::Call;
use super::drawn::{
    NODES, bind, cancel, depart, dispatch, drain, heartbeat, lease, limit, lock, look,
    look_at_node, plain_complete, plain_dispatch, pull, register, reserve, submit, take, unlock,
    word,
};
use super::known::Known;
use super::names::{InstanceId, NodeId};

/// What a history is mostly about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scene {
    /// Jobs that are pushed to nodes, and what nodes say of them.
    Pushed,
    /// Slots that are reserved on chosen nodes.
    Reserved,
    /// Jobs that wait in the queue.
    Queued,
    /// Sessions that are bound.
    Bound,
    /// Nodes that come and go with jobs on them.
    Coming,
    /// Locks and rate limits.
    Guards,
    /// A little of everything.
    Mixed,
    /// Only what the script of the systems before could do.
    Plain,
}

/// The scenes of the library, each as often as the others.
pub const SCENES: [Scene; 7] = [
    Scene::Pushed,
    Scene::Reserved,
    Scene::Queued,
    Scene::Bound,
    Scene::Coming,
    Scene::Guards,
    Scene::Mixed,
];

type Make = fn(&mut Rng, &Known) -> Call;

impl Scene {
    /// The calls that set the scene, one after the other.
    pub fn opening(self, random: &mut Rng) -> Vec<Call> {
        if self == Self::Guards {
            return Vec::new();
        }
        let count = 1 + random.u8(..NODES);
        let register = |number| Call::Register {
            node: NodeId(number),
            max_jobs: random.u32(1..=2),
            instance: Some(InstanceId(0)),
            has_label: self != Self::Plain && random.bool(),
        };
        (0..count).map(register).collect()
    }

    /// The next call of a caller.
    pub fn next(self, random: &mut Rng, known: &Known) -> Call {
        let made: &[(u32, Make)] = match self {
            Self::Pushed => &[
                (4, dispatch),
                (5, word),
                (2, cancel),
                (2, take),
                (3, look),
                (1, heartbeat),
            ],
            Self::Reserved => &[
                (4, reserve),
                (2, dispatch),
                (5, word),
                (2, cancel),
                (3, look),
            ],
            Self::Queued => &[
                (4, submit),
                (4, pull),
                (4, word),
                (2, cancel),
                (1, dispatch),
                (3, look),
            ],
            Self::Bound => &[
                (4, bind),
                (2, lease),
                (4, dispatch),
                (3, word),
                (1, cancel),
                (1, reserve),
                (2, look),
            ],
            Self::Coming => &[
                (3, register),
                (2, depart),
                (2, heartbeat),
                (2, drain),
                (4, dispatch),
                (1, bind),
                (3, word),
                (3, look),
            ],
            Self::Guards => &[(3, lock), (2, unlock), (3, limit)],
            Self::Mixed => &[
                (1, register),
                (1, heartbeat),
                (1, drain),
                (1, depart),
                (3, dispatch),
                (1, reserve),
                (1, submit),
                (1, pull),
                (1, take),
                (4, word),
                (1, cancel),
                (1, bind),
                (1, lease),
                (3, look),
                (1, lock),
                (1, unlock),
                (1, limit),
            ],
            Self::Plain => &[(3, plain_dispatch), (3, plain_complete), (1, look_at_node)],
        };
        let total: u32 = made.iter().map(|(weight, _)| weight).sum();
        let mut drawn = random.u32(..total);
        let chosen = made.iter().find(|(weight, _)| {
            let is_it = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            is_it
        });
        chosen.map_or(look as Make, |(_, make)| *make)(random, known)
    }
}
