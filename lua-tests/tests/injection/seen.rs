//! What a caller can see of a cell, so that two ways to the same state can be compared.

use std::collections::BTreeSet;

use lockless_lua_tests::{InProcess, Reply};

use crate::cell::{ROOT, call, command, keyspace, list, must, state, text, texts};

/// Fields that tell how often something was tried, not what came of it.
const DRAWN: [&str; 2] = ["incarnation", "class"];

pub(crate) fn without_drawn(reply: &Reply) -> Vec<(String, String)> {
    let pairs = list(reply).chunks(2);
    let shown = pairs.map(|pair| (text(&pair[0]), format!("{:?}", pair[1])));
    shown
        .filter(|(name, _)| !DRAWN.contains(&name.as_str()))
        .collect()
}

/// The lease of a session and the requests that led to it. What else it remembers may be lost with an interrupted call.
fn binding(host: &mut InProcess, session: &str) -> Vec<String> {
    let fields = format!("HMGET {ROOT}:session:{session} sticky requests");
    let known = |field: &Reply| (*field != Reply::Nil).then(|| text(field));
    let fields: Vec<_> = list(&command(host, &fields)).iter().map(known).collect();
    let lease = fields[0]
        .iter()
        .flat_map(|sticky| state::lease_words(sticky));
    lease.map(str::to_owned).chain(fields[1].clone()).collect()
}

/// Everything a caller can see of the cell, apart from what is drawn.
pub(crate) fn seen(host: &mut InProcess) -> Vec<String> {
    let mut out = vec![format!("{:?}", must(host, "stats"))];
    let nodes = must(host, "nodes 0 1000");
    for node in texts(&list(&nodes)[1]) {
        out.push(format!(
            "{:?}",
            without_drawn(&must(host, &format!("node {node}")))
        ));
    }
    let jobs = ["i", "j", "k", "m", "s:1", "s:2"].map(str::to_owned);
    for job in jobs
        .into_iter()
        .chain((0..30).map(|number| format!("f{number}")))
    {
        out.push(format!("{:?}", call(host, "job", &[job])));
    }
    // One may be written twice, by the call that was interrupted and by the one that makes it whole.
    let events = must(host, "events - 1000");
    let told: BTreeSet<String> = list(&list(&events)[1])
        .iter()
        .map(|event| format!("{:?}", [1, 3, 4, 5].map(|at| &list(event)[at])))
        .collect();
    out.push(format!("{told:?}"));
    for (key, value) in keyspace(host) {
        if [
            ":guard:node:",
            ":limit:log:",
            ":lock:",
            ":node:work:",
            ":delayed",
        ]
        .iter()
        .any(|family| key.contains(family))
        {
            out.push(format!("{key} {value:?}"));
        }
    }
    for id in ["d", "e"] {
        out.push(format!("{:?}", call(host, "deployment", &[id])));
    }
    for session in ["s", "t"] {
        out.push(format!("{:?}", binding(host, session)));
    }
    for state in [
        "pending",
        "dispatched",
        "running",
        "failed",
        "expired",
        "cancelled",
    ] {
        out.push(format!("{:?}", must(host, &format!("jobs {state} 0 1000"))));
    }
    out
}
