//! Says what goes wrong once, and not at every try.

use crate::cell::Trouble;

/// What one task last complained of.
#[derive(Debug)]
pub(crate) struct Complaints {
    /// What is being tried, in words such as "heartbeat".
    what: &'static str,
    last: Option<String>,
}

impl Complaints {
    /// Nothing is wrong yet.
    pub(crate) fn about(what: &'static str) -> Self {
        Self { what, last: None }
    }

    /// It failed.
    pub(crate) fn note(&mut self, trouble: &Trouble) {
        let sentence = trouble.to_string();
        if self.last.as_ref() != Some(&sentence) {
            tracing::warn!("{} failed, it is tried again: {sentence}", self.what);
            self.last = Some(sentence);
        }
    }

    /// It went well.
    pub(crate) fn clear(&mut self) {
        if self.last.take().is_some() {
            tracing::info!("{} works again", self.what);
        }
    }
}
