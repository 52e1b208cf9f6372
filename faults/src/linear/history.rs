//! What was called, when, and what came back.

use std::fmt;

use super::call::Call;
use crate::wire::{Answer, Said};

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It was made.
    Answer(Answer),
    /// It was refused with this code.
    Refused(String),
}

/// One call. Times are moments of one clock that all callers share: no two are the same.
#[derive(Debug, Clone)]
pub struct Event {
    /// Who called.
    pub caller: usize,
    /// What.
    pub call: Call,
    /// When it was sent.
    pub begin: u64,
    /// When the reply was there, and the reply. Without one it may have been made at any time since it was sent, or never.
    pub end: Option<(u64, Reply)>,
}

impl Event {
    /// The reply, if there was one.
    pub fn reply(&self) -> Option<&Reply> {
        self.end.as_ref().map(|(_, reply)| reply)
    }

    /// Whether it changed nothing, as its reply says.
    pub fn had_no_effect(&self) -> bool {
        match self.reply() {
            Some(Reply::Refused(_)) => true,
            Some(Reply::Answer(_)) => self.call.only_reads(),
            None => false,
        }
    }
}

impl Reply {
    /// What a wire brought back; nothing when it brought none.
    pub fn from_wire(said: Said) -> Option<Self> {
        match said {
            Said::Reply(answer) => Some(Self::Answer(answer)),
            Said::Refused(line) => Some(Self::Refused(
                line.split(' ').next().unwrap_or_default().to_owned(),
            )),
            Said::Maybe(_) | Said::Unsent(_) => None,
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(answer) => f.write_str(&shown(answer)),
            Self::Refused(code) => f.write_str(code),
        }
    }
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::List(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(" "))
        }
        Answer::Text(text) if text.is_empty() => "''".to_owned(),
        other => other.text(),
    }
}

/// A history as lines: the time goes down, a caller's calls stand in its column's order, and each says from when to when it was under way.
pub fn told(events: &[Event]) -> String {
    let mut moments: Vec<u64> = events
        .iter()
        .flat_map(|event| [Some(event.begin), event.end.as_ref().map(|end| end.0)])
        .flatten()
        .collect();
    moments.sort_unstable();
    let place = |moment: u64| moments.partition_point(|&before| before < moment) + 1;
    let mut ordered: Vec<&Event> = events.iter().collect();
    ordered.sort_by_key(|event| event.begin);
    let lines = ordered.iter().map(|event| {
        let (until, reply) = match &event.end {
            Some((end, reply)) => (place(*end).to_string(), reply.to_string()),
            None => ("?".to_owned(), "(no reply, or any)".to_owned()),
        };
        format!(
            "  {:>3} to {until:>3}  caller {}  {} -> {reply}",
            place(event.begin),
            event.caller,
            event.call
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}
