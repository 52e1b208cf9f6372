//! What must be true of deployments, told from calls, replies and events alone: each is one node's or free, only the least loaded
//! claims, in order, and a node is told exactly what it has and what to stop.

use std::collections::{BTreeMap, BTreeSet};

use lockless_lua_tests::{Host, Reply};

use super::{
    claimants::{Claimant, claimants},
    generator::Call,
    spoken::{assigned_in, is_unreleased, option, options},
};
use crate::cell::{
    ROOT, call as fcall, code, command, field, list, must, number_of, state, text, text_of, texts,
};

#[derive(Clone, Debug, PartialEq, Eq)]
struct Deployment {
    spec: String,
    pool: String,
    is_enabled: bool,
    created: i64,
    updated: i64,
    revision: i64,
    node: Option<String>,
}

/// What a node's last REQUEST gave.
#[derive(Clone)]
struct Turn {
    request: String,
    incarnation: i64,
    claimed: String,
    numbers: [String; 3],
}

#[derive(Default)]
pub(crate) struct Claims {
    known: BTreeMap<String, Deployment>,
    /// The last revision of each id, also of those that were removed.
    revisions: BTreeMap<String, i64>,
    /// What was taken from each node, and whether it was told so.
    taken: BTreeMap<String, BTreeMap<String, bool>>,
    turns: BTreeMap<String, Turn>,
    is_used: bool,
    last_event: String,
}

impl Claims {
    /// To be called before a call. What was settled meanwhile belongs to no call of the history.
    pub(crate) fn before(&mut self, host: &mut dyn Host) {
        if !self.last_event.is_empty() {
            self.see_losses(host);
        }
        self.last_event = text(&list(&must(host, "events $ 1"))[0]);
    }

    /// Follows the nodes that were lost; what happened since the last event that was seen.
    fn see_losses(&mut self, host: &mut dyn Host) -> Vec<Vec<String>> {
        let page = must(host, &format!("events {} 1000", self.last_event));
        let events: Vec<Vec<String>> = list(&list(&page)[1]).iter().map(texts).collect();
        // An event is its id, type, time, node, job, session and detail.
        for event in events.iter().filter(|event| event[1] == "node_lost") {
            if event[6] != "new instance" {
                self.lose(&event[3]);
            }
        }
        self.last_event = text(&list(&page)[0]);
        events
    }

    /// To be called after it.
    pub(crate) fn see(&mut self, host: &mut dyn Host, call: &Call, reply: &Reply) {
        let events = self.see_losses(host);
        if code(reply).is_none() {
            match call.function {
                "deploy" => self.see_deploy(host, call),
                "undeploy" => self.see_undeploy(&call.arg(0)),
                "register" => self.see_register(host, &call.arg(0), reply),
                "claim" => {
                    let released = events
                        .iter()
                        .filter(|event| event[1] == "deployment_released");
                    self.see_claim(host, call, reply, released.count());
                }
                _ => {}
            }
        }
        self.compare(host);
    }

    /// What a lost node had is free, and it has nothing to be told.
    fn lose(&mut self, node: &str) {
        for deployment in self.known.values_mut() {
            deployment.node = deployment.node.take().filter(|owner| owner != node);
        }
        self.taken.remove(node);
    }

    fn take_away(&mut self, id: &str) {
        let owner = self.known.get_mut(id).and_then(|it| it.node.take());
        if let Some(node) = owner {
            let taken = self.taken.entry(node).or_default();
            taken.insert(id.to_owned(), false);
        }
    }

    fn see_deploy(&mut self, host: &mut dyn Host, call: &Call) {
        let id = call.arg(0);
        let before = self.known.get(&id).cloned();
        let shown = fcall(host, "deployment", &call.args[..1]);
        let now = state::get(host, "clock").unwrap();
        let new = before.clone().unwrap_or(Deployment {
            spec: String::new(),
            pool: "default".to_owned(),
            is_enabled: true,
            created: now,
            updated: now,
            revision: 0,
            node: None,
        });
        let mut new = Deployment {
            spec: option(call, 1, "SPEC").unwrap_or(new.spec.clone()),
            pool: option(call, 1, "POOL").unwrap_or(new.pool.clone()),
            is_enabled: option(call, 1, "ENABLED").map_or(new.is_enabled, |word| word == "true"),
            ..new
        };
        if before.as_ref() != Some(&new) {
            new.updated = now;
        }
        if before.as_ref().is_none_or(|before| before.spec != new.spec) {
            new.revision = number_of(&shown, "revision");
            let last = self.revisions.insert(id.clone(), new.revision);
            assert!(last.is_none_or(|last| new.revision > last), "{id}: {new:?}");
        }
        let nodes = claimants(host);
        let owner = new.node.as_ref().map(|node| &nodes[node]);
        let may_stay = new.is_enabled && owner.is_none_or(|it| it.pools.contains(&new.pool));
        self.known.insert(id.clone(), new);
        if !may_stay {
            self.take_away(&id);
        }
        self.is_used = true;
    }

    fn see_undeploy(&mut self, id: &str) {
        self.take_away(id);
        assert!(self.known.remove(id).is_some(), "{id} was not there");
    }

    /// A node keeps what is of its pools.
    fn see_register(&mut self, host: &mut dyn Host, node: &str, reply: &Reply) {
        let pools = claimants(host)[node].pools.clone();
        for id in self.ids_of(node) {
            if !pools.contains(&self.known[&id].pool) {
                self.take_away(&id);
            }
        }
        assert_eq!(assigned_in(reply), self.assigned(node));
    }

    fn ids_of(&self, node: &str) -> Vec<String> {
        let own = |it: &Deployment| it.node.as_deref() == Some(node);
        let mine = self.known.iter().filter(|(_, it)| own(it));
        mine.map(|(id, _)| id.clone()).collect()
    }

    fn assigned(&self, node: &str) -> Vec<(String, i64)> {
        let with_revision = |id: String| (id.clone(), self.known[&id].revision);
        self.ids_of(node).into_iter().map(with_revision).collect()
    }

    fn see_claim(&mut self, host: &mut dyn Host, call: &Call, reply: &Reply, released: usize) {
        let (node, request) = (call.arg(0), option(call, 1, "REQUEST"));
        let nodes = claimants(host);
        let incarnation = nodes[&node].incarnation;
        let claimed = text_of(reply, "claimed");
        let numbers = ["released", "eligible", "value"].map(|name| text_of(reply, name));
        let turn = self.turns.get(&node).cloned().filter(|turn| {
            Some(&turn.request) == request.as_ref() && turn.incarnation == incarnation
        });
        if let Some(turn) = &turn {
            let is_own = self.ids_of(&node).contains(&turn.claimed);
            let expected = if is_own { turn.claimed.as_str() } else { "" };
            assert_eq!((claimed.as_str(), &numbers), (expected, &turn.numbers));
        } else {
            assert_eq!(numbers[0], released.to_string());
            self.see_turn(host, call, &nodes, &claimed, &numbers);
            if let Some(request) = request {
                let claimed = claimed.clone();
                let turn = Turn {
                    request,
                    incarnation,
                    claimed,
                    numbers,
                };
                self.turns.insert(node.clone(), turn);
            }
        }
        let spec = self.known.get(&claimed).map_or("", |it| it.spec.as_str());
        assert_eq!(text_of(reply, "spec"), spec);
        assert_eq!(assigned_in(reply), self.assigned(&node));
        let stop = texts(field(reply, "stop"));
        let distinct: BTreeSet<String> = stop.iter().cloned().collect();
        assert_eq!(distinct.len(), stop.len(), "named twice: {stop:?}");
        let running = options(call, 1, "RUNNING");
        assert_eq!(distinct, self.stops(&node, &running, turn.is_some()));
    }

    /// Only one of the least loaded claims, and the first of what is free in the pools in which it is one.
    fn see_turn(
        &mut self,
        host: &mut dyn Host,
        call: &Call,
        nodes: &BTreeMap<String, Claimant>,
        claimed: &str,
        numbers: &[String; 3],
    ) {
        let node = call.arg(0);
        let settings = must(host, "config");
        let policy =
            option(call, 1, "POLICY").unwrap_or_else(|| text_of(&settings, "claim_policy"));
        let value = |name: &str, it: &Claimant| match policy.as_str() {
            "deployment_count" => self.ids_of(name).len() as f64,
            _ => it.resource_usage(&settings),
        };
        let own = value(&node, &nodes[&node]);
        let said: f64 = numbers[2].parse().unwrap();
        assert!((said - own).abs() <= own.abs() * 1e-12, "{said}, not {own}");
        let is_being_found_out = command(host, &format!("HEXISTS {ROOT} reindex")) == Reply::Int(1);
        let may_claim = self.is_used && !is_being_found_out && nodes[&node].takes_part;
        let is_least = |pool: &String| {
            let mut others = nodes
                .iter()
                .filter(|(_, it)| it.takes_part && it.pools.contains(pool));
            others.all(|(name, it)| own <= value(name, it))
        };
        let pools = nodes[&node].pools.iter();
        let open: BTreeSet<&String> = pools.filter(|pool| may_claim && is_least(pool)).collect();
        assert_eq!(numbers[1], u8::from(!open.is_empty()).to_string());
        let mut free: Vec<(i64, i64, &String)> = Vec::new();
        for (id, it) in &self.known {
            let is_open = it.is_enabled && it.node.is_none() && open.contains(&it.pool);
            // What a lost node had may have to be released first; the one that was claimed has been.
            if is_open && (id == claimed || !is_unreleased(host, id)) {
                free.push((it.updated, it.created, id));
            }
        }
        let first = free.iter().min().map(|(_, _, id)| id.as_str());
        assert_eq!(claimed, first.unwrap_or_default());
        if let Some(it) = self.known.get_mut(claimed) {
            it.node = Some(node.clone());
            self.taken.entry(node).or_default().remove(claimed);
        }
    }

    /// What a node that runs these is told to stop. What it was told before is over, unless it asks again; what it still runs is named
    /// because it says so.
    fn stops(&mut self, node: &str, running: &[String], again: bool) -> BTreeSet<String> {
        let taken = self.taken.entry(node.to_owned()).or_default();
        if !again {
            taken.retain(|_, told| !*told);
            taken.values_mut().for_each(|told| *told = true);
        }
        let mut out: BTreeSet<String> = taken.keys().chain(running).cloned().collect();
        for id in self.ids_of(node) {
            out.remove(&id);
        }
        out
    }

    /// Every deployment is as it should be, and on a node that is there, or on none.
    fn compare(&self, host: &mut dyn Host) {
        let page = must(host, "deployments 0 1000");
        let listed: Vec<Vec<String>> = list(&list(&page)[1]).iter().map(texts).collect();
        let shown = |(id, it): (&String, &Deployment)| {
            let node = it.node.clone().unwrap_or_default();
            let enabled = it.is_enabled.to_string();
            let numbers = [it.revision, it.created, it.updated].map(|number| number.to_string());
            [
                vec![id.clone(), node, enabled, it.pool.clone()],
                numbers.to_vec(),
            ]
            .concat()
        };
        let expected: Vec<Vec<String>> = self.known.iter().map(shown).collect();
        assert_eq!(listed, expected);
        let nodes = claimants(host);
        for (id, it) in &self.known {
            let Some(owner) = &it.node else { continue };
            let is_there = nodes.get(owner).is_some_and(|node| !node.is_lost);
            assert!(is_there, "{id} is on {owner}, which was lost");
        }
    }
}
