//! The books: every run that the cell knows of and that has not been reported to its end.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// How a job came here, which decides how it can be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From the queue, by a tick.
    Queue,
    /// Dispatched to this node.
    Pushed,
}

/// Why a run is to be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The cell asked for it: cancelled, preempted or expired.
    Asked,
    /// The cell has given the job up with the node; nobody wants to hear of it.
    Lost,
    /// The agent ends.
    Shutdown,
}

/// What is wanted of a run: nothing while it may go on.
pub type Wish = Option<Stop>;

/// All runs, by their numbers.
#[derive(Default)]
pub struct Books {
    entries: Mutex<Entries>,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Entries {
    next: u64,
    runs: BTreeMap<u64, Entry>,
}

struct Entry {
    job: String,
    epoch: u64,
    has_processes: bool,
    wish: watch::Sender<Wish>,
}

impl Books {
    /// Enters a run. Of a job that was handed out again there may be an earlier one that is not over yet.
    pub fn enter(&self, job: &str, epoch: u64) -> (u64, watch::Receiver<Wish>) {
        let (wish, wishes) = watch::channel(Wish::default());
        let mut entries = self.entries();
        entries.next += 1;
        let number = entries.next;
        let entry = Entry {
            job: job.to_owned(),
            epoch,
            has_processes: false,
            wish,
        };
        entries.runs.insert(number, entry);
        drop(entries);
        self.changed();
        (number, wishes)
    }

    /// Notes whether a run has processes.
    pub fn note_processes(&self, number: u64, has_processes: bool) {
        if let Some(entry) = self.entries().runs.get_mut(&number) {
            entry.has_processes = has_processes;
        }
        self.changed();
    }

    /// A run is over and reported.
    pub fn leave(&self, number: u64) {
        self.entries().runs.remove(&number);
        self.changed();
    }

    /// Wants a job stopped. False if there is no such job here.
    pub fn ask(&self, job: &str, epoch: u64) -> bool {
        let entries = self.entries();
        let newest = entries
            .runs
            .values()
            .rev()
            .find(|entry| entry.job == job && entry.epoch == epoch);
        newest.is_some_and(|entry| {
            entry.want(Stop::Asked);
            true
        })
    }

    /// Wants everything stopped that did not begin in this epoch.
    pub fn abandon_all_but(&self, epoch: u64) {
        let entries = self.entries();
        for entry in entries.runs.values().filter(|entry| entry.epoch != epoch) {
            entry.want(Stop::Lost);
        }
    }

    /// Wants everything stopped.
    pub fn stop_all(&self, stop: Stop) {
        for entry in self.entries().runs.values() {
            entry.want(stop);
        }
    }

    /// How many runs there are.
    pub fn count(&self) -> usize {
        self.entries().runs.len()
    }

    /// How many runs have processes.
    pub fn count_alive(&self) -> usize {
        self.entries()
            .runs
            .values()
            .filter(|entry| entry.has_processes)
            .count()
    }

    /// Processes of earlier epochs that are not gone yet: work that the cell knows nothing of.
    pub fn foreign(&self, epoch: u64) -> usize {
        let entries = self.entries();
        let foreign = entries
            .runs
            .values()
            .filter(|entry| entry.has_processes && entry.epoch != epoch);
        foreign.count()
    }

    /// Returns when no earlier run of the same job is left.
    pub async fn earlier_ones_are_over(&self, job: &str, number: u64) {
        self.until(|entries| {
            !entries
                .runs
                .range(..number)
                .any(|(_, entry)| entry.job == job)
        })
        .await;
    }

    /// Returns when nothing runs and all is reported.
    pub async fn is_empty(&self) {
        self.until(|entries| entries.runs.is_empty()).await;
    }

    /// Returns when nothing runs, reported or not.
    pub async fn has_no_processes(&self) {
        self.until(|entries| !entries.runs.values().any(|entry| entry.has_processes))
            .await;
    }

    async fn until(&self, is_so: impl Fn(&Entries) -> bool) {
        let mut changes = self.changes.subscribe();
        while !is_so(&self.entries()) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// What was lost stays lost, whoever wants what afterwards.
    fn want(&self, stop: Stop) {
        self.wish.send_if_modified(|wish| {
            let is_news = *wish != Some(stop) && *wish != Some(Stop::Lost);
            if is_news {
                *wish = Some(stop);
            }
            is_news
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_run_of_a_job_is_the_one_that_is_asked() {
        let books = Books::default();
        let (_, first) = books.enter("job", 1);
        let (_, second) = books.enter("job", 1);
        assert!(books.ask("job", 1));
        assert_eq!(*first.borrow(), None);
        assert_eq!(*second.borrow(), Some(Stop::Asked));
        assert!(!books.ask("other", 1));
        assert!(!books.ask("job", 2));
    }

    #[test]
    fn what_an_earlier_epoch_left_is_foreign_until_it_is_gone() {
        let books = Books::default();
        let (old, wish) = books.enter("a", 1);
        let (new, kept) = books.enter("b", 2);
        books.note_processes(old, true);
        books.note_processes(new, true);
        books.abandon_all_but(2);
        assert_eq!((*wish.borrow(), *kept.borrow()), (Some(Stop::Lost), None));
        assert_eq!(books.foreign(2), 1);
        books.stop_all(Stop::Shutdown);
        assert_eq!(*wish.borrow(), Some(Stop::Lost));
        books.note_processes(old, false);
        assert_eq!(
            (books.foreign(2), books.count_alive(), books.count()),
            (0, 1, 2)
        );
    }

    #[tokio::test]
    async fn a_run_waits_for_earlier_ones_of_its_job() {
        let books = Books::default();
        let (first, _) = books.enter("job", 1);
        let (other, _) = books.enter("other", 1);
        let (second, _) = books.enter("job", 1);
        let mut waiting = Box::pin(books.earlier_ones_are_over("job", second));
        assert!(futures_are_pending(&mut waiting).await);
        books.leave(other);
        assert!(futures_are_pending(&mut waiting).await);
        books.leave(first);
        waiting.await;
    }

    async fn futures_are_pending(future: &mut (impl Future<Output = ()> + Unpin)) -> bool {
        tokio::select! {
            biased;
            () = future => false,
            () = std::future::ready(()) => true,
        }
    }
}
