//! An audit of the deployments from the keys alone: each stands in one place, and who may claim is listed by what it has.

use std::collections::BTreeMap;

use super::{ROOT, Value};

type Keys = BTreeMap<String, Value>;

/// The members and scores of every sorted set of a family, with the rest of its name.
fn entries<'a>(
    keys: &'a Keys,
    family: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
    let of_family = move |key: &'a String| key.strip_prefix(ROOT)?.strip_prefix(family);
    keys.iter().flat_map(move |(key, value)| {
        let rest = of_family(key);
        let pairs = value.items.chunks(2);
        rest.into_iter().flat_map(move |rest| {
            let pairs = pairs.clone();
            pairs.map(move |pair| (rest, pair[0].as_str(), pair[1].as_str()))
        })
    })
}

/// Where each deployment stands: the family of keys, the rest of the key's name, and the score there.
fn places(keys: &Keys) -> BTreeMap<&str, Vec<(&str, &str, &str)>> {
    let mut out: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (pool, member, score) in entries(keys, ":deployments:free:") {
        let id = member.split_once(' ').map_or(member, |(_, id)| id);
        out.entry(id).or_default().push(("free", pool, score));
    }
    for (node, id, revision) in entries(keys, ":node:deployments:") {
        out.entry(id).or_default().push(("node", node, revision));
    }
    for (incarnation, id, _) in entries(keys, ":unclaimed:") {
        // One that was made, moved or claimed anew since it was lost stands elsewhere as well.
        let node = keys.get(&format!("{ROOT}:deployment:{id}"));
        let is_elsewhere = out.contains_key(id) || node.is_none_or(|it| it.get("node") == Some(""));
        if !is_elsewhere {
            out.entry(id).or_default().push(("lost", incarnation, ""));
        }
    }
    out
}

/// The nodes that should be among those who may claim in each pool, and how many deployments they have.
fn claimants(keys: &Keys) -> BTreeMap<(String, String), usize> {
    let mut out = BTreeMap::new();
    let prefix = format!("{ROOT}:node:runtime:");
    for (key, runtime) in keys {
        let Some(node) = key.strip_prefix(&prefix) else {
            continue;
        };
        let info = keys.get(&format!("{ROOT}:node:info:{node}"));
        let pools = info.and_then(|info| info.get("pools")).unwrap_or_default();
        let flags = runtime.get("flags").unwrap_or_default();
        if flags.contains(['l', 'o', 'd']) {
            continue;
        }
        let has = keys.get(&format!("{ROOT}:node:deployments:{node}"));
        for pool in pools.split(' ') {
            let count = has.map_or(0, |value| value.items.len() / 2);
            out.insert((pool.to_owned(), node.to_owned()), count);
        }
    }
    out
}

/// What is wrong with the deployments and with who may claim them.
pub(crate) fn problems(keys: &Keys) -> Vec<String> {
    let mut out = Vec::new();
    let mut places = places(keys);
    let prefix = format!("{ROOT}:deployment:");
    for (key, record) in keys {
        let Some(id) = key.strip_prefix(&prefix) else {
            continue;
        };
        let get = |name: &str| record.get(name).unwrap_or_default();
        let stands = places.remove(id).unwrap_or_default();
        let is_right = match (get("enabled"), get("node"), stands.as_slice()) {
            ("false", "", []) => true,
            ("true", "", [("free", pool, score)]) => {
                *pool == get("pool") && *score == get("updated")
            }
            ("true", node, [("node", on, revision)]) => *on == node && *revision == get("revision"),
            ("true", _, [("lost", _, _)]) => true,
            _ => false,
        };
        if !is_right {
            out.push(format!("deployment {id} stands in {stands:?}: {record:?}"));
        }
    }
    for (id, stands) in places {
        out.push(format!(
            "deployment {id} is not there and stands in {stands:?}"
        ));
    }
    let root = keys.get(ROOT);
    let is_used = root.is_some_and(|root| root.get("deployments").is_some());
    let is_found_out = root.is_some_and(|root| root.get("reindex").is_none());
    if is_used && is_found_out {
        let wanted = claimants(keys);
        for policy in ["deployment_count", "resource_usage"] {
            let family = format!(":claim:{policy}:");
            let listed: BTreeMap<(String, String), &str> = entries(keys, &family)
                .map(|(pool, node, score)| ((pool.to_owned(), node.to_owned()), score))
                .collect();
            if listed.keys().ne(wanted.keys()) {
                out.push(format!("{listed:?} may claim by {policy}, not {wanted:?}"));
            }
            let is_counted = |(at, score): (&(String, String), &&str)| {
                wanted.get(at).map(ToString::to_string).as_deref() == Some(*score)
            };
            if policy == "deployment_count" && !listed.iter().all(is_counted) {
                out.push(format!("{listed:?} is not what {wanted:?} have"));
            }
        }
    }
    out
}
