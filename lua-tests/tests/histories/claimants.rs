//! The nodes of a cell as a claim compares them.

use std::collections::{BTreeMap, BTreeSet};

use lockless_lua_tests::{Host, Reply};

use crate::cell::{ROOT, list, must, number, text, text_of, texts, words};

pub(crate) struct Claimant {
    pub(crate) incarnation: i64,
    pub(crate) is_lost: bool,
    /// Whether it is online and does not drain.
    pub(crate) takes_part: bool,
    pub(crate) pools: BTreeSet<String>,
    cpu_pct: f64,
    mem_mb: f64,
}

impl Claimant {
    /// The score of its CPU and memory with the weights of these settings.
    pub(crate) fn resource_usage(&self, settings: &Reply) -> f64 {
        let [cpu, mem] = ["cpu_weight", "mem_weight"]
            .map(|name| text_of(settings, name).parse::<f64>().unwrap());
        self.cpu_pct * cpu + self.mem_mb / 1024.0 * mem
    }
}

/// Every node there is, by name.
pub(crate) fn claimants(host: &mut dyn Host) -> BTreeMap<String, Claimant> {
    let page = must(host, "nodes 0 1000");
    let names = list(&list(&page)[1]).to_vec();
    let mut out = BTreeMap::new();
    for name in names {
        let Reply::Bulk(bytes) = &name else {
            panic!("a name that is {name:?}")
        };
        let mut ask = |family: &str, fields: &[&str]| {
            let key = [format!("{ROOT}:node:{family}:").into_bytes(), bytes.clone()].concat();
            let line = [words(&["HMGET"]), vec![key], words(fields)].concat();
            host.command(&line).unwrap()
        };
        let runtime = ask("runtime", &["incarnation", "flags", "cpu", "mem_mb"]);
        let [incarnation, flags, cpu, mem_mb] = list(&runtime) else {
            panic!("{runtime:?}")
        };
        let flags = text(flags);
        let measured = |value: &Reply| match value {
            Reply::Nil => 0.0,
            value => text(value).parse().unwrap(),
        };
        let pools = texts(&ask("info", &["pools"]))[0].clone();
        let claimant = Claimant {
            incarnation: number(incarnation),
            is_lost: flags.contains('l'),
            takes_part: !flags.contains(['l', 'o', 'd']),
            pools: pools.split(' ').map(str::to_owned).collect(),
            cpu_pct: measured(cpu),
            mem_mb: measured(mem_mb),
        };
        out.insert(text(&name), claimant);
    }
    out
}
