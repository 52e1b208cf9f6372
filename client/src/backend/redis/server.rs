//! One primary: its connections, and how calls are sent over them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use lockless_topology::Address;
use redis::{Cmd, RedisError};
use tokio::runtime::Handle;

use super::access::Access;
use super::answer::{Trouble, lost, read};
use super::durable::Durable;
use super::link::{Link, LinkStats, OnPush, Opened};
use crate::backend::{Call, Durability, Failure, Reply};
use crate::workers::Workers;

/// How servers are spoken to.
pub(super) struct Manner {
    pub(super) access: Arc<Access>,
    pub(super) stats: Arc<LinkStats>,
    /// Connections for each worker.
    pub(super) pool_size: usize,
    pub(super) workers: Arc<Workers>,
    pub(super) call_timeout: Duration,
    pub(super) wait_timeout: Duration,
}

/// One primary and its connections.
pub(super) struct Server {
    pub(super) address: Address,
    manner: Arc<Manner>,
    links: Vec<Link>,
    next: AtomicUsize,
    /// Made for the first write that must be durable.
    durable: OnceLock<Durable>,
}

impl Manner {
    /// A connection that is kept, for those who are on no worker.
    pub(super) fn link(&self, address: &Address, on_push: Option<OnPush>) -> Link {
        self.link_on(&Handle::current(), address, on_push)
    }

    fn link_on(&self, runtime: &Handle, address: &Address, on_push: Option<OnPush>) -> Link {
        let (access, stats) = (Arc::clone(&self.access), Arc::clone(&self.stats));
        Link::start(
            runtime,
            access,
            address.clone(),
            self.call_timeout,
            stats,
            on_push,
        )
    }
}

impl Server {
    pub(super) fn start(address: Address, manner: Arc<Manner>) -> Self {
        let mut links = Vec::new();
        for runtime in manner.workers.runtimes() {
            for _ in 0..manner.pool_size.max(1) {
                links.push(manner.link_on(runtime, &address, None));
            }
        }
        Self {
            address,
            manner,
            links,
            next: AtomicUsize::new(0),
            durable: OnceLock::new(),
        }
    }

    /// Sends calls in this order, all before the first reply is awaited.
    pub(super) async fn send(
        &self,
        calls: &[&Call],
        durability: Durability,
    ) -> Vec<Result<Reply, Trouble>> {
        // Reads of a batch go along with its writes, so that they see what was written before them.
        if durability == Durability::Replica && calls.iter().any(|call| call.writes) {
            let durable = self
                .durable
                .get_or_init(|| Durable::start(&self.address, &self.manner));
            return durable.send(calls).await;
        }
        let commands = calls.iter().map(|call| fcall(call)).collect();
        self.pipe(commands, calls.len()).await
    }

    /// Sends one call over a connection that is open now, if there is one.
    pub(super) async fn send_now(&self, call: &Call) -> Option<Result<Reply, Trouble>> {
        let mut opened = self.link().open_now()?;
        let command = fcall(call);
        Some(
            match opened.connection.send_packed_command(&command).await {
                Ok(value) => read(value),
                Err(error) => Err(self.broke(&opened, &error)),
            },
        )
    }

    /// Sends one call of a slot that is on its way here.
    pub(super) async fn send_asking(&self, call: &Call) -> Result<Reply, Trouble> {
        let commands = vec![redis::cmd("ASKING"), fcall(call)];
        let mut replies = self.pipe(commands, 1).await;
        replies
            .pop()
            .unwrap_or_else(|| Err(Trouble::Lost("there was no reply".to_owned())))
    }

    /// Sends one command that no caller made.
    pub(super) async fn ask(&self, command: Cmd) -> Result<Reply, Failure> {
        let mut replies = self.pipe(vec![command], 1).await;
        let reply = replies
            .pop()
            .unwrap_or_else(|| Err(Trouble::Lost("there was no reply".to_owned())));
        reply.map_err(Trouble::failure)
    }

    /// Waits for a broken connection to be made anew.
    pub(super) async fn reopened(&self, within: Duration) {
        if let Some(link) = self.links.first() {
            let _ = link.reopened(within).await;
        }
    }

    /// The replies to the last `count` commands.
    async fn pipe(&self, commands: Vec<Cmd>, count: usize) -> Vec<Result<Reply, Trouble>> {
        let mut opened = match self.link().opened().await {
            Ok(opened) => opened,
            Err(why) => return all(count, || Trouble::Final(Failure::Away(why.clone()))),
        };
        let pipeline = piped(commands);
        let sending = opened
            .connection
            .send_packed_commands(&pipeline, 0, pipeline.len());
        match sending.await {
            Ok(values) => {
                let skipped = values.len().saturating_sub(count);
                values.into_iter().skip(skipped).map(read).collect()
            }
            Err(error) => {
                let trouble = self.broke(&opened, &error);
                all(count, || trouble.clone())
            }
        }
    }

    fn broke(&self, opened: &Opened, error: &RedisError) -> Trouble {
        let trouble = lost(&self.address, error);
        if let Trouble::Lost(why) = &trouble {
            opened.broke(why);
        }
        trouble
    }

    /// The links of this worker in turn, then those of others; those that are open first.
    fn link(&self) -> &Link {
        let size = self.manner.pool_size.max(1);
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let first = match Workers::here() {
            Some(worker) => worker * size + turn % size,
            None => turn,
        };
        let count = self.links.len();
        let mut in_turn = (first..first + count).map(|at| &self.links[at % count]);
        in_turn
            .find(|link| link.is_open())
            .unwrap_or(&self.links[first % count])
    }
}

pub(super) fn all(count: usize, trouble: impl Fn() -> Trouble) -> Vec<Result<Reply, Trouble>> {
    (0..count).map(|_| Err(trouble())).collect()
}

pub(super) fn piped(commands: Vec<Cmd>) -> redis::Pipeline {
    let mut pipeline = redis::Pipeline::with_capacity(commands.len());
    for command in commands {
        pipeline.add_command(command);
    }
    pipeline
}

pub(super) fn fcall(call: &Call) -> Cmd {
    let size = call.arguments.iter().map(Bytes::len).sum::<usize>();
    let mut command = Cmd::with_capacity(call.arguments.len() + 4, size + 64);
    command
        .arg("FCALL")
        .arg(call.function)
        .arg(1)
        .arg(call.cell.root());
    for argument in &call.arguments {
        command.arg(argument.as_ref());
    }
    command
}
