//! What nodes said of themselves: when they were present, and how much of their load is not ours.

use std::collections::BTreeMap;

use crate::history::{History, Record};

use super::{at_least_us, fences};

/// The words of one node, by their start.
#[derive(Default)]
pub(crate) struct Words<'h> {
    records: Vec<&'h Record>,
    /// The times in which it may have ended by a word of its own: its slots are free again.
    may_end: Vec<Ending>,
    /// The times in which it may have been lost because it was silent. Its jobs are over or go elsewhere; its slots are given again only once it
    /// has registered, which is such a word.
    may_be_lost: Vec<Ending>,
}

/// Within this time a node may have ended, at any moment.
struct Ending {
    from_us: u64,
    until_us: u64,
}

/// A node, by cell and id.
pub(crate) type NodeKey<'h> = (&'h str, &'h str);

/// The words of each node.
pub(crate) fn of(history: &History) -> BTreeMap<NodeKey<'_>, Words<'_>> {
    let mut nodes: BTreeMap<NodeKey, Words> = BTreeMap::new();
    for record in &history.records {
        let is_word = matches!(
            record.function,
            "register" | "heartbeat" | "tick" | "deregister"
        );
        if is_word && record.said.may_have_acted() {
            let words = nodes.entry((&record.root, record.word(0))).or_default();
            words.records.push(record);
        }
    }
    for words in nodes.values_mut() {
        words.may_end = endings(&words.records);
        words.may_be_lost = losses(history, &words.records);
    }
    nodes
}

/// A node's holds may end when it registers, which it does anew only, and when it leaves.
fn endings(records: &[&Record]) -> Vec<Ending> {
    // A call is made at some moment between its start and its reply. One without a reply was made before the node's next word was answered.
    let answered_us = |at: usize| {
        let answered = records[at..].iter().find(|record| record.reply().is_some());
        answered.map_or(u64::MAX, |record| record.end_us)
    };
    let ends = records
        .iter()
        .enumerate()
        .filter(|(_, record)| matches!(record.function, "register" | "deregister"));
    let endings = ends.map(|(at, record)| Ending {
        from_us: record.start_us,
        until_us: answered_us(at),
    });
    endings.collect()
}

/// A node may be lost once it was silent for too long, until it is heard again.
fn losses(history: &History, records: &[&Record]) -> Vec<Ending> {
    let ttl_us = at_least_us(history.heartbeat_ttl_ms);
    let is_heard =
        |record: &&&Record| history.is_durable(record) && record.function != "deregister";
    let heard: Vec<&&Record> = records.iter().filter(is_heard).collect();
    let losses = heard.iter().enumerate().map(|(at, word)| Ending {
        from_us: word.start_us + ttl_us,
        until_us: match heard.get(at + 1) {
            None => u64::MAX,
            // Who is heard under the same number was not lost, unless an injury undid that.
            Some(next) if incarnation(word).is_some_and(|own| incarnation(next) == Some(own)) => {
                history.undid_before(next.end_us).unwrap_or(0)
            }
            Some(next) => next.end_us,
        },
    });
    losses.filter(|one| one.from_us < one.until_us).collect()
}

/// The incarnation that a word was given, or was said under.
fn incarnation(word: &Record) -> Option<u64> {
    match word.function {
        "register" => fences::incarnation(word),
        _ => word.number("INCARNATION"),
    }
}

/// When the first of them may be that is not over by then.
fn first_after(endings: &[Ending], time_us: u64) -> u64 {
    let later = endings.iter().filter(|one| one.until_us > time_us);
    let first = later.map(|one| one.from_us.max(time_us)).min();
    first.unwrap_or(u64::MAX)
}

impl Words<'_> {
    /// When a slot that was taken at this time may first be free with its node's end.
    pub(crate) fn may_be_free_after(&self, time_us: u64) -> u64 {
        first_after(&self.may_end, time_us)
    }

    /// When a job that it had at this time may first have ended with it, or gone to another.
    pub(crate) fn may_lose_after(&self, time_us: u64) -> u64 {
        first_after(&self.may_be_lost, time_us).min(self.may_be_free_after(time_us))
    }

    /// Whether it may have ended after `from_us` and not after `to_us`.
    pub(crate) fn may_end_within(&self, from_us: u64, to_us: u64) -> bool {
        self.may_lose_after(from_us) <= to_us
    }

    /// How many slots it has, as it said last before this time. The load's nodes never change that.
    pub(crate) fn max_jobs(&self) -> Option<u64> {
        let registers = self.records.iter().rev();
        let mut said = registers.filter(|record| record.function == "register");
        said.find_map(|record| record.word(1).parse().ok())
    }

    /// How much foreign work it surely had from `start_us` to `end_us`, as it said.
    pub(crate) fn foreign(&self, history: &History, start_us: u64, end_us: u64) -> u64 {
        let mut least = u64::MAX;
        let before = self.records.partition_point(|word| word.start_us <= end_us);
        for word in self.records[..before].iter().rev() {
            let is_sure = word.reply().is_some() && history.undone_at(word).is_none();
            let said = word.number("FOREIGN").filter(|_| is_sure).unwrap_or(0);
            least = least.min(said);
            // What it said before this one was over then.
            if is_sure && word.end_us <= start_us {
                return least;
            }
        }
        0
    }
}
