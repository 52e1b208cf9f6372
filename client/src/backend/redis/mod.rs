//! The library in a Redis server, behind Sentinels or in a Cluster.
//!
//! `server` sends calls to one primary over kept connections (`link`), `durable` those that a replica must confirm,
//! `watcher` finds the primaries and looks after the library on them, `answer` knows what errors mean.

mod access;
mod answer;
mod durable;
mod library;
mod link;
mod map;
mod server;
mod settings;
mod under_way;
mod watcher;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lockless_topology::Address;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use self::answer::Trouble;
pub(crate) use self::link::Link;
use self::link::{LinkStats, OnPush};
use self::map::Map;
use self::server::Manner;
pub use self::settings::{BadSettings, RedisSettings};
use self::under_way::UnderWay;
use self::watcher::Watcher;
use super::{Call, Cell, Durability, Failure, Gauges, Reply, Status};
use crate::workers::Workers;

/// How often a call is sent at most: it may have to follow its cell, or a connection may break under it.
const ATTEMPTS: usize = 4;
/// How long a call whose connection broke waits for another one before it is given up. The functions are idempotent.
const RESEND_WITHIN: Duration = Duration::from_millis(500);
/// How long a call waits for news about where its cell is.
const FIND_WITHIN: Duration = Duration::from_secs(1);

/// Connections to a Redis server, a Sentinel's primary or a Cluster.
pub struct Redis {
    view: Arc<watch::Sender<View>>,
    manner: Arc<Manner>,
    in_flight: AtomicUsize,
    watcher: JoinHandle<()>,
}

/// What is known about the servers.
#[derive(Clone)]
pub(crate) struct View {
    /// None before the servers were found for the first time.
    map: Option<Arc<Map>>,
    status: Status,
    /// How often someone has looked.
    looks: u64,
}

impl View {
    /// Where the primary of a cell listens.
    pub(crate) fn primary_of(&self, cell: &Cell) -> Option<Address> {
        let server = self.map.as_ref()?.server_of(cell)?;
        Some(server.address.clone())
    }
}

impl Redis {
    /// Begins to connect, and goes on for ever. It fails for settings that can't be right; a server that is away is just
    /// not ready.
    pub fn start(
        settings: RedisSettings,
        workers: &Arc<Workers>,
    ) -> Result<Arc<Self>, BadSettings> {
        let resolved = settings.resolve()?;
        let manner = Arc::new(Manner {
            access: Arc::new(resolved.servers),
            stats: Arc::new(LinkStats::default()),
            pool_size: settings.pool_size,
            workers: Arc::clone(workers),
            call_timeout: settings.call_timeout,
            wait_timeout: settings.wait_timeout,
        });
        let view = Arc::new(watch::Sender::new(View {
            map: None,
            status: Status::NotReady("the connection to Redis is still being made".to_owned()),
            looks: 0,
        }));
        let watcher = Watcher::new(
            resolved.way,
            Arc::new(resolved.sentinels),
            Arc::clone(&manner),
            library::Keeper::new(resolved.shown, settings.deploy),
            Arc::clone(&view),
        );
        Ok(Arc::new(Self {
            view,
            manner,
            in_flight: AtomicUsize::new(0),
            watcher: tokio::spawn(watcher.watch()),
        }))
    }

    /// Makes one call.
    pub async fn call(&self, call: Call, durability: Durability) -> Result<Reply, Failure> {
        let deadline = self.deadline(durability);
        let mut trouble = None;
        if durability == Durability::Primary || !call.writes {
            let _counted = InFlight::new(&self.in_flight, 1);
            match timeout_at(deadline, self.call_once(&call)).await {
                Ok(None) => {}
                Ok(Some(Ok(reply))) => return Ok(reply),
                Ok(Some(Err(Trouble::Final(failure)))) => return Err(failure),
                Ok(Some(Err(other))) => trouble = Some(other),
                Err(_) => return Err(self.slow()),
            }
        }
        // Boxed, because it is large and rare.
        let mut outcomes =
            Box::pin(self.until_done(vec![call], trouble, durability, deadline)).await;
        outcomes
            .pop()
            .unwrap_or_else(|| Err(Failure::Away("there was no call".to_owned())))
    }

    /// Makes calls, those to one primary in this order; all are sent before the first reply is awaited.
    pub async fn batch(
        &self,
        calls: Vec<Call>,
        durability: Durability,
    ) -> Vec<Result<Reply, Failure>> {
        let deadline = self.deadline(durability);
        self.until_done(calls, None, durability, deadline).await
    }

    fn deadline(&self, durability: Durability) -> Instant {
        let allowed = match durability {
            Durability::Primary => self.manner.call_timeout,
            Durability::Replica => self.manner.call_timeout + self.manner.wait_timeout,
        };
        Instant::now() + allowed
    }

    /// The way of nearly every call: over a connection that is open, to where its cell was last seen.
    async fn call_once(&self, call: &Call) -> Option<Result<Reply, Trouble>> {
        let map = self.view.borrow().map.clone()?;
        map.server_of(&call.cell)?.send_now(call).await
    }

    /// Makes calls as often as need be. One that was tried before brings what it met.
    async fn until_done(
        &self,
        calls: Vec<Call>,
        met: Option<Trouble>,
        durability: Durability,
        deadline: Instant,
    ) -> Vec<Result<Reply, Failure>> {
        let _counted = InFlight::new(&self.in_flight, calls.len());
        let mut under_way = UnderWay::new(&calls, met);
        // Whatever has no outcome by then is slow.
        let _ = timeout_at(deadline, self.try_until_done(&mut under_way, durability)).await;
        let outcomes = under_way.outcomes();
        if outcomes.contains(&Err(Failure::Slow)) {
            self.slow();
        }
        outcomes
    }

    /// A call had no answer: it may be that another server is to be asked by now.
    fn slow(&self) -> Failure {
        self.manner.stats.changed.notify_one();
        Failure::Slow
    }

    /// Whether calls can be made, as far as is known without asking.
    pub fn status(&self) -> Status {
        self.view.borrow().status.clone()
    }

    /// For metrics.
    pub fn gauges(&self) -> Gauges {
        let stats = &self.manner.stats;
        Gauges {
            connections: stats.connections.load(Ordering::Relaxed),
            in_flight: self.in_flight.load(Ordering::Relaxed),
            reconnects: stats.reconnects.load(Ordering::Relaxed),
        }
    }

    /// Gives up all connections. Calls under way go on to their end, later ones fail.
    pub async fn close(&self) {
        self.watcher.abort();
        self.view.send_modify(|view| {
            view.map = None;
            view.looks += 1;
            view.status = Status::NotReady("the connections are being closed".to_owned());
        });
    }

    /// Where the primary of a cell listens, once the servers have been looked for.
    pub(crate) async fn primary_of(&self, cell: &Cell) -> Option<Address> {
        let map = self.map().await?;
        map.server_of(cell).map(|server| server.address.clone())
    }

    /// What is known about the servers, and each change of it.
    pub(crate) fn views(&self) -> watch::Receiver<View> {
        self.view.subscribe()
    }

    /// A connection of one's own to a server.
    pub(crate) fn link(&self, address: &Address, on_push: OnPush) -> Link {
        self.manner.link(address, Some(on_push))
    }

    /// How long a reply may take.
    pub(crate) fn call_timeout(&self) -> Duration {
        self.manner.call_timeout
    }

    /// Has the servers looked for again, and waits until that was done.
    pub(crate) async fn look_again(&self) {
        let mut views = self.view.subscribe();
        let looks = views.borrow().looks;
        self.manner.stats.changed.notify_one();
        // Whoever waits in vain finds the servers as they were.
        let _ = timeout(FIND_WITHIN, views.wait_for(|view| view.looks > looks)).await;
    }

    /// The map, once the servers have been looked for.
    async fn map(&self) -> Option<Arc<Map>> {
        let known = self.view.borrow().map.clone();
        if known.is_some() {
            return known;
        }
        let mut views = self.view.subscribe();
        let looked = views.wait_for(|view| view.looks > 0);
        let view = timeout(FIND_WITHIN, looked).await.ok()?.ok()?;
        view.map.clone()
    }

    async fn try_until_done(&self, under_way: &mut UnderWay<'_>, durability: Durability) {
        let mut resend_until = None;
        for _ in 0..ATTEMPTS {
            if under_way.is_elsewhere() {
                self.look_again().await;
            }
            let Some(map) = self.map().await else {
                let Status::NotReady(why) = self.status() else {
                    continue;
                };
                return under_way.none_can_be_sent(&why);
            };
            if let Some(server) = under_way.lost_on(&map) {
                let until = *resend_until.get_or_insert_with(|| Instant::now() + RESEND_WITHIN);
                server
                    .reopened(until.saturating_duration_since(Instant::now()))
                    .await;
            }
            under_way.send(&map, durability).await;
            if under_way.is_done() {
                return;
            }
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

/// Calls that count as long as this lives.
struct InFlight<'a>(&'a AtomicUsize, usize);

impl<'a> InFlight<'a> {
    fn new(counter: &'a AtomicUsize, calls: usize) -> Self {
        counter.fetch_add(calls, Ordering::Relaxed);
        Self(counter, calls)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}
