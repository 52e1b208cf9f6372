//! The slots that were surely taken: from when, until when, by what.
//!
//! A slot is surely taken from the reply that says so until the first call that may give it back begins, or a deadline that may do so passes, or an
//! injury may have undone the grant. So what is found here was there; what may have been there too is left out. A slot that was given, and of
//! which it is not sure that it was taken for any time, was surely given.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{History, Record};
use crate::wire::Answer;

use super::at_least_us;
use super::words::{self, NodeKey, Words};

/// The run limit of a job that says none.
pub(super) const RUN_LIMIT_MS: u64 = 3_600_000;

/// A slot that was surely given.
#[derive(Debug, Clone)]
pub(crate) struct Hold<'h> {
    pub(crate) node: NodeKey<'h>,
    /// The job, or the lease.
    pub(crate) what: String,
    /// Whether it is a job's.
    pub(crate) is_job: bool,
    /// From when the grant may have been made.
    pub(crate) granted_from_us: u64,
    /// From when until when it was surely taken; not at all when that is no time.
    pub(crate) from_us: u64,
    pub(crate) to_us: u64,
    /// When the job may first have been lost with its node, and gone to another. Its slot is not free by that.
    pub(crate) may_go_us: u64,
    /// The call whose reply says so.
    pub(crate) record: &'h Record,
}

/// A job, or a session, of a cell.
type Key<'h> = (&'h str, &'h str);

impl Hold<'_> {
    /// Whether it was surely taken for any time.
    pub(crate) fn is_sure(&self) -> bool {
        self.from_us < self.to_us
    }
}

struct Finder<'h> {
    history: &'h History,
    nodes: BTreeMap<NodeKey<'h>, Words<'h>>,
    /// The calls that may end a job's hold, by their start.
    ends: BTreeMap<Key<'h>, Vec<&'h Record>>,
    /// The calls that may end a session's lease.
    lease_ends: BTreeMap<Key<'h>, Vec<&'h Record>>,
    /// Sessions that were bound: their jobs may sit in a seat, which is counted already.
    bound: BTreeSet<Key<'h>>,
    /// When a grant, which may have been asked for several times, was asked for first.
    first_asked: BTreeMap<(&'h str, &'h str, &'h str, &'h str), u64>,
    holds: Vec<Hold<'h>>,
}

/// All slots that were surely given.
pub(crate) fn of(history: &History) -> Vec<Hold<'_>> {
    let mut finder = Finder::new(history);
    for record in &history.records {
        match record.function {
            "dispatch" => finder.dispatched(record),
            "reserve" => finder.reserved(record),
            "take" => finder.taken(record),
            "pull" => finder.pulled(record),
            "bind" => finder.seated(record),
            _ => {}
        }
    }
    merged(finder.holds)
}

/// The same grant, as several replies said it, counts once: from the first one on.
fn merged(mut holds: Vec<Hold<'_>>) -> Vec<Hold<'_>> {
    holds.sort_by(|a, b| (a.node, &a.what, a.from_us).cmp(&(b.node, &b.what, b.from_us)));
    let mut out: Vec<Hold> = Vec::new();
    for hold in holds {
        match out.last_mut() {
            Some(last)
                if last.node == hold.node
                    && last.what == hold.what
                    && hold.from_us <= last.to_us =>
            {
                last.to_us = last.to_us.max(hold.to_us);
                last.may_go_us = last.may_go_us.max(hold.may_go_us);
            }
            _ => out.push(hold),
        }
    }
    out
}

impl<'h> Finder<'h> {
    fn new(history: &'h History) -> Self {
        let mut ends: BTreeMap<Key, Vec<&Record>> = BTreeMap::new();
        let mut lease_ends: BTreeMap<Key, Vec<&Record>> = BTreeMap::new();
        let mut bound = BTreeSet::new();
        let mut first_asked = BTreeMap::new();
        let acting = history
            .records
            .iter()
            .filter(|record| record.said.may_have_acted());
        for record in acting {
            let about = (&*record.root, record.word(0));
            match record.function {
                "complete" | "stopped" | "release" | "cancel" => {
                    ends.entry(about).or_default().push(record);
                }
                "unbind" | "bind" | "renew" => lease_ends.entry(about).or_default().push(record),
                _ => {}
            }
            if record.function == "bind" {
                bound.insert(about);
            }
            first_asked.entry(asked(record)).or_insert(record.start_us);
        }
        Self {
            history,
            nodes: words::of(history),
            ends,
            lease_ends,
            bound,
            first_asked,
            holds: Vec::new(),
        }
    }

    /// When a job's hold that was said by this record may first have been given back.
    fn job_may_end(&self, record: &Record, job: &'h str, asked_us: u64) -> u64 {
        let ends = self.ends.get(&(&*record.root, job));
        let after = ends.into_iter().flatten().filter(|end| {
            // A word that was over before the grant was asked for is of an earlier try.
            end.reply().is_none() || end.end_us >= asked_us
        });
        after.map(|end| end.start_us).min().unwrap_or(u64::MAX)
    }

    fn add(&mut self, record: &'h Record, node: &'h str, what: String, is_job: bool, to_us: u64) {
        let key = (&*record.root, node);
        let asked_us = self.asked_us(record);
        // A `take` hands over what a `dispatch` or a `reserve` was given before.
        let granted_from_us = match record.function {
            "take" => {
                let dispatched = self.first_asked.get(&(key.0, "dispatch", &*what, ""));
                let reserved = self.first_asked.get(&(key.0, "reserve", node, &*what));
                dispatched.into_iter().chain(reserved).min()
            }
            _ => None,
        };
        let granted_from_us = granted_from_us.copied().unwrap_or(asked_us);
        let Some(words) = self.nodes.get(&key) else {
            return;
        };
        let undone_us = self.history.undone_at(record).unwrap_or(u64::MAX);
        if undone_us <= record.end_us {
            // It may have been given where nothing is kept.
            return;
        }
        // A node that ended while it was being asked for may have ended with the hold.
        let with_node_us = words.may_be_free_after(asked_us);
        self.holds.push(Hold {
            node: key,
            what,
            is_job,
            granted_from_us,
            from_us: record.end_us,
            to_us: to_us.min(with_node_us).min(undone_us),
            may_go_us: words.may_lose_after(asked_us),
            record,
        });
    }

    fn asked_us(&self, record: &'h Record) -> u64 {
        let first = self.first_asked.get(&asked(record));
        first.copied().unwrap_or(record.start_us)
    }

    /// A hold that is free again at a time unless it is acknowledged.
    fn until_acknowledged(&mut self, record: &'h Record, node: &'h str, job: &'h str, ms: u64) {
        let asked_us = self.asked_us(record);
        let overdue_us = asked_us + at_least_us(ms);
        let moved_us = self.history.time_moved_after(asked_us).unwrap_or(u64::MAX);
        let to_us = self.job_may_end(record, job, asked_us);
        let to_us = to_us.min(overdue_us).min(moved_us);
        self.add(record, node, job.to_owned(), true, to_us);
    }

    fn dispatched(&mut self, record: &'h Record) {
        let Some([Answer::Text(node), Answer::Text(job)]) = record.reply().map(Answer::list) else {
            return;
        };
        if self.bound.contains(&(&*record.root, record.word(0))) {
            return;
        }
        let ms = record.number("ACK").unwrap_or(RUN_LIMIT_MS);
        self.until_acknowledged(record, node, job, ms);
    }

    fn reserved(&mut self, record: &'h Record) {
        if record.reply().and_then(Answer::int) == Some(1) {
            let ms = record.word(2).parse().unwrap_or(0);
            self.until_acknowledged(record, record.word(0), record.word(1), ms);
        }
    }

    /// What was acknowledged by being handed over has no deadline within the time of a run, unless it is of a session that has a seat.
    fn taken(&mut self, record: &'h Record) {
        for (job, item) in items(record) {
            let session = text_of(item, "session_id");
            if !self.bound.contains(&(&*record.root, session)) {
                self.handed(record, job);
            }
        }
    }

    fn pulled(&mut self, record: &'h Record) {
        for (job, _) in items(record) {
            self.handed(record, job);
        }
    }

    fn handed(&mut self, record: &'h Record, job: &'h str) {
        let asked_us = self.asked_us(record);
        let to_us = self.job_may_end(record, job, asked_us);
        self.add(record, record.word(0), job.to_owned(), true, to_us);
    }

    fn seated(&mut self, record: &'h Record) {
        let Some(reply) = record.reply() else { return };
        let [state, node, lease] =
            ["state", "node_id", "lease_id"].map(|name| text_of(reply, name));
        if state == "existing" {
            return;
        }
        let session = record.word(0);
        let asked_us = self.asked_us(record);
        let mut overdue_us = asked_us + at_least_us(record.number("LEASE").unwrap_or(0));
        let mut to_us = u64::MAX;
        for other in self
            .lease_ends
            .get(&(&*record.root, session))
            .into_iter()
            .flatten()
        {
            let is_over = other.reply().is_some() && other.end_us < asked_us;
            match other.function {
                "unbind" if other.word(1) == lease => to_us = to_us.min(other.start_us),
                // Whoever preempts it ends it.
                "bind"
                    if !is_over
                        && other.word(1) != record.word(1)
                        && other.args.iter().any(|word| word == "PREEMPT") =>
                {
                    to_us = to_us.min(other.start_us);
                }
                "renew"
                    if other.word(1) == lease
                        && self.history.is_durable(other)
                        && other.end_us < overdue_us =>
                {
                    let ms = other.number("LEASE").unwrap_or(0);
                    overdue_us = overdue_us.max(other.start_us + at_least_us(ms));
                }
                _ => {}
            }
        }
        let moved_us = self.history.time_moved_after(asked_us).unwrap_or(u64::MAX);
        let to_us = to_us.min(overdue_us).min(moved_us);
        self.add(record, node, format!("{session} {lease}"), false, to_us);
    }
}

/// What says that two calls ask for the same grant.
fn asked(record: &Record) -> (&str, &str, &str, &str) {
    let (about, by) = match record.function {
        "dispatch" => (record.option("JOB").unwrap_or(""), ""),
        "take" | "pull" => (record.word(0), record.option("REQUEST").unwrap_or("")),
        _ => (record.word(0), record.word(1)),
    };
    (&record.root, record.function, about, by)
}

/// The jobs that a `take` or `pull` handed over, with their items.
pub(crate) fn items(record: &Record) -> Vec<(&str, &Answer)> {
    let handed = record.reply().and_then(|reply| reply.list().first());
    let items = handed.map(Answer::list).unwrap_or_default();
    items
        .iter()
        .map(|item| (text_of(item, "job_id"), item))
        .collect()
}

/// The text of a field; empty when there is none.
pub(crate) fn text_of<'a>(fields: &'a Answer, name: &str) -> &'a str {
    match fields.field(name) {
        Some(Answer::Text(text)) => text,
        _ => "",
    }
}
