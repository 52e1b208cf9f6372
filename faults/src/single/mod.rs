//! Faults of a single server.

mod clock;
mod cut;
mod disk;
mod errors;
mod kill;
mod memory;
mod sizes;

use std::time::Duration;

use crate::fault::Fault;

const fn minutes(number: u64) -> Duration {
    Duration::from_secs(number * 60)
}

/// All of them, in the order they are run.
pub const FAULTS: &[Fault] = &[
    Fault {
        name: "kill",
        summary: "kill -9 of a server with AOF everysec and always, at random moments.",
        control: "the AOF is off.",
        quick_limit: minutes(2),
        full_limit: minutes(10),
        run: kill::run,
    },
    Fault {
        name: "cut",
        summary: "The AOF is cut at every byte of its last transactions.",
        control: "an AOF without transactions.",
        quick_limit: minutes(2),
        full_limit: minutes(15),
        run: cut::run,
    },
    Fault {
        name: "errors",
        summary: "A command inside a function fails on the real server, each in turn: denied by ACL, or its key has the wrong type.",
        control: "the interrupted call is not made again.",
        quick_limit: minutes(3),
        full_limit: minutes(15),
        run: errors::run,
    },
    Fault {
        name: "disk",
        summary: "The disk with the AOF is full: the server refuses writes, is killed meanwhile, or ends by itself.",
        control: "the AOF is off, and the server is killed.",
        quick_limit: minutes(2),
        full_limit: minutes(8),
        run: disk::run,
    },
    Fault {
        name: "memory",
        summary: "`maxmemory` is reached under load, with the policy `noeviction`.",
        control: "a policy that evicts.",
        quick_limit: minutes(2),
        full_limit: minutes(8),
        run: memory::run,
    },
    Fault {
        name: "clock",
        summary: "The server's clock jumps by two minutes and by a day, forwards and backwards.",
        control: "the library without the rule that an outage is no loss.",
        quick_limit: minutes(2),
        full_limit: minutes(8),
        run: clock::run,
    },
    Fault {
        name: "sizes",
        summary: "A cell of 10,000 nodes and 100,000 jobs: no function takes more than 50 ms of the server's time.",
        control: "none: it measures times, and nothing is there to be lost.",
        quick_limit: minutes(3),
        full_limit: minutes(5),
        run: sizes::run,
    },
];
