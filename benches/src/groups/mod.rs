//! The groups there are, in the order of the report.

mod gateway;
mod growth;
mod hosts;
mod native;
mod peers;
mod seed;
mod server_cost;
mod throughput;

use crate::harness::Group;

/// All groups.
pub const GROUPS: &[Group] = &[
    Group {
        name: "server-cost",
        title: "Server cost",
        about: "Microseconds of Redis time per call and per whole job, from `INFO commandstats`, in a cell of 1,000 nodes of 4 slots; with \
                `--instructions` also the server's instructions per call.",
        is_local: true,
        run: server_cost::run,
    },
    Group {
        name: "growth",
        title: "Growth",
        about: "What a dispatch costs in the server as the cell grows: with nodes, labels, matching classes and finished jobs; and a heartbeat. \
                Beside it the minimal spec's own script, the same commands sent natively, and an empty FCALL.",
        is_local: true,
        run: growth::run,
    },
    Group {
        name: "native",
        title: "Beside native commands",
        about: "What it costs the server that a dispatch is a function: its processor time, protocol included, beside that of the same \
                commands sent one by one in a pipeline.",
        is_local: true,
        run: native::run,
    },
    Group {
        name: "seed",
        title: "Beside the minimal spec's script",
        about: "The script that Lockless replaces, written as its document has it (`benches/src/seed.lua`), where it walks past full nodes.",
        is_local: true,
        run: seed::run,
    },
    Group {
        name: "hosts",
        title: "Without a server",
        about: "The same library in process (mlua) and as a WebAssembly module (wasmtime), which is what a gateway without a Redis runs, beside \
                a private Redis. The hosts answer in the caller's own thread, Redis over a socket.",
        is_local: true,
        run: hosts::run,
    },
    Group {
        name: "throughput",
        title: "Throughput and latency",
        about: "Real clients at the same time, each with one call under way: FCALLs from a Rust program (`redis`, two multiplexed connections), \
                HTTP to a gateway, and HTTP to a gateway on a Cluster of three primaries with six cells. 1,000 nodes in all. Placements go on until \
                no slot of their cells is left, so at the end all callers race for the last ones; whole jobs also where callers are many more than slots, so that most \
                dispatches are refused and tried again. The callers count what they were given, and after every run the library's own audit must find \
                nothing.",
        is_local: true,
        run: throughput::run,
    },
    Group {
        name: "gateway",
        title: "The gateway",
        about: "The gateway beside webdis, another gateway from HTTP to Redis, for the same FCALL; and its memory.",
        is_local: true,
        run: gateway::run,
    },
    Group {
        name: "peers",
        title: "Beside other queues",
        about: "Queues that move jobs through Redis, each as its own documentation sets it up, with the same no-op jobs end to end. They need the \
                network once, to be installed.",
        is_local: false,
        run: peers::run,
    },
];

/// The group of that name.
pub fn find(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.name == name)
}
