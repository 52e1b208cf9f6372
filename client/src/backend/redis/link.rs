//! One connection to one server, made anew whenever it breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use lockless_topology::Address;
use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::access::Access;

const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// A connection whose other end vanished without a word is found out by this.
const PING_EVERY: Duration = Duration::from_secs(2);

/// What links tell about themselves.
#[derive(Default)]
pub(crate) struct LinkStats {
    pub(super) connections: AtomicUsize,
    pub(super) reconnects: AtomicU64,
    /// Something opened or broke.
    pub(super) changed: Notify,
}

/// How a link does.
#[derive(Clone)]
enum State {
    /// The first attempt is under way.
    Opening,
    Open {
        connection: MultiplexedConnection,
        /// Which connection of this link it is.
        number: u64,
    },
    /// And why.
    Broken(Arc<str>),
}

/// What pushes of the server are given to, and the end of each connection.
pub(crate) type OnPush = Arc<dyn Fn(PushInfo) + Send + Sync>;

/// One kept connection. It ends when it is dropped.
pub(crate) struct Link {
    state: Arc<watch::Sender<State>>,
    task: JoinHandle<()>,
}

/// An open connection of a link.
pub(crate) struct Opened {
    pub(crate) connection: MultiplexedConnection,
    number: u64,
    state: Arc<watch::Sender<State>>,
}

impl Opened {
    /// Tells the link that this connection is of no use any more, should it not know yet.
    pub(super) fn broke(&self, why: &str) {
        self.state.send_if_modified(|state| match state {
            State::Open { number, .. } if *number == self.number => {
                *state = State::Broken(why.into());
                true
            }
            _ => false,
        });
    }
}

impl Link {
    /// Begins to connect, on this scheduler. `patience` is how long a reply may take before the connection is given up.
    pub(crate) fn start(
        runtime: &Handle,
        access: Arc<Access>,
        address: Address,
        patience: Duration,
        stats: Arc<LinkStats>,
        on_push: Option<OnPush>,
    ) -> Self {
        let state = Arc::new(watch::Sender::new(State::Opening));
        let keeper = Keeper {
            access,
            address,
            patience,
            stats,
            on_push,
            state: Arc::clone(&state),
        };
        Self {
            state,
            task: runtime.spawn(keeper.keep()),
        }
    }

    /// The open connection, or why there is none. While the first attempt is under way it waits for its outcome.
    pub(crate) async fn opened(&self) -> Result<Opened, String> {
        let known = self.state.borrow().clone();
        let state = match known {
            State::Opening => {
                let mut receiver = self.state.subscribe();
                let outcome = receiver
                    .wait_for(|state| !matches!(state, State::Opening))
                    .await;
                outcome.map_or(State::Opening, |state| state.clone())
            }
            other => other,
        };
        self.named(state)
    }

    /// The connection, if it is open now.
    pub(super) fn open_now(&self) -> Option<Opened> {
        let state = self.state.borrow();
        let State::Open { connection, number } = &*state else {
            return None;
        };
        Some(Opened {
            connection: connection.clone(),
            number: *number,
            state: Arc::clone(&self.state),
        })
    }

    /// The same, but a link that is broken has until then to be open again.
    pub(super) async fn reopened(&self, within: Duration) -> Result<Opened, String> {
        let mut receiver = self.state.subscribe();
        let open = receiver.wait_for(|state| matches!(state, State::Open { .. }));
        let state = match timeout(within, open).await {
            Ok(Ok(state)) => state.clone(),
            _ => self.state.borrow().clone(),
        };
        self.named(state)
    }

    /// Whether it is open now.
    pub(super) fn is_open(&self) -> bool {
        matches!(*self.state.borrow(), State::Open { .. })
    }

    fn named(&self, state: State) -> Result<Opened, String> {
        match state {
            State::Open { connection, number } => Ok(Opened {
                connection,
                number,
                state: Arc::clone(&self.state),
            }),
            State::Broken(why) => Err(why.as_ref().to_owned()),
            State::Opening => Err("the connection is still being made".to_owned()),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Keeper {
    access: Arc<Access>,
    address: Address,
    patience: Duration,
    stats: Arc<LinkStats>,
    on_push: Option<OnPush>,
    state: Arc<watch::Sender<State>>,
}

impl Keeper {
    async fn keep(self) {
        let mut pause = SHORTEST_PAUSE;
        let mut number = 0;
        loop {
            let (pushes, pushed) = unbounded_channel();
            match self.access.open(&self.address, pushes).await {
                Ok(connection) => {
                    let counted = Counted::new(&self.stats);
                    if number > 0 {
                        self.stats.reconnects.fetch_add(1, Ordering::Relaxed);
                        tracing::info!(address = %self.address, "connected to Redis again");
                    }
                    number += 1;
                    pause = SHORTEST_PAUSE;
                    self.state.send_replace(State::Open {
                        connection: connection.clone(),
                        number,
                    });
                    self.stats.changed.notify_one();
                    let why = self.until_broken(connection, pushed).await;
                    drop(counted);
                    tracing::warn!(why, "the connection to Redis broke");
                    self.broken(&why);
                    self.stats.changed.notify_one();
                }
                Err(why) => {
                    if matches!(*self.state.borrow(), State::Opening) {
                        tracing::warn!(why, "there is no connection to Redis");
                        self.stats.changed.notify_one();
                    }
                    self.broken(&why);
                }
            }
            sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn broken(&self, why: &str) {
        self.state.send_replace(State::Broken(why.into()));
        if let Some(on_push) = &self.on_push {
            on_push(PushInfo {
                kind: PushKind::Disconnection,
                data: Vec::new(),
            });
        }
    }

    async fn until_broken(
        &self,
        mut connection: MultiplexedConnection,
        mut pushed: UnboundedReceiver<PushInfo>,
    ) -> String {
        let mut state = self.state.subscribe();
        let given_up = async {
            let broken = state
                .wait_for(|state| matches!(state, State::Broken(_)))
                .await;
            match broken.as_deref() {
                Ok(State::Broken(why)) => why.as_ref().to_owned(),
                _ => format!("{} is not used any more", self.address),
            }
        };
        tokio::select! {
            why = given_up => why,
            () = self.pass_on(&mut pushed) => format!("{} closed the connection", self.address),
            () = self.until_unanswered(&mut connection) => format!("{} does not answer", self.address),
        }
    }

    /// Passes pushes on until the connection ends.
    async fn pass_on(&self, pushed: &mut UnboundedReceiver<PushInfo>) {
        while let Some(push) = pushed.recv().await {
            if push.kind == PushKind::Disconnection {
                return;
            }
            if let Some(on_push) = &self.on_push {
                on_push(push);
            }
        }
    }

    async fn until_unanswered(&self, connection: &mut MultiplexedConnection) {
        let ping = redis::cmd("PING");
        loop {
            sleep(PING_EVERY).await;
            // A refusal is an answer too.
            if timeout(self.patience, connection.send_packed_command(&ping))
                .await
                .is_err()
            {
                return;
            }
        }
    }
}

/// A connection that counts as long as it lives.
struct Counted(Arc<LinkStats>);

impl Counted {
    fn new(stats: &Arc<LinkStats>) -> Self {
        stats.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(stats))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
