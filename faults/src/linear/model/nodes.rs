//! Nodes come, speak and go.

use super::super::call::Call;
use super::super::heard::Heard;
use super::super::names::{InstanceId, NodeId};
use super::fleet::{Fleet, Node};

impl Fleet {
    pub(super) fn node_call(&self, call: &Call, heard: Heard<'_>) -> Vec<Self> {
        match *call {
            Call::Register {
                node,
                max_jobs,
                instance,
                has_label,
            } => self.register(node, max_jobs, instance, has_label, heard),
            Call::Heartbeat {
                node,
                foreign,
                online,
                incarnation,
            } => match self.own_word(node, incarnation) {
                Err(code) => self.refused(heard, code),
                Ok(known) => {
                    let mut said = known.clone();
                    said.foreign = foreign.unwrap_or(said.foreign);
                    said.is_offline = online.map_or(said.is_offline, |online| !online);
                    let fields = [
                        ("state", self.state(node, &said).to_owned()),
                        ("held", self.held(node).to_string()),
                        ("foreign", said.foreign.to_string()),
                    ];
                    let fits =
                        heard.has_fields(&fields) && heard.has_set("stop", &self.to_stop(node));
                    self.changed(fits, |next| {
                        next.nodes.insert(node, said);
                    })
                }
            },
            Call::Drain {
                node,
                on,
                incarnation,
            } => match self.own_word(node, incarnation) {
                Err(code) => self.refused(heard, code),
                Ok(known) => {
                    let mut said = known.clone();
                    said.is_draining = on;
                    self.changed(heard.is_ok(), |next| {
                        next.nodes.insert(node, said);
                    })
                }
            },
            Call::Deregister { node, incarnation } => match self.own_word(node, incarnation) {
                Err(code) => self.refused(heard, code),
                Ok(_) => {
                    let settled = self.holds_of(node).count() as i64;
                    self.changed(heard.is_number(settled), |next| {
                        next.lose(node);
                        next.nodes.remove(&node);
                    })
                }
            },
            Call::Node { node } => match self.nodes.get(&node) {
                None => self.refused(heard, "UNKNOWN_NODE"),
                Some(known) => {
                    let held = self.held(node);
                    let fields = [
                        ("state", self.state(node, known).to_owned()),
                        ("max_jobs", known.max_jobs.to_string()),
                        ("current_jobs", held.to_string()),
                        ("foreign", known.foreign.to_string()),
                        ("effective", (held + known.foreign).to_string()),
                        ("draining", known.is_draining.to_string()),
                        ("online", (!known.is_offline).to_string()),
                        ("incarnation", known.incarnation.to_string()),
                    ];
                    self.unless(!heard.has_fields(&fields))
                }
            },
            _ => Vec::new(),
        }
    }

    /// Whether a node may speak, or how it is refused.
    pub(super) fn own_word(
        &self,
        node: NodeId,
        incarnation: Option<u64>,
    ) -> Result<&Node, &'static str> {
        let known = self.nodes.get(&node).ok_or("UNKNOWN_NODE")?;
        match incarnation {
            Some(given) if given != known.incarnation => Err("STALE_NODE"),
            _ => Ok(known),
        }
    }

    fn register(
        &self,
        node: NodeId,
        max_jobs: u32,
        instance: Option<InstanceId>,
        has_label: bool,
        heard: Heard<'_>,
    ) -> Vec<Self> {
        let mut next = self.clone();
        let known = self.nodes.get(&node);
        let is_new = known.is_none_or(|known| instance.is_some() && instance != known.instance);
        if is_new {
            next.incarnation += 1;
            next.lose(node);
        }
        let said = Node {
            max_jobs,
            instance: instance.or(known.and_then(|known| known.instance)),
            incarnation: if is_new {
                next.incarnation
            } else {
                known.map_or(0, |known| known.incarnation)
            },
            has_label,
            is_draining: known.is_some_and(|known| known.is_draining),
            is_offline: false,
            foreign: if is_new {
                0
            } else {
                known.map_or(0, |known| known.foreign)
            },
            taken: known
                .filter(|_| !is_new)
                .and_then(|known| known.taken.clone()),
            pulled: known
                .filter(|_| !is_new)
                .and_then(|known| known.pulled.clone()),
        };
        let fields = [
            ("incarnation", said.incarnation.to_string()),
            ("held", next.held(node).to_string()),
        ];
        next.nodes.insert(node, said);
        if heard.has_fields(&fields) {
            vec![next]
        } else {
            Vec::new()
        }
    }

    fn state(&self, id: NodeId, node: &Node) -> &'static str {
        if node.is_offline {
            "offline"
        } else if node.is_draining {
            "draining"
        } else if self.has_room(id, node) {
            "ready"
        } else {
            "full"
        }
    }
}
