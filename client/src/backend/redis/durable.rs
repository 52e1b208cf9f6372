//! Writes that at least one replica has confirmed before they are answered.
//!
//! `WAIT` blocks its connection, so such writes have connections of their own. What arrives while one waits is sent
//! together after it: many calls, one `WAIT`.
//!
//! `WAIT` is about what its own connection wrote last. A call that is repeated, because nobody knew whether the first
//! one was confirmed, writes nothing, and from Redis 7.2 on `WAIT` after it says nothing about the first one. So each round
//! writes something in any case, after the calls and before `WAIT`: it moves the time to live of a key of one of its cells.
//! What comes before it in the stream of replication is confirmed with it. `PEXPIRE` is not refused at `maxmemory`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lockless_topology::Address;
use redis::{Cmd, RedisResult, Value};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::answer::{Trouble, lost, read};
use super::link::{Link, Opened};
use super::server::{Manner, all, fcall, piped};
use crate::backend::{Call, Cell, Failure, Reply};

const CONNECTIONS: usize = 2;
/// Calls that share one `WAIT`, about.
const ROUND: usize = 256;
const QUEUED: usize = 1024;
/// Long enough that it is there whenever Redis is full.
const MARK_MS: u64 = 7 * 24 * 3600 * 1000;

/// Connections for durable writes to one primary.
pub(super) struct Durable {
    queues: Vec<Sender<Unit>>,
    next: AtomicUsize,
}

/// Calls that are sent together.
struct Unit {
    commands: Vec<Cmd>,
    /// Which of them write.
    writes: Vec<bool>,
    cell: Cell,
    answer: oneshot::Sender<Vec<Result<Reply, Trouble>>>,
}

impl Durable {
    pub(super) fn start(address: &Address, manner: &Arc<Manner>) -> Self {
        let patience = manner.call_timeout + manner.wait_timeout;
        let queues = (0..CONNECTIONS).map(|_| {
            let (sender, queue) = channel(QUEUED);
            let (access, stats) = (Arc::clone(&manner.access), Arc::clone(&manner.stats));
            let worker = Worker {
                address: address.clone(),
                link: Link::start(
                    &Handle::current(),
                    access,
                    address.clone(),
                    patience,
                    stats,
                    None,
                ),
                patience,
                wait_timeout: manner.wait_timeout,
            };
            // It ends with the queue's other end.
            tokio::spawn(worker.work(queue));
            sender
        });
        Self {
            queues: queues.collect(),
            next: AtomicUsize::new(0),
        }
    }

    /// Sends calls in this order, and answers when a replica has what they wrote.
    pub(super) async fn send(&self, calls: &[&Call]) -> Vec<Result<Reply, Trouble>> {
        let count = calls.len();
        let (answer, answered) = oneshot::channel();
        let unit = Unit {
            commands: calls.iter().map(|call| fcall(call)).collect(),
            writes: calls.iter().map(|call| call.writes).collect(),
            cell: calls[0].cell.clone(),
            answer,
        };
        let queue = &self.queues[self.next.fetch_add(1, Ordering::Relaxed) % self.queues.len()];
        if queue.send(unit).await.is_err() {
            return all(count, || {
                Trouble::Final(Failure::Away("it is being closed".to_owned()))
            });
        }
        match answered.await {
            Ok(replies) => replies,
            Err(_) => all(count, || Trouble::Lost("it was closed".to_owned())),
        }
    }
}

struct Worker {
    address: Address,
    link: Link,
    patience: Duration,
    wait_timeout: Duration,
}

impl Worker {
    async fn work(self, mut queue: Receiver<Unit>) {
        while let Some(first) = queue.recv().await {
            let mut calls = first.commands.len();
            let mut units = vec![first];
            while calls < ROUND {
                let Ok(unit) = queue.try_recv() else { break };
                calls += unit.commands.len();
                units.push(unit);
            }
            // Whoever has given up need not be served.
            units.retain(|unit| !unit.answer.is_closed());
            self.round(units).await;
        }
    }

    async fn round(&self, mut units: Vec<Unit>) {
        let Some(cell) = units.first().map(|unit| unit.cell.clone()) else {
            return;
        };
        let commands = units
            .iter_mut()
            .flat_map(|unit| std::mem::take(&mut unit.commands))
            .collect();
        let writes: Vec<bool> = units
            .iter()
            .flat_map(|unit| unit.writes.iter().copied())
            .collect();
        let mut replies = self.confirmed(commands, &writes, &cell).await.into_iter();
        for unit in units {
            let own = replies.by_ref().take(unit.writes.len()).collect();
            // A caller that has gone does not mind.
            let _ = unit.answer.send(own);
        }
    }

    /// The replies to the commands; a write that went well is `DurabilityUnknown` unless a replica has it.
    async fn confirmed(
        &self,
        mut commands: Vec<Cmd>,
        writes: &[bool],
        cell: &Cell,
    ) -> Vec<Result<Reply, Trouble>> {
        let count = writes.len();
        let mut opened = match self.link.opened().await {
            Ok(opened) => opened,
            Err(why) => return all(count, || Trouble::Final(Failure::Away(why.clone()))),
        };
        let mark = format!("{cell}:durable");
        commands.extend([extend(&mark), self.wait()]);
        let mut values = match self.exchange(&mut opened, commands).await {
            Ok(values) => values,
            Err(Trouble::Lost(why)) => return all(count, || Trouble::Lost(why.clone())),
            Err(_) => return all(count, || Trouble::Final(Failure::Slow)),
        };
        let end = values.split_off(count.min(values.len()));
        let is_confirmed = match end.as_slice() {
            [Value::Int(1), Value::Int(replicas)] => *replicas >= 1,
            // There is no such key yet.
            [Value::Int(0), Value::Int(_)] => self.mark(&mut opened, &mark).await,
            _ => false,
        };
        let outcomes = values.into_iter().map(read).zip(writes);
        let sure = outcomes.map(|(outcome, is_write)| match outcome {
            Ok(_) if *is_write && !is_confirmed => Err(Trouble::Final(Failure::DurabilityUnknown)),
            outcome => outcome,
        });
        sure.collect()
    }

    /// Writes the key itself and waits for that. A calling user has the right to these commands anyway.
    async fn mark(&self, opened: &mut Opened, mark: &str) -> bool {
        let mut create = redis::cmd("HSET");
        create.arg(mark).arg("").arg("");
        let commands = vec![create, extend(mark), self.wait()];
        let values = self.exchange(opened, commands).await;
        matches!(values.as_deref(), Ok([_, Value::Int(1), Value::Int(1..)]))
    }

    fn wait(&self) -> Cmd {
        let mut wait = redis::cmd("WAIT");
        wait.arg(1).arg(self.wait_timeout.as_millis().max(1) as u64);
        wait
    }

    async fn exchange(
        &self,
        opened: &mut Opened,
        commands: Vec<Cmd>,
    ) -> Result<Vec<Value>, Trouble> {
        let pipeline = piped(commands);
        let sending = opened
            .connection
            .send_packed_commands(&pipeline, 0, pipeline.len());
        let sent: Result<RedisResult<Vec<Value>>, _> = timeout(self.patience, sending).await;
        match sent {
            Ok(Ok(values)) => Ok(values),
            Ok(Err(error)) => {
                let trouble = lost(&self.address, &error);
                if let Trouble::Lost(why) = &trouble {
                    opened.broke(why);
                }
                Err(trouble)
            }
            Err(_) => Err(Trouble::Final(Failure::Slow)),
        }
    }
}

fn extend(mark: &str) -> Cmd {
    let mut extend = redis::cmd("PEXPIRE");
    extend.arg(mark).arg(MARK_MS);
    extend
}
