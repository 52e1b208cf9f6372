//! What the cell wants run here, and what is here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

/// A revision of a deployment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Changes with the SPEC.
    pub(crate) revision: u64,
    /// What is to be run.
    pub(crate) spec: Value,
}

/// What is wanted of a deployment: that it is stopped, or that this is run.
pub(crate) type Wish = Option<Arc<Wanted>>;

/// What a node has, with revisions.
pub(crate) type Assigned = BTreeMap<String, u64>;

/// Every deployment that is wanted here, or is not gone yet.
#[derive(Default)]
pub(crate) struct Deployments {
    book: Mutex<Book>,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Book {
    /// The node's epoch in which the cell was last heard.
    epoch: u64,
    is_closed: bool,
    entries: BTreeMap<String, watch::Sender<Wish>>,
}

impl Deployments {
    /// Stops what the node does not have by the reply to a claim, and says which of the others are not known in their revision.
    /// What was said in an epoch that is over is not heard: none.
    pub(crate) fn keep_only(&self, epoch: u64, assigned: &Assigned) -> Option<Vec<(String, u64)>> {
        let mut book = self.book();
        if book.is_closed || epoch < book.epoch {
            return None;
        }
        book.epoch = epoch;
        book.keep_only(assigned);
        let known = |id: &String, revision: u64| {
            let wish = book.entries.get(id).map(|entry| entry.borrow().clone());
            wish.flatten()
                .is_some_and(|wanted| wanted.revision == revision)
        };
        let unknown = assigned
            .iter()
            .filter(|(id, revision)| !known(id, **revision));
        Some(
            unknown
                .map(|(id, revision)| (id.clone(), *revision))
                .collect(),
        )
    }

    /// Stops what the node does not have by the reply to its registration, unless a claim was answered since then.
    pub(crate) fn begin_epoch(&self, epoch: u64, assigned: &Assigned) {
        let mut book = self.book();
        if epoch > book.epoch {
            book.epoch = epoch;
            book.keep_only(assigned);
        }
    }

    /// Wants a revision run. If nobody looks after the deployment yet, its wishes are returned for whoever will.
    pub(crate) fn want(
        &self,
        epoch: u64,
        id: &str,
        wanted: Wanted,
    ) -> Option<watch::Receiver<Wish>> {
        let mut book = self.book();
        if book.is_closed || epoch < book.epoch {
            return None;
        }
        let wish = Some(Arc::new(wanted));
        if let Some(entry) = book.entries.get(id) {
            entry.send_if_modified(|now| {
                let is_news = *now != wish;
                if is_news {
                    *now = wish;
                }
                is_news
            });
            return None;
        }
        let (sender, wishes) = watch::channel(wish);
        book.entries.insert(id.to_owned(), sender);
        drop(book);
        self.changed();
        Some(wishes)
    }

    /// Nothing of a deployment is left. False if it is wanted again.
    pub(crate) fn leave(&self, id: &str) -> bool {
        let mut book = self.book();
        let is_wanted = book
            .entries
            .get(id)
            .is_some_and(|entry| entry.borrow().is_some());
        if !is_wanted {
            book.entries.remove(id);
        }
        drop(book);
        self.changed();
        !is_wanted
    }

    /// Stops everything, for good.
    pub(crate) fn close(&self) {
        let mut book = self.book();
        book.is_closed = true;
        book.keep_only(&Assigned::new());
    }

    /// All that is here: what runs, waits to run again, or is being stopped.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.book().entries.keys().cloned().collect()
    }

    /// Returns when none is left.
    pub(crate) async fn are_gone(&self) {
        let mut changes = self.changes.subscribe();
        while !self.book().entries.is_empty() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn keep_only(&self, assigned: &Assigned) {
        let others = self
            .entries
            .iter()
            .filter(|(id, _)| !assigned.contains_key(*id));
        for (_, entry) in others {
            entry.send_if_modified(|wish| wish.take().is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(ids: &[(&str, u64)]) -> Assigned {
        ids.iter()
            .map(|(id, revision)| ((*id).to_owned(), *revision))
            .collect()
    }

    fn revision(revision: u64) -> Wanted {
        Wanted {
            revision,
            spec: Value::Null,
        }
    }

    fn wanted(wishes: &watch::Receiver<Wish>) -> Option<u64> {
        wishes.borrow().as_ref().map(|wanted| wanted.revision)
    }

    #[test]
    fn what_is_not_assigned_is_stopped_and_what_is_new_is_unknown() {
        let here = Deployments::default();
        let a = here.want(1, "a", revision(1)).expect("new");
        let b = here.want(1, "b", revision(1)).expect("new");
        let unknown = here.keep_only(1, &assigned(&[("b", 2), ("c", 1)]));
        assert_eq!(
            unknown,
            Some(vec![("b".to_owned(), 2), ("c".to_owned(), 1)])
        );
        assert_eq!((wanted(&a), wanted(&b)), (None, Some(1)));
        assert!(here.want(1, "b", revision(2)).is_none());
        assert_eq!(wanted(&b), Some(2));
        assert_eq!(here.keep_only(1, &assigned(&[("b", 2)])), Some(Vec::new()));
        assert_eq!(here.ids(), ["a", "b"]);
    }

    #[test]
    fn a_deployment_that_is_wanted_again_before_it_is_gone_stays() {
        let here = Deployments::default();
        let wishes = here.want(1, "a", revision(1)).expect("new");
        here.keep_only(1, &Assigned::new());
        assert!(here.want(1, "a", revision(1)).is_none());
        assert!(!here.leave("a"));
        assert_eq!(wanted(&wishes), Some(1));
        here.keep_only(1, &Assigned::new());
        assert!(here.leave("a") && here.ids().is_empty());
    }

    #[test]
    fn words_of_an_epoch_that_is_over_are_not_heard() {
        let here = Deployments::default();
        let wishes = here.want(1, "a", revision(1)).expect("new");
        here.begin_epoch(2, &Assigned::new());
        assert_eq!(wanted(&wishes), None);
        assert_eq!(here.keep_only(1, &assigned(&[("a", 1)])), None);
        assert!(here.want(1, "a", revision(1)).is_none() && wanted(&wishes).is_none());
        // Its registration is older than the claim that was answered since.
        here.keep_only(2, &assigned(&[("a", 1)]));
        here.want(2, "a", revision(1));
        here.begin_epoch(2, &Assigned::new());
        assert_eq!(wanted(&wishes), Some(1));
    }

    #[tokio::test]
    async fn after_the_end_nothing_is_wanted_any_more() {
        let here = Deployments::default();
        let wishes = here.want(1, "a", revision(1)).expect("new");
        here.close();
        assert_eq!(wanted(&wishes), None);
        assert!(here.want(1, "b", revision(1)).is_none());
        assert_eq!(here.keep_only(1, &assigned(&[("a", 1)])), None);
        assert!(here.leave("a"));
        here.are_gone().await;
    }
}
