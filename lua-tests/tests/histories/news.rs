//! What a call must tell others: announcements while someone listens, events, and the snapshot.

use std::collections::BTreeSet;

use lockless_lua_tests::Host;

use super::bindings::now_ms;
use crate::cell::{ROOT, command, list, must, number, state, text, text_of, texts};

/// What a call announced, and what was so before it.
#[derive(Default)]
pub(crate) struct News {
    is_listened_to: bool,
    ends: Vec<i64>,
    tells_all: bool,
    last_event: String,
    nodes: BTreeSet<String>,
}

impl News {
    /// Someone listens until the moment the cell's record says; the cell's clock never goes back.
    pub(crate) fn before(&mut self, host: &mut dyn Host) {
        // What was said meanwhile belongs to no call of the history.
        host.heard().unwrap();
        let listen = state::get(host, "listen").unwrap();
        self.is_listened_to = now_ms(host) < listen;
        self.ends = ends(host);
        self.tells_all = text_of(&must(host, "config"), "events") == "all";
        self.last_event = text(&list(&must(host, "events $ 1"))[0]);
    }

    /// Every end, and there is one per count of an outcome, was announced once; to nobody, nothing was.
    pub(crate) fn after(&mut self, host: &mut dyn Host, said: Vec<String>) {
        let (events, said): (Vec<_>, Vec<_>) =
            said.into_iter().partition(|message| message == "event");
        let (ended, nodes): (Vec<_>, Vec<_>) = said
            .into_iter()
            .partition(|message| message.starts_with("ended "));
        let distinct: BTreeSet<&String> = ended.iter().collect();
        assert_eq!(distinct.len(), ended.len(), "announced twice: {ended:?}");
        let is_told = self.see_events(host);
        assert_eq!(events.len(), usize::from(is_told && self.is_listened_to));
        let ends = ends(host).iter().sum::<i64>() - self.ends.iter().sum::<i64>();
        let expected = if self.is_listened_to { ends } else { 0 };
        assert_eq!(ended.len().to_string(), expected.to_string(), "{ended:?}");
        assert!(
            self.is_listened_to || nodes.is_empty(),
            "nobody listens: {nodes:?}"
        );
        self.nodes = nodes.into_iter().collect();
    }

    /// Every end that is to be told of has one event. Says whether there is any.
    fn see_events(&self, host: &mut dyn Host) -> bool {
        let page = must(host, &format!("events {} 1000", self.last_event));
        let types: Vec<String> = list(&list(&page)[1])
            .iter()
            .map(|event| texts(event)[1].clone())
            .collect();
        for (at, count) in ends(host).into_iter().enumerate() {
            let kind = [
                "job_completed",
                "job_failed",
                "job_expired",
                "job_cancelled",
            ]
            .get(at);
            let Some(kind) = kind else { continue };
            let is_wanted = self.tells_all || ["job_failed", "job_expired"].contains(kind);
            let told = types.iter().filter(|written| written == kind).count();
            let expected = if is_wanted { count - self.ends[at] } else { 0 };
            assert_eq!(told.to_string(), expected.to_string(), "{kind}: {types:?}");
        }
        !types.is_empty()
    }

    pub(crate) fn assert_named(&self, node: &str, why: &str) {
        assert!(
            !self.is_listened_to || self.nodes.contains(node),
            "{node} was not announced, {why}"
        );
    }
}

/// How many jobs have ended in each way, from the cell's record.
fn ends(host: &mut dyn Host) -> Vec<i64> {
    let counters = format!("HMGET {ROOT} failed expired cancelled released");
    let others = list(&command(host, &counters)).iter().map(number).collect();
    [vec![state::get(host, "finished").unwrap_or(0)], others].concat()
}

/// The number after a name in JSON.
fn number_in(json: &str, name: &str) -> i64 {
    let (_, rest) = json.split_once(&format!("\"{name}\":")).unwrap();
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    digits.unwrap().parse().unwrap()
}

/// A new snapshot has every node in one state.
pub(crate) fn see_snapshot(host: &mut dyn Host, json: &str) {
    // Quotes and backslashes come escaped.
    let json = json.replace('\\', "");
    let nodes = &json[json.find("\"nodes\":").unwrap()..];
    let states = ["ready", "full", "busy", "draining", "offline"];
    let sum: i64 = states.iter().map(|state| number_in(nodes, state)).sum();
    let page = must(host, "nodes 0 1000");
    let there = i64::try_from(list(&list(&page)[1]).len()).unwrap();
    assert_eq!((number_in(nodes, "total"), sum), (there, there), "{json}");
}
