//! An audit of the jobs that wait for a node, from the keys alone: each stands in one place, and every queue is found by its head.

use std::collections::BTreeMap;

use super::{ROOT, Value};

type Keys = BTreeMap<String, Value>;

/// The members of a sorted set and their scores, in order.
fn entries(keys: &Keys, suffix: &str) -> Vec<(String, f64)> {
    let Some(value) = keys.get(&format!("{ROOT}:{suffix}")) else {
        return Vec::new();
    };
    let pairs = value.items.chunks(2);
    pairs
        .map(|pair| (pair[0].clone(), pair[1].parse().unwrap()))
        .collect()
}

/// Whether a job from the queue is on no node and has not ended.
fn waits(job: &Value) -> bool {
    job.get("q").is_some()
        && job.get("f").is_none()
        && job
            .get("d")
            .is_some_and(|packed| packed.starts_with("\\x01 "))
}

/// How often each job stands in a queue or waits for its time.
pub(crate) fn places(keys: &Keys) -> BTreeMap<String, usize> {
    let queue = format!("{ROOT}:queue:");
    let queues = keys
        .keys()
        .filter_map(|key| key.strip_prefix(&queue))
        .map(|number| format!("queue:{number}"));
    let mut out = BTreeMap::new();
    for suffix in queues.chain(["delayed".to_owned()]) {
        for (job, _) in entries(keys, &suffix) {
            *out.entry(job).or_default() += 1;
        }
    }
    out
}

/// Whether a queue of that number is listed.
pub(crate) fn is_queue(keys: &Keys, number: &str) -> bool {
    let listed = entries(keys, "queues");
    listed.iter().any(|(_, score)| score.to_string() == number)
}

/// What is wrong with the queues and with what waits in them.
pub(crate) fn problems(keys: &Keys) -> Vec<String> {
    let mut out = Vec::new();
    let mut heads: BTreeMap<String, f64> = entries(keys, "heads").into_iter().collect();
    for (shape, number) in entries(keys, "queues") {
        let jobs = entries(keys, &format!("queue:{number}"));
        let head = heads.remove(&number.to_string());
        if jobs.is_empty() || jobs.first().map(|(_, score)| *score) != head {
            out.push(format!(
                "queue {number} of {shape}: {jobs:?}, head {head:?}"
            ));
        }
    }
    if !heads.is_empty() {
        out.push(format!("heads of no queue: {heads:?}"));
    }
    let first = entries(keys, "delayed").first().map(|(_, at)| *at);
    let due = entries(keys, "due");
    let noted = due.iter().find(|(item, _)| item == "q");
    if first.is_some_and(|first| noted.is_none_or(|(_, at)| *at > first)) {
        out.push(format!(
            "a job's time comes at {first:?}, noted is {noted:?}"
        ));
    }
    let mut places = places(keys);
    for (key, value) in keys {
        let Some(job) = key.strip_prefix(&format!("{ROOT}:job:")) else {
            continue;
        };
        let count = places.remove(job).unwrap_or(0);
        if count != usize::from(waits(value)) || waits(value) && value.expires {
            out.push(format!("job {job} waits in {count} places: {value:?}"));
        }
    }
    if !places.is_empty() {
        out.push(format!("places of no job: {places:?}"));
    }
    out
}
