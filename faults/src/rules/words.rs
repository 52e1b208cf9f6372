//! What nodes said of themselves: when they were present, and how much of their load is not ours.

use std::collections::BTreeMap;

use crate::history::{History, Record};

use super::at_least_us;

/// The words of one node, by their start.
#[derive(Default)]
pub(crate) struct Words<'h> {
    records: Vec<&'h Record>,
    /// The times in which it may have ended, by itself or by its silence.
    may_end: Vec<Ending>,
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
        words.may_end = endings(history, &words.records);
    }
    nodes
}

/// A node's holds may end when it registers, which it does anew only, when it leaves, and when it was silent.
fn endings(history: &History, records: &[&Record]) -> Vec<Ending> {
    // A call is made at some moment between its start and its reply. One without a reply was made before the node's next word was answered.
    let answered_us = |at: usize| {
        let answered = records[at..].iter().find(|record| record.reply().is_some());
        answered.map_or(u64::MAX, |record| record.end_us)
    };
    let mut endings: Vec<Ending> = records
        .iter()
        .enumerate()
        .filter(|(_, record)| matches!(record.function, "register" | "deregister"))
        .map(|(at, record)| Ending {
            from_us: record.start_us,
            until_us: answered_us(at),
        })
        .collect();
    let ttl_us = at_least_us(history.heartbeat_ttl_ms);
    let heard: Vec<&&Record> = records
        .iter()
        .filter(|record| history.is_durable(record) && record.function != "deregister")
        .collect();
    for pair in heard.windows(2) {
        let silent_us = pair[0].start_us + ttl_us;
        if pair[1].end_us > silent_us {
            endings.push(Ending {
                from_us: silent_us,
                until_us: pair[1].end_us,
            });
        }
    }
    if let Some(last) = heard.last() {
        endings.push(Ending {
            from_us: last.start_us + ttl_us,
            until_us: u64::MAX,
        });
    }
    endings
}

impl Words<'_> {
    /// When a hold that was there at this time may first have ended with its node.
    pub(crate) fn may_end_after(&self, time_us: u64) -> u64 {
        let later = self.may_end.iter().filter(|one| one.until_us > time_us);
        let first = later.map(|one| one.from_us.max(time_us)).min();
        first.unwrap_or(u64::MAX)
    }

    /// Whether it may have ended after `from_us` and not after `to_us`.
    pub(crate) fn may_end_within(&self, from_us: u64, to_us: u64) -> bool {
        self.may_end_after(from_us) <= to_us
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
