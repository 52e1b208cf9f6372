//! The library in this process: a machine of Lua and a model of Redis in WebAssembly, without a server.
//!
//! One thread (`host`) has the machine and makes all calls in the order in which they come (`queue`). What they publish is
//! told in this process. The state is kept in a `file`, if one is given, which the `saver` writes.

mod answer;
mod file;
mod host;
mod queue;
mod saver;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use lockless_wasm::{Limits, Machine};
use tokio::sync::oneshot;

use self::file::StateFile;
use self::host::{Host, now_us};
use self::queue::{Queue, Unit};
pub use self::saver::StateGauges;
use self::saver::{Progress, Saver};
use super::{Call, Durability, Failure, Reply, Status};

/// What ends the name of a cell's channel.
const WAKE: &[u8] = b":wake";

/// How the library is hosted.
#[derive(Debug, Clone)]
pub struct EmbeddedSettings {
    /// Beyond this many bytes it takes no new work, as Redis at its `maxmemory`.
    pub memory_bytes: u32,
    /// Where the state is kept. Without a file nothing is.
    pub state: Option<PathBuf>,
    /// The time between two saves of what changed.
    pub save_every: Duration,
}

/// The library, hosted in this process.
pub struct Embedded {
    queue: Arc<Queue>,
    news: Arc<News>,
    counts: Arc<Counts>,
    memory_limit_bytes: u32,
    saves: Option<Arc<Progress>>,
    thread: Mutex<Option<JoinHandle<Result<(), String>>>>,
}

/// What it does now, for metrics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmbeddedGauges {
    /// Calls that wait or are being made.
    pub waiting: usize,
    /// Memory in use.
    pub memory_bytes: usize,
    /// Memory that may be in use.
    pub memory_limit_bytes: u32,
    /// Calls that were stopped.
    pub stopped: u64,
    /// Of the file, if there is one.
    pub state: Option<StateGauges>,
}

/// What the thread counts.
#[derive(Default)]
struct Counts {
    memory_bytes: AtomicUsize,
    stopped: AtomicU64,
}

impl Counts {
    fn note_memory(&self, bytes: usize) {
        self.memory_bytes.store(bytes, Ordering::Relaxed);
    }

    fn note_stopped(&self) {
        self.stopped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Is told the root of a cell, and what was said on its channel.
pub(crate) type Hearer = Box<dyn Fn(&str, Vec<u8>) + Send + Sync>;

/// Those who hear what is published.
#[derive(Default)]
struct News(RwLock<Vec<Hearer>>);

impl News {
    fn tell(&self, channel: &[u8], message: Vec<u8>) {
        let root = channel.strip_suffix(WAKE);
        let Some(root) = root.and_then(|root| std::str::from_utf8(root).ok()) else {
            return;
        };
        let hearers = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for hear in hearers.iter() {
            hear(root, message.clone());
        }
    }
}

impl Embedded {
    /// Starts it, with the state that the file has. It fails for a file that can't be used, and leaves that alone.
    pub fn start(settings: EmbeddedSettings) -> Result<Arc<Self>, NotHosted> {
        let limits = Limits {
            memory_bytes: settings.memory_bytes,
            ..Limits::default()
        };
        let mut machine = Machine::start(limits, now_us())?;
        if host::digest(&mut machine).as_deref() != lockless_functions::digest() {
            tracing::warn!(
                "the embedded library is not the one that this program was built with: run cargo xtask wasm and build it again"
            );
        }
        let mut saver = None;
        if let Some(path) = &settings.state {
            let file = StateFile::open(path)?;
            if let Some(state) = file.read()? {
                let loaded = machine.load(&state, now_us());
                loaded.map_err(|error| NotHosted::damaged(path, error.to_string()))?;
            }
            saver = Some(Saver::start(file, settings.save_every).map_err(NotHosted::Thread)?);
        }
        let (queue, news, counts) = <(Arc<Queue>, Arc<News>, Arc<Counts>)>::default();
        counts.note_memory(machine.used_bytes());
        let saves = saver.as_ref().map(Saver::progress);
        let host = Host {
            machine,
            queue: Arc::clone(&queue),
            news: Arc::clone(&news),
            counts: Arc::clone(&counts),
            saver,
        };
        let thread = std::thread::Builder::new()
            .name("embedded".to_owned())
            .spawn(move || host.run())
            .map_err(NotHosted::Thread)?;
        Ok(Arc::new(Self {
            queue,
            news,
            counts,
            memory_limit_bytes: settings.memory_bytes,
            saves,
            thread: Mutex::new(Some(thread)),
        }))
    }

    /// Makes one call.
    pub async fn call(&self, call: Call, durability: Durability) -> Result<Reply, Failure> {
        if durability == Durability::Replica && call.writes {
            return Err(Failure::NoReplica);
        }
        let (answer, answered) = oneshot::channel();
        self.queue.push(Unit::One(call, answer))?;
        answered.await.unwrap_or_else(|_| Err(Failure::Ended))
    }

    /// Makes calls in this order, with none of another caller in between.
    pub async fn batch(
        &self,
        calls: Vec<Call>,
        durability: Durability,
    ) -> Vec<Result<Reply, Failure>> {
        if durability == Durability::Primary || !calls.iter().any(|call| call.writes) {
            return self.batch_at_once(calls).await;
        }
        let writes: Vec<bool> = calls.iter().map(|call| call.writes).collect();
        let reads = calls.into_iter().filter(|call| !call.writes).collect();
        let mut read = self.batch_at_once(reads).await.into_iter();
        let mut outcome = |is_write: bool| {
            let read = if is_write { None } else { read.next() };
            read.unwrap_or(Err(Failure::NoReplica))
        };
        writes.into_iter().map(&mut outcome).collect()
    }

    async fn batch_at_once(&self, calls: Vec<Call>) -> Vec<Result<Reply, Failure>> {
        let count = calls.len();
        let (answer, answered) = oneshot::channel();
        if let Err(failure) = self.queue.push(Unit::Many(calls, answer)) {
            return vec![Err(failure); count];
        }
        answered
            .await
            .unwrap_or_else(|_| vec![Err(Failure::Ended); count])
    }

    /// Whether calls can be made.
    pub fn status(&self) -> Status {
        if self.queue.is_closed() {
            return Status::NotReady("the embedded scheduler has ended".to_owned());
        }
        let trouble = self.saves.as_ref().and_then(|saves| saves.trouble());
        trouble.map_or(Status::Ready, Status::Troubled)
    }

    /// For metrics.
    pub fn gauges(&self) -> EmbeddedGauges {
        EmbeddedGauges {
            waiting: self.queue.waiting(),
            memory_bytes: self.counts.memory_bytes.load(Ordering::Relaxed),
            memory_limit_bytes: self.memory_limit_bytes,
            stopped: self.counts.stopped.load(Ordering::Relaxed),
            state: self.saves.as_ref().map(|saves| saves.gauges()),
        }
    }

    /// Makes the calls that wait, and saves the state. The error says why that could not be.
    pub async fn close(&self) -> Result<(), String> {
        self.queue.close();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(thread) = thread else { return Ok(()) };
        let ended = tokio::task::spawn_blocking(move || thread.join()).await;
        match ended {
            Ok(Ok(saved)) => saved,
            _ => Err("the embedded scheduler ended by an error in the program".to_owned()),
        }
    }

    /// Has someone told what is published.
    pub(crate) fn hear(&self, hearer: Hearer) {
        let mut hearers = self.news.0.write().unwrap_or_else(PoisonError::into_inner);
        hearers.push(hearer);
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// Why the library can't be hosted, or not with that file.
#[derive(Debug, thiserror::Error)]
pub enum NotHosted {
    /// No machine.
    #[error("the embedded scheduler can't be started: {0}")]
    Machine(#[from] lockless_wasm::Error),
    /// No thread.
    #[error("the embedded scheduler can't be started: {0}")]
    Thread(std::io::Error),
    /// The file can't be written where it is to be.
    #[error("--state {path} can't be written there: {source}")]
    Directory {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// Someone else has it.
    #[error("--state {0} is in use by another gateway")]
    InUse(PathBuf),
    /// The file can't be read.
    #[error("--state {path} can't be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("--state {path} can't be used and is left as it is: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl NotHosted {
    fn directory(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        Self::Directory { path, source }
    }

    fn unreadable(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        Self::Unreadable { path, source }
    }

    fn damaged(path: &Path, why: impl Into<String>) -> Self {
        let (path, why) = (path.to_owned(), why.into());
        Self::Damaged { path, why }
    }
}
