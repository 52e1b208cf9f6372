//! Other queues on Redis, each as its own documentation sets it up, driven by a small program of ours (`benches/peers/`).
//!
//! [`install`] brings them to `target/bench-peers/`, [`program`] runs and orders one about.

pub mod install;
pub mod program;

pub use program::{Keep, Program};

/// A queue that is measured beside Lockless.
pub struct Peer {
    /// Its name.
    pub name: &'static str,
    /// Its name in the ids of figures and of directories.
    pub id: &'static str,
    /// How it is set up, in a few words.
    pub setup: &'static str,
    /// What it is written in.
    pub kind: Kind,
    /// What its workers can be told to do at a time; the best one counts.
    pub concurrencies: &'static [usize],
}

/// How a peer is installed and started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// npm packages and a program in JavaScript.
    Node,
    /// PyPI packages in an environment of their own, and a module in Python.
    Python,
    /// A crate of its own.
    Cargo,
}

/// The one that targets speak of.
pub const BULLMQ: Peer = Peer {
    name: "BullMQ 6.7.0",
    id: "bullmq",
    setup: "ioredis 6.0.0, one worker in a process of its own, finished jobs kept",
    kind: Kind::Node,
    concurrencies: &[32, 64, 128, 256],
};

/// All of them.
pub const PEERS: [Peer; 6] = [
    BULLMQ,
    Peer {
        name: "apalis-redis 1.0.0",
        id: "apalis",
        setup: "default settings, one worker that looks for jobs every 50 ms (by default it does with its heartbeat, every 30 s)",
        kind: Kind::Cargo,
        concurrencies: &[10, 64],
    },
    Peer {
        name: "dramatiq 2.2.1",
        id: "dramatiq",
        setup: "two processes of threads, no result backend",
        kind: Kind::Python,
        concurrencies: &[4, 8],
    },
    Peer {
        name: "Celery 5.7.0",
        id: "celery",
        setup: "prefork pool, Redis as broker, no result backend",
        kind: Kind::Python,
        concurrencies: &[1, 2],
    },
    Peer {
        name: "arq 0.28.0",
        id: "arq",
        setup: "default settings but the number of jobs at a time",
        kind: Kind::Python,
        concurrencies: &[10, 100],
    },
    Peer {
        name: "RQ 2.12.0",
        id: "rq",
        setup: "worker pool of the default worker, which forks for every job",
        kind: Kind::Python,
        concurrencies: &[2, 4],
    },
];
