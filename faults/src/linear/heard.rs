//! How the model reads a reply, or the lack of one, which fits anything.

use std::sync::Arc;

use super::history::Reply;
use crate::wire::Answer;

/// What is looked at of a job that is handed over.
pub(super) type Item = [String; 4];

fn read_item(item: &Answer) -> Item {
    ["job_id", "payload", "session_id", "attempt"]
        .map(|name| item.field(name).map(Answer::text).unwrap_or_default())
}

/// A reply as the model looks at it.
#[derive(Clone, Copy)]
pub(super) struct Heard<'a>(pub(super) Option<&'a Reply>);

impl<'a> Heard<'a> {
    /// Whether it is this refusal.
    pub(super) fn is_refusal(self, code: &str) -> bool {
        match self.0 {
            None => true,
            Some(Reply::Refused(said)) => said == code,
            Some(Reply::Answer(_)) => false,
        }
    }

    fn fits(self, is_it: impl FnOnce(&Answer) -> bool) -> bool {
        match self.0 {
            None => true,
            Some(Reply::Answer(answer)) => is_it(answer),
            Some(Reply::Refused(_)) => false,
        }
    }

    /// Whether it is an answer at all.
    pub(super) fn is_answer(self) -> bool {
        self.fits(|_| true)
    }

    /// Whether it is `OK`.
    pub(super) fn is_ok(self) -> bool {
        self.fits(|answer| *answer == Answer::Text("OK".to_owned()))
    }

    /// Whether it is this number.
    pub(super) fn is_number(self, number: i64) -> bool {
        self.fits(|answer| answer.int() == Some(number))
    }

    /// Whether it is this list of texts and numbers.
    pub(super) fn is_list(self, wanted: &[String]) -> bool {
        self.fits(|answer| answer.texts() == wanted)
    }

    /// Whether it is fields that have, among others, these values.
    pub(super) fn has_fields(self, wanted: &[(&str, String)]) -> bool {
        self.fits(|answer| {
            let mut wanted = wanted.iter();
            wanted.all(|(name, value)| answer.field(name).map(Answer::text).as_ref() == Some(value))
        })
    }

    /// Whether a field is this list, in any order.
    pub(super) fn has_set(self, name: &str, wanted: &[String]) -> bool {
        self.fits(|answer| {
            let mut said = answer.field(name).map(Answer::texts).unwrap_or_default();
            said.sort();
            said == wanted
        })
    }

    /// Whether it hands over these jobs, each `[job_id, payload, session_id, attempt]`, and names these to stop, in any order.
    pub(super) fn is_handing(self, items: &[Item], stop: &[String], is_in_order: bool) -> bool {
        self.fits(|answer| {
            let [said_items, said_stop] = answer.list() else {
                return false;
            };
            let mut said: Vec<Item> = said_items.list().iter().map(read_item).collect();
            let mut wanted = items.to_vec();
            if !is_in_order {
                said.sort();
                wanted.sort();
            }
            let mut said_stop = said_stop.texts();
            said_stop.sort();
            said == wanted && said_stop == stop
        })
    }

    /// The text of a field; nothing without a reply.
    pub(super) fn field(self, name: &str) -> Option<Arc<str>> {
        self.answer()?.field(name).map(|value| value.text().into())
    }

    /// The answer; nothing without one.
    pub(super) fn answer(self) -> Option<&'a Answer> {
        match self.0 {
            Some(Reply::Answer(answer)) => Some(answer),
            _ => None,
        }
    }
}
