//! What was called when, and what came back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::wire::{Answer, Said, Wire};

/// One call. Times are microseconds since the history began.
#[derive(Debug, Clone)]
pub struct Record {
    /// The cell.
    pub root: Arc<str>,
    /// The function, without its prefix.
    pub function: &'static str,
    /// Its arguments.
    pub args: Vec<String>,
    /// Before it was sent.
    pub start_us: u64,
    /// After what came of it was known. A call without reply may be made even later.
    pub end_us: u64,
    /// What came of it.
    pub said: Said,
    /// Whether it was confirmed as kept.
    pub is_confirmed: bool,
}

impl Record {
    /// An argument by its place; empty when there is none.
    pub fn word(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }

    /// The value after a keyword.
    pub fn option(&self, keyword: &str) -> Option<&str> {
        let at = self.args.iter().position(|word| word == keyword)?;
        self.args.get(at + 1).map(String::as_str)
    }

    /// The same as a number.
    pub fn number(&self, keyword: &str) -> Option<u64> {
        self.option(keyword)?.parse().ok()
    }

    /// The reply, if the call was made.
    pub fn reply(&self) -> Option<&Answer> {
        self.said.reply()
    }

    /// The call as one would type it.
    pub fn line(&self) -> String {
        let payload_free: Vec<&str> = self
            .args
            .iter()
            .map(|word| if word.len() > 80 { "..." } else { word })
            .collect();
        format!(
            "{} {} at {} to {} us: {:?}",
            self.function,
            payload_free.join(" "),
            self.start_us,
            self.end_us,
            self.said
        )
    }
}

/// A time in which something was broken.
#[derive(Debug, Clone, Copy)]
pub struct Injury {
    /// Before it was.
    pub begin_us: u64,
    /// After the last thing that was done to heal it: from here on counts how long it takes until work is taken again.
    pub mended_us: u64,
    /// After everything was as before: what is answered from here on is not undone by it.
    pub healed_us: u64,
    /// Whether deadlines may have passed by it, as when the clock jumps.
    pub moves_time: bool,
}

/// Which calls an injury may not undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// All that were answered.
    Answered,
    /// Those that were answered so long before it.
    AnsweredBefore(Duration),
    /// Those that were confirmed.
    Confirmed,
}

/// What was called while something was broken, as the rules judge it.
#[derive(Debug, Clone)]
pub struct History {
    /// All calls, by their start.
    pub records: Vec<Record>,
    /// What was broken, by its begin.
    pub injuries: Vec<Injury>,
    /// What an injury may not undo.
    pub durability: Durability,
    /// The cells' setting.
    pub heartbeat_ttl_ms: u64,
}

impl History {
    /// When a call may have been undone: the begin of the first injury that it may not outlive.
    pub fn undone_at(&self, record: &Record) -> Option<u64> {
        let may_undo = |injury: &&Injury| match self.durability {
            Durability::Answered => false,
            Durability::AnsweredBefore(window) => {
                let window_us = u64::try_from(window.as_micros()).unwrap_or(u64::MAX);
                record.start_us <= injury.healed_us
                    && injury.begin_us < record.end_us.saturating_add(window_us)
            }
            Durability::Confirmed => !record.is_confirmed && record.start_us <= injury.healed_us,
        };
        let undone = self.injuries.iter().find(may_undo)?;
        Some(undone.begin_us.max(record.end_us))
    }

    /// When the last injury before this time began that may have undone anything.
    pub fn undid_before(&self, time_us: u64) -> Option<u64> {
        let begins = self.injuries.iter().map(|injury| injury.begin_us);
        let last = begins.filter(|begin_us| *begin_us < time_us).max();
        last.filter(|_| self.durability != Durability::Answered)
    }

    /// Whether what was answered must be kept.
    pub fn is_durable(&self, record: &Record) -> bool {
        record.reply().is_some() && self.undone_at(record).is_none()
    }

    /// When deadlines may first have moved after this time.
    pub fn time_moved_after(&self, time_us: u64) -> Option<u64> {
        let moved = self.injuries.iter().filter(|injury| injury.moves_time);
        moved
            .filter(|injury| injury.healed_us > time_us)
            .map(|injury| injury.begin_us.max(time_us))
            .next()
    }

    /// All of it, a line for each call and each injury.
    pub fn lines(&self) -> String {
        let injuries = self.injuries.iter().map(|injury| format!("{injury:?}\n"));
        let calls = self.records.iter().map(|record| {
            let confirmed = if record.is_confirmed {
                " confirmed"
            } else {
                ""
            };
            format!("{} {}{confirmed}\n", record.root, record.line())
        });
        injuries.chain(calls).collect()
    }

    /// How many calls got no reply.
    pub fn maybes(&self) -> u64 {
        let maybes = self.records.iter();
        maybes
            .filter(|record| matches!(record.said, Said::Maybe(_)))
            .count() as u64
    }
}

/// Where all callers of a load write down what they do.
pub struct Recorder {
    epoch: Instant,
    durability: Durability,
    heartbeat_ttl_ms: u64,
    records: Mutex<Vec<Record>>,
    injuries: Mutex<Vec<Injury>>,
}

impl Recorder {
    /// An empty history that begins now.
    pub fn new(durability: Durability, heartbeat_ttl_ms: u64) -> Arc<Self> {
        Arc::new(Self {
            epoch: Instant::now(),
            durability,
            heartbeat_ttl_ms,
            records: Mutex::new(Vec::new()),
            injuries: Mutex::new(Vec::new()),
        })
    }

    /// What an injury may not undo.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// The time since the history began.
    pub fn now_us(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Notes what was broken since `begin_us` and is healed now.
    pub fn healed(&self, begin_us: u64) {
        self.healed_after(begin_us, self.now_us());
    }

    /// The same of what was mended before, and is as before only now.
    pub fn healed_after(&self, begin_us: u64, mended_us: u64) {
        self.note(Injury {
            begin_us,
            mended_us,
            healed_us: self.now_us(),
            moves_time: false,
        });
    }

    /// Notes an injury.
    pub fn note(&self, injury: Injury) {
        self.injuries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(injury);
    }

    fn write(&self, record: Record) {
        self.records
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(record);
    }

    /// How many calls were written down.
    pub fn count(&self) -> usize {
        self.records
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Looks at the last calls, the latest first, until `look` has found something.
    pub fn latest<T>(&self, look: impl FnMut(&Record) -> Option<T>) -> Option<T> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.iter().rev().find_map(look)
    }

    /// What was written down so far.
    pub fn history(&self) -> History {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let injuries = self.injuries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut history = History {
            records: records.clone(),
            injuries: injuries.clone(),
            durability: self.durability,
            heartbeat_ttl_ms: self.heartbeat_ttl_ms,
        };
        history.records.sort_by_key(|record| record.start_us);
        history.injuries.sort_by_key(|injury| injury.begin_us);
        history
    }
}

/// A wire whose calls are written down.
pub struct Scribe {
    recorder: Arc<Recorder>,
    wire: Box<dyn Wire>,
}

impl Scribe {
    /// Writes down what goes over the wire.
    pub fn new(recorder: Arc<Recorder>, wire: Box<dyn Wire>) -> Self {
        Self { recorder, wire }
    }

    /// Makes a call and writes it down. What was not sent is not.
    pub fn call(&mut self, root: &Arc<str>, function: &'static str, args: Vec<String>) -> Said {
        let start_us = self.recorder.now_us();
        let said = self.wire.call(root, function, &args);
        let end_us = self.recorder.now_us();
        if matches!(said, Said::Unsent(_)) {
            return said;
        }
        let must_confirm = self.recorder.durability == Durability::Confirmed;
        let is_confirmed = must_confirm && said.reply().is_some() && self.wire.confirm(root);
        self.recorder.write(Record {
            root: root.clone(),
            function,
            args,
            start_us,
            end_us,
            said: said.clone(),
            is_confirmed,
        });
        said
    }

    /// The same with the arguments in one line.
    pub fn say(&mut self, root: &Arc<str>, function: &'static str, line: &str) -> Said {
        let args = line.split_whitespace().map(str::to_owned).collect();
        self.call(root, function, args)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Durability, History, Injury, Record};
    use crate::wire::{Answer, Said};

    fn record(start_us: u64, end_us: u64, is_confirmed: bool) -> Record {
        Record {
            root: "r:{c}".into(),
            function: "ack",
            args: Vec::new(),
            start_us,
            end_us,
            said: Said::Reply(Answer::Int(1)),
            is_confirmed,
        }
    }

    fn history(durability: Durability) -> History {
        History {
            records: Vec::new(),
            injuries: vec![Injury {
                begin_us: 5_000_000,
                mended_us: 6_000_000,
                healed_us: 6_000_000,
                moves_time: false,
            }],
            durability,
            heartbeat_ttl_ms: 1000,
        }
    }

    #[test]
    fn what_was_answered_within_the_window_before_an_injury_may_be_undone() {
        let history = history(Durability::AnsweredBefore(Duration::from_secs(2)));
        assert!(history.is_durable(&record(1, 2_999_999, false)));
        assert!(!history.is_durable(&record(1, 3_000_001, false)));
        assert_eq!(
            history.undone_at(&record(1, 3_000_001, false)),
            Some(5_000_000)
        );
        assert!(!history.is_durable(&record(5_500_000, 5_600_000, false)));
        assert!(history.is_durable(&record(6_000_001, 6_000_002, false)));
    }

    #[test]
    fn what_was_not_confirmed_may_be_undone_by_any_injury_after_it() {
        let history = history(Durability::Confirmed);
        assert!(history.is_durable(&record(1, 2, true)));
        assert!(!history.is_durable(&record(1, 2, false)));
        assert!(history.is_durable(&record(6_000_001, 6_000_002, false)));
    }

    #[test]
    fn what_was_answered_is_kept_where_answers_are_durable() {
        let history = history(Durability::Answered);
        assert!(history.is_durable(&record(5_000_001, 5_000_002, false)));
    }
}
