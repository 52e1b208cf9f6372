//! Why a job may have ended although nobody said so: its node ended, or a time was over.

use std::collections::BTreeMap;

use crate::history::{History, Record};
use crate::wire::Answer;

use super::at_least_us;
use super::holds::RUN_LIMIT_MS;
use super::jobs::Told;
use super::words::{self, NodeKey, Words};

/// Tries that may follow the first, where a job does not say how many.
const RETRIES: u64 = 3;

/// What may have ended jobs.
pub(super) struct Causes<'h> {
    history: &'h History,
    nodes: BTreeMap<NodeKey<'h>, Words<'h>>,
    /// By cell: pulls without reply. Each may have handed out any job.
    unheard_pulls: BTreeMap<&'h str, usize>,
    end_us: u64,
}

impl<'h> Causes<'h> {
    pub(super) fn of(history: &'h History) -> Self {
        let mut unheard_pulls = BTreeMap::new();
        for record in &history.records {
            if record.function == "pull" && record.said.may_have_acted() && record.reply().is_none()
            {
                *unheard_pulls.entry(&*record.root).or_default() += 1;
            }
        }
        let ends = history.records.iter().map(|record| record.end_us);
        Self {
            history,
            nodes: words::of(history),
            unheard_pulls,
            end_us: ends.max().unwrap_or(0),
        }
    }

    /// The time in which a job that expired did so: from when it was asked for, until it was seen to be expired or its node was answered that
    /// it has ended.
    fn window_us(&self, told: &Told) -> (u64, u64) {
        let from_us = told.asked.iter().map(|record| record.start_us).min();
        let seen = told.looks.iter().filter(|record| {
            let status = record.reply().and_then(|reply| reply.field("status"));
            status.is_some_and(|status| status.text() == "expired")
        });
        let answered = told
            .completes
            .iter()
            .filter(|record| record.reply().is_some() || record.said.code() == Some("WRONG_STATE"));
        // Of a job from the queue it may have been another try.
        let answered = answered.filter(|_| !told.is_queued);
        let kept = seen.chain(answered);
        let kept = kept.filter(|record| self.history.undone_at(record).is_none());
        let to_us = kept.map(|record| record.end_us).min();
        (from_us.unwrap_or(0), to_us.unwrap_or(self.end_us))
    }

    /// Whether time moved before it was over.
    pub(super) fn may_be_overtaken(&self, told: &Told) -> bool {
        let (from_us, to_us) = self.window_us(told);
        let moved_us = self.history.time_moved_after(from_us);
        moved_us.is_some_and(|moved_us| moved_us <= to_us)
    }

    /// Whether a job may have expired by its run limit; one that was pushed also because its node ended, or it was not acknowledged in time.
    pub(super) fn may_have_expired(&self, root: &str, told: &Told) -> bool {
        let (from_us, to_us) = self.window_us(told);
        let is_over = |ms: u64| from_us + at_least_us(ms) <= to_us;
        let number = |keyword: &str| told.asked.iter().find_map(|record| record.number(keyword));
        if is_over(number("TTL").unwrap_or(RUN_LIMIT_MS)) {
            return true;
        }
        if told.is_queued {
            return false;
        }
        let is_unacknowledged = number("ACK").is_some_and(|ms| {
            let is_in_time = |record: &&Record| {
                record.end_us < from_us + at_least_us(ms) && self.history.is_durable(record)
            };
            is_over(ms) && !told.handed.iter().any(is_in_time)
        });
        is_unacknowledged || self.may_have_lost_its_node(root, told, from_us, to_us)
    }

    fn may_have_lost_its_node(&self, root: &str, told: &Told, from_us: u64, to_us: u64) -> bool {
        let mut on: Vec<String> = Vec::new();
        for record in &told.asked {
            match record.reply() {
                Some(reply) => on.extend(reply.list().first().map(Answer::text)),
                // It may have been given to any.
                None if record.said.may_have_acted() => {
                    let all = self.nodes.keys().filter(|(of, _)| *of == root);
                    on.extend(all.map(|(_, node)| (*node).to_owned()));
                }
                None => {}
            }
        }
        on.extend(told.handed.iter().map(|record| record.word(0).to_owned()));
        on.iter().any(|node| {
            let words = self.nodes.get(&(root, node.as_str()));
            words.is_some_and(|words| words.may_end_within(from_us, to_us))
        })
    }

    /// Whether all tries of a job from the queue may have been lost with their nodes.
    pub(super) fn may_have_used_up(&self, root: &str, told: &Told) -> bool {
        let lost = told.handed.iter().filter(|pull| {
            let words = self.nodes.get(&(root, pull.word(0)));
            words.is_some_and(|words| words.may_end_within(pull.start_us, self.end_us))
        });
        let unheard = self.unheard_pulls.get(root).copied().unwrap_or(0);
        let retries = told
            .asked
            .iter()
            .find_map(|record| record.number("RETRIES"));
        told.is_queued && (lost.count() + unheard) as u64 > retries.unwrap_or(RETRIES)
    }
}
