//! What others are given between an interrupted call and its repetition: no slot that a node does not have, and no error that is
//! the library's own.

use std::collections::BTreeMap;

use lockless_lua_tests::{InProcess, Model, Reply};

use crate::cell::{ROOT, code, command, list, number_of, say, text, texts};

/// More than the slots that a scenario leaves free.
const ROUNDS: usize = 6;

#[derive(Clone, Copy)]
struct Load {
    held: i64,
    foreign: i64,
    max_jobs: i64,
}

fn load(host: &mut InProcess, node: &str) -> Option<Load> {
    let reply = say(host, &format!("node {node}"));
    // Its registration was interrupted, or it is damaged.
    if code(&reply).is_some() {
        return None;
    }
    let seats_twice = seats_with_their_job(host, node);
    let number = |name| number_of(&reply, name);
    Some(Load {
        held: number("current_jobs") - seats_twice,
        foreign: number("foreign"),
        max_jobs: number("max_jobs"),
    })
}

/// A job that is put into its session's seat, or leaves it, is in the same slot as the seat: for a moment, or until an interrupted
/// call is made again, both are listed.
fn seats_with_their_job(host: &mut InProcess, node: &str) -> i64 {
    let listed = command(host, &format!("ZRANGE {ROOT}:node:slots:{node} 0 -1"));
    let (mut seats, mut sitting) = (Vec::new(), Vec::new());
    for hold in texts(&listed) {
        if let Some((session, _)) = hold.strip_prefix('s').and_then(|seat| seat.split_once(' ')) {
            seats.push(session.to_owned());
        } else if let Some(job) = hold.strip_prefix('j') {
            let record = command(host, &format!("HGET {ROOT}:job:{job} d"));
            if record != Reply::Nil
                && let words = text(&record)
                && let words = words.split(' ').collect::<Vec<_>>()
                && words.get(2) == Some(&"b")
            {
                sitting.extend(words.last().map(|session| (*session).to_owned()));
            }
        }
    }
    let both = seats.iter().filter(|session| sitting.contains(session));
    i64::try_from(both.count()).unwrap()
}

fn loads(host: &mut InProcess, nodes: &[String]) -> BTreeMap<String, Load> {
    let known = |node: &String| Some((node.clone(), load(host, node)?));
    nodes.iter().filter_map(known).collect()
}

/// The node that a reply gives, where it gives one.
fn given(reply: &Reply) -> Option<String> {
    match reply {
        Reply::Array(items) => match items.as_slice() {
            [node, _] if matches!(node, Reply::Bulk(_)) => Some(text(node)),
            [_, _, _, node, ..] => Some(text(node)),
            _ => None,
        },
        _ => None,
    }
}

/// What is asked for in a round: one kind at a time, because some set right what others go by.
fn asked(kind: &str, round: usize, nodes: &[String]) -> Vec<String> {
    match kind {
        "dispatch" => vec![format!("dispatch probe{round} - - p JOB probe{round}")],
        "bind" => vec![format!("bind probe{round} probe")],
        "reserve" => nodes
            .iter()
            .map(|node| format!("reserve {node} probe{round}{node} 60000"))
            .collect(),
        _ => nodes.iter().map(|node| format!("pull {node}")).collect(),
    }
}

/// What goes wrong when someone takes what there is to get. A node may say in the interrupted call that it has less foreign work than
/// the cell knows of yet, so only what is held counts then.
pub(crate) fn faults(host: &mut InProcess, interrupted: &str) -> Vec<String> {
    let counts_foreign = !["heartbeat", "tick", "register"]
        .iter()
        .any(|function| interrupted.starts_with(function));
    let page = say(host, "nodes 0 1000");
    // In a cell that is damaged nobody gets anything.
    if code(&page).is_some() {
        return Vec::new();
    }
    let nodes = texts(&list(&page)[1]);
    let start = loads(host, &nodes);
    let half = host.snapshot().unwrap();
    let mut out = Vec::new();
    for kind in ["dispatch", "bind", "reserve", "pull"] {
        taken(host, kind, &nodes, start.clone(), counts_foreign, &mut out);
        host.restore(&half).unwrap();
    }
    out
}

/// Takes what there is to get of one kind.
fn taken(
    host: &mut InProcess,
    kind: &str,
    nodes: &[String],
    mut before: BTreeMap<String, Load>,
    counts_foreign: bool,
    out: &mut Vec<String>,
) {
    for round in 0..ROUNDS {
        let mut is_over = true;
        for line in asked(kind, round, nodes) {
            let reply = say(host, &line);
            if code(&reply) == Some("ERR") {
                out.push(format!("meanwhile {line}: {reply:?}"));
            }
            if code(&reply).is_some() || reply == Reply::Int(0) {
                continue;
            }
            is_over = false;
            let after = loads(host, nodes);
            if kind != "pull"
                && let Some(node) = given(&reply)
                && !after.contains_key(&node)
            {
                out.push(format!(
                    "meanwhile {line}: it gave {node}, which nobody knows"
                ));
            }
            for (node, now) in &after {
                let held_before = before.get(node).map_or(0, |load| load.held);
                let foreign = if counts_foreign { now.foreign } else { 0 };
                if now.held > held_before && now.held + foreign > now.max_jobs {
                    let (held, max) = (now.held, now.max_jobs);
                    out.push(format!(
                        "meanwhile {line}: {node} holds {held} beside {foreign} foreign, of {max}"
                    ));
                }
            }
            before = after;
        }
        if is_over || !out.is_empty() {
            return;
        }
    }
}
