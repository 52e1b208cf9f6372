//! Saves the state now and then, on a thread of its own: calls wait only while the memory is copied.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lockless_wasm::{Machine, Snapshot};

use super::file::StateFile;

/// Until someone looks again whether the last save is done.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What is known of saves, for metrics and for `/readyz`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateGauges {
    /// Saves that were made.
    pub saves: u64,
    /// Saves that failed.
    pub failures: u64,
    /// The time that the last save took.
    pub took: Duration,
    /// The size of the last one.
    pub bytes: u64,
    /// For how long the oldest change has not been saved.
    pub unsaved: Duration,
}

/// What the saver and those who ask after it share.
#[derive(Default)]
pub(super) struct Progress {
    saves: AtomicU64,
    failures: AtomicU64,
    took_us: AtomicU64,
    bytes: AtomicU64,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    is_saving: bool,
    /// Since when there are changes of which no save has begun.
    changed: Option<Instant>,
    /// The same of those that are being saved.
    saving: Option<Instant>,
    /// Why the last save failed, if it did.
    trouble: Option<String>,
}

/// Saves, until it is dropped.
pub(super) struct Saver {
    file: Arc<StateFile>,
    progress: Arc<Progress>,
    orders: SyncSender<Snapshot>,
    thread: JoinHandle<()>,
    has_changes: bool,
    /// The time between two saves, if something changed.
    every: Duration,
    next: Instant,
}

impl Saver {
    pub(super) fn start(file: StateFile, every: Duration) -> std::io::Result<Self> {
        let (file, progress) = (Arc::new(file), Arc::new(Progress::default()));
        let (orders, received) = sync_channel(1);
        let (its_file, its_progress) = (Arc::clone(&file), Arc::clone(&progress));
        let thread = std::thread::Builder::new()
            .name("state".to_owned())
            .spawn(move || save_each(&received, &its_file, &its_progress))?;
        Ok(Self {
            file,
            progress,
            orders,
            thread,
            has_changes: false,
            every,
            next: Instant::now() + every,
        })
    }

    pub(super) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Something may have changed.
    pub(super) fn changed(&mut self) {
        if !self.has_changes {
            self.has_changes = true;
            self.progress.now().changed.get_or_insert_with(Instant::now);
        }
    }

    /// When there is something to do, if there is.
    pub(super) fn due(&self) -> Option<Instant> {
        (self.has_changes || self.progress.now().trouble.is_some()).then_some(self.next)
    }

    /// Begins to save if it is time.
    pub(super) fn save_if_due(&mut self, machine: &mut Machine) {
        if Instant::now() < self.next || self.due().is_none() {
            return;
        }
        if self.progress.now().is_saving {
            self.next = Instant::now() + LOOK_AGAIN;
            return;
        }
        self.next = Instant::now() + self.every;
        self.progress.begin();
        self.has_changes = false;
        match machine.snapshot() {
            Ok(snapshot) => {
                if self.orders.send(snapshot).is_err() {
                    self.progress.failed("the thread that saves has ended");
                }
            }
            Err(stopped) => self.progress.failed(&stopped.to_string()),
        }
    }

    /// Waits for what is being saved, and saves the rest. The error is a sentence.
    pub(super) fn finish(self, machine: &mut Machine) -> Result<(), String> {
        let Self {
            file,
            progress,
            orders,
            thread,
            has_changes,
            ..
        } = self;
        drop(orders);
        // One that panicked has left its changes unsaved, and is told of below.
        let _ = thread.join();
        if !has_changes && progress.now().trouble.is_none() {
            return Ok(());
        }
        progress.begin();
        save(&file, &progress, || machine.save());
        match progress.now().trouble.take() {
            Some(trouble) => Err(trouble),
            None => Ok(()),
        }
    }
}

fn save_each(orders: &Receiver<Snapshot>, file: &StateFile, progress: &Progress) {
    for snapshot in orders {
        save(file, progress, || snapshot.save());
    }
}

fn save(
    file: &StateFile,
    progress: &Progress,
    state: impl FnOnce() -> Result<Vec<u8>, lockless_wasm::Error>,
) {
    let _guard = Unfinished(progress);
    let began = Instant::now();
    let cannot = |why: &dyn std::fmt::Display| {
        format!(
            "the state can't be saved to {}: {why}",
            file.path().display()
        )
    };
    let written =
        state()
            .map_err(|error| cannot(&error))
            .and_then(|state| match file.write(&state) {
                Ok(()) => Ok(state.len()),
                Err(error) => Err(cannot(&error)),
            });
    match written {
        Ok(bytes) => progress.saved(bytes, began.elapsed()),
        Err(why) => progress.failed(&why),
    }
}

/// A save that panics is a save that failed.
struct Unfinished<'a>(&'a Progress);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.0.now().is_saving {
            self.0
                .failed("the state can't be saved: an error in the program");
        }
    }
}

impl Progress {
    pub(super) fn gauges(&self) -> StateGauges {
        let now = self.now();
        let oldest = now.saving.or(now.changed);
        StateGauges {
            saves: self.saves.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            took: Duration::from_micros(self.took_us.load(Ordering::Relaxed)),
            bytes: self.bytes.load(Ordering::Relaxed),
            unsaved: oldest.map_or(Duration::ZERO, |since| since.elapsed()),
        }
    }

    /// Why the last save failed, if it did.
    pub(super) fn trouble(&self) -> Option<String> {
        self.now().trouble.clone()
    }

    fn begin(&self) {
        let mut now = self.now();
        now.is_saving = true;
        let changed = now.changed.take();
        now.saving = now.saving.or(changed);
    }

    fn saved(&self, bytes: usize, took: Duration) {
        self.saves.fetch_add(1, Ordering::Relaxed);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.took_us.store(us, Ordering::Relaxed);
        self.bytes.store(bytes as u64, Ordering::Relaxed);
        let mut now = self.now();
        now.is_saving = false;
        now.saving = None;
        if now.trouble.take().is_some() {
            tracing::info!("the state is saved again");
        }
    }

    fn failed(&self, why: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let mut now = self.now();
        now.is_saving = false;
        // It is tried again every few seconds, and told once.
        if now.trouble.as_deref() != Some(why) {
            tracing::error!("{why}; the file that is there stays, and it is tried again");
            now.trouble = Some(why.to_owned());
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
