//! What a caller can see of a cell, so that two ways to the same state can be compared.

use crate::Error;
use crate::wire::{Answer, Said};

use super::stage::Stage;

/// Fields that tell how often something was tried, not what came of it.
const DRAWN: [&str; 2] = ["incarnation", "class"];
const JOBS: [&str; 10] = ["i", "j", "k", "m", "s:1", "s:2", "f0", "f1", "f15", "f29"];
const STATES: [&str; 6] = [
    "pending",
    "dispatched",
    "running",
    "failed",
    "expired",
    "cancelled",
];

/// A reply apart from what is drawn.
pub(super) fn without_drawn(reply: &Answer) -> String {
    let Answer::List(fields) = reply else {
        return format!("{reply:?}");
    };
    let kept = fields.chunks(2);
    let kept = kept.filter(|pair| !DRAWN.contains(&pair[0].text().as_str()));
    format!("{:?}", kept.collect::<Vec<_>>())
}

/// Of a session its lease. What else it remembers may be lost with an interrupted call.
fn binding(said: &Said) -> String {
    const LEASE: [&str; 5] = [
        "node_id",
        "lease_id",
        "lease_expire_ts",
        "job_id",
        "request_id",
    ];
    let value = |name: &str| said.reply().and_then(|fields| fields.field(name));
    LEASE
        .map(|name| value(name).map(Answer::text).unwrap_or_default())
        .join(" ")
}

/// Everything, apart from what is drawn.
pub(super) fn all(stage: &mut Stage) -> Result<Vec<String>, Error> {
    let mut lines = vec!["stats".to_owned()];
    let nodes = stage.say("nodes 0 1000");
    let nodes = nodes
        .reply()
        .and_then(|reply| reply.list().get(1).map(Answer::texts));
    for node in nodes.unwrap_or_default() {
        lines.push(format!("node {node}"));
        lines.push(format!("holds {node} 0 1000"));
    }
    lines.extend(JOBS.map(|job| format!("job {job}")));
    lines.extend(STATES.map(|state| format!("jobs {state} 0 1000")));
    lines.extend(["deployment d", "deployment e", "session s", "session t"].map(str::to_owned));
    let mut seen = Vec::new();
    for line in lines {
        let said = stage.say(&line);
        let shown = match &said {
            _ if line.starts_with("session ") => binding(&said),
            Said::Reply(reply) => without_drawn(reply),
            other => format!("{other:?}"),
        };
        seen.push(format!("{line}: {shown}"));
    }
    Ok(seen)
}
