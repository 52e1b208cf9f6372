//! An audit of all keys that knows nothing of the library's code: which keys there may be, and that every live job and every lease has
//! one hold.

use std::collections::{BTreeMap, BTreeSet};

use super::{ROOT, Value, deployed, state, waiting};

type Keys = BTreeMap<String, Value>;
/// Whether what the rest of a key's name says is there.
type IsThere<'a> = &'a dyn Fn(&str) -> bool;

fn members(keys: &Keys, key: &str) -> BTreeSet<String> {
    let Some(value) = keys.get(key) else {
        return BTreeSet::new();
    };
    value.items.iter().step_by(2).cloned().collect()
}

/// The part of a key's name after the root, and what belongs to it there: whether it may be.
fn is_known(keys: &Keys, suffix: &str, value: &Value) -> bool {
    let nodes = members(keys, &format!("{ROOT}:nodes"));
    let of_node = |node: &str| nodes.contains(node) && !value.expires;
    let classes = keys.get(&format!("{ROOT}:classes"));
    let of_class = |class: &str| {
        let number = class[..10].trim_start_matches('0');
        let mut scores = classes
            .iter()
            .flat_map(|it| it.items.iter().skip(1).step_by(2));
        scores.any(|score| score == number) && !value.expires
    };
    let attributes = members(keys, &format!("{ROOT}:attrs"));
    let deployments = members(keys, &format!("{ROOT}:deployments"));
    let families: &[(&str, IsThere<'_>)] = &[
        ("node:deployments:", &of_node),
        ("node:revoked:", &of_node),
        ("deployment:", &|id| deployments.contains(id)),
        ("deployments:free:", &|_| !value.expires),
        ("claim:", &|rest| {
            let pool = rest.split_once(':').map_or("", |(_, pool)| pool);
            attributes.contains(&format!("pool:{pool}"))
        }),
        ("node:info:", &of_node),
        ("node:runtime:", &of_node),
        ("node:slots:", &of_node),
        ("node:request:", &of_node),
        ("node:work:", &of_node),
        ("node:admission:", &of_node),
        ("queue:", &|number| {
            waiting::is_queue(keys, number) && !value.expires
        }),
        ("fits:", &of_class),
        ("class:", &of_class),
        ("ready:", &of_class),
        ("attr:", &|name| attributes.contains(name)),
        ("pool:", &|name| {
            attributes.contains(&format!("pool:{}", name.trim_end_matches(":members")))
        }),
        ("lang:", &|pair| {
            attributes.contains(&format!("pair:{pair}"))
        }),
        ("match:", &|generation| {
            state::generation(&keys[ROOT]) == Some(generation)
        }),
        ("job:", &|_| true),
        ("guard:", &|_| value.expires),
        ("limit:", &|_| value.expires),
        ("lock:", &|_| value.expires),
        ("snapshot", &|rest| {
            value.expires && ["", ":before"].contains(&rest)
        }),
        ("session:", &|_| value.expires != lease(value).is_some()),
    ];
    match suffix {
        "config" | "deployments" | "nodes" | "classes" | "attrs" | "due" | "failed"
        | "cancelled" | "events" | "queues" | "heads" | "delayed" => !value.expires,
        _ => {
            suffix.starts_with("lost:")
                || suffix.starts_with("unclaimed:")
                || families
                    .iter()
                    .any(|(family, is_there)| suffix.strip_prefix(family).is_some_and(is_there))
        }
    }
}

/// The lease of a session: its id, and who sits in its seat.
fn lease(session: &Value) -> Option<(&str, &str)> {
    let words = state::lease_words(session.get("sticky")?);
    Some((words.first()?, words.get(5)?))
}

/// Every session that is bound and the hold it must have.
fn seats(keys: &Keys) -> impl Iterator<Item = (&str, String)> {
    keys.iter().filter_map(|(key, value)| {
        let session = key.strip_prefix(ROOT)?.strip_prefix(":session:")?;
        let (id, rider) = lease(value)?;
        let seat = match rider {
            "-" => format!("s{session} {id}"),
            job => job.to_owned(),
        };
        Some((session, seat))
    })
}

/// How many holds every job and every lease has, on nodes and in what lost nodes left behind.
fn holds(keys: &Keys) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    let (slots, lost) = (format!("{ROOT}:node:slots:"), format!("{ROOT}:lost:"));
    for key in keys
        .keys()
        .filter(|key| key.starts_with(&slots) || key.starts_with(&lost))
    {
        for member in members(keys, key).iter().filter(|member| *member != "#") {
            *out.entry(member.clone()).or_default() += 1;
        }
    }
    out
}

/// What is wrong in the keyspace of one cell.
pub(crate) fn problems(keys: &Keys) -> Vec<String> {
    let mut out = Vec::new();
    let due = members(keys, &format!("{ROOT}:due"));
    for (key, value) in keys {
        let Some(suffix) = key
            .strip_prefix(ROOT)
            .and_then(|rest| rest.strip_prefix(':'))
        else {
            if key != ROOT {
                out.push(format!("{key} is not of the cell"));
            }
            continue;
        };
        if !is_known(keys, suffix, value) {
            out.push(format!("{key} is left over: {value:?}"));
        }
        for (family, kind) in [("lost:", 'l'), ("unclaimed:", 'd')] {
            let Some(incarnation) = suffix.strip_prefix(family) else {
                continue;
            };
            let start = format!("{kind}{incarnation} ");
            if !due.iter().any(|item| item.starts_with(&start)) {
                out.push(format!("{key} will never be settled"));
            }
        }
    }
    out.extend(waiting::problems(keys));
    out.extend(deployed::problems(keys));
    let places = waiting::places(keys);
    let mut holds = holds(keys);
    for (session, seat) in seats(keys) {
        if !holds.contains_key(&seat) || !due.contains(&format!("s{session}")) {
            out.push(format!("session {session} is bound and has no {seat}"));
        }
        if seat.starts_with('s') {
            holds.remove(&seat);
        }
    }
    for (key, value) in keys {
        let Some(job) = key.strip_prefix(&format!("{ROOT}:job:")) else {
            continue;
        };
        let held = holds.remove(&format!("j{job}")).unwrap_or(0);
        let has_ended = value.get("f").is_some();
        match (has_ended, held, value.expires) {
            (false, 0, false) if places.contains_key(job) => {}
            (false, 1, false) | (true, 1, false) | (true, 0, true) => {}
            _ => out.push(format!("job {job} has {held} holds: {value:?}")),
        }
    }
    // A lost node's seat may be given up before it is settled.
    let lost = format!("{ROOT}:lost:");
    let left: BTreeSet<String> = keys
        .keys()
        .filter(|key| key.starts_with(&lost))
        .flat_map(|key| members(keys, key))
        .collect();
    for hold in holds.keys().filter(|hold| !left.contains(*hold)) {
        out.push(format!("a hold {hold} of what is not there"));
    }
    out
}

/// What is left that may not be once all nodes have gone and everything due was settled.
pub(crate) fn leftovers(keys: &Keys) -> Vec<String> {
    let stays = |key: &&String| {
        let Some(suffix) = key.strip_prefix(ROOT) else {
            return false;
        };
        matches!(
            suffix,
            "" | ":config" | ":due" | ":failed" | ":cancelled" | ":events"
        ) || [
            ":match:",
            ":job:",
            ":session:",
            ":guard:",
            ":limit:",
            ":lock:",
            ":snapshot",
        ]
        .iter()
        .any(|family| suffix.starts_with(family))
    };
    keys.keys().filter(|key| !stays(key)).cloned().collect()
}
