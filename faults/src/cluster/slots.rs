//! Moving a slot from one primary to another, a few keys at a time, as `redis-cli --cluster reshard` does.

use std::collections::BTreeMap;

use super::servers::Cluster;
use crate::Error;
use crate::run::Run;

/// Keys that go together: few, so that calls meet the slot half here and half there.
const KEYS_AT_ONCE: usize = 5;

impl Cluster {
    /// Moves a slot to the primary at that place. `between` is called after each part.
    pub(super) fn move_slot(
        &self,
        run: &Run,
        slot: u16,
        to: usize,
        mut between: impl FnMut(),
    ) -> Result<u64, Error> {
        let from = self.owner_of(slot).ok_or_else(|| Error::Call {
            call: format!("the primary of slot {slot}"),
            said: "there is none".to_owned(),
        })?;
        let (source, target) = (&self.nodes()[from], &self.nodes()[to]);
        let number = slot.to_string();
        target.order(
            run,
            &["CLUSTER", "SETSLOT", &number, "IMPORTING", &source.id],
        )?;
        source.order(
            run,
            &["CLUSTER", "SETSLOT", &number, "MIGRATING", &target.id],
        )?;
        let mut moved = 0;
        loop {
            let keys: Vec<String> = source.say(&[
                "CLUSTER",
                "GETKEYSINSLOT",
                &number,
                &KEYS_AT_ONCE.to_string(),
            ])?;
            if keys.is_empty() {
                break;
            }
            let (ip, port) = (target.ip.to_string(), target.port.to_string());
            let mut words = vec!["MIGRATE", &ip, &port, "", "0", "5000", "KEYS"];
            words.extend(keys.iter().map(String::as_str));
            // NOKEY: they expired or were deleted in between.
            source.say::<String>(&words)?;
            moved += keys.len() as u64;
            between();
        }
        let line = format!(
            "MIGRATE {} {} '' 0 5000 KEYS ...    # {moved} keys, up to {KEYS_AT_ONCE} at a time",
            target.ip, target.port
        );
        source.say_order(run, &line);
        // The target first: if the source forgot it first, nobody would have it for a moment.
        for node in [target, source] {
            node.order(run, &["CLUSTER", "SETSLOT", &number, "NODE", &target.id])?;
        }
        for (at, node) in self.nodes().iter().enumerate() {
            if at != from && at != to && node.view()?.is_primary {
                node.order(run, &["CLUSTER", "SETSLOT", &number, "NODE", &target.id])?;
            }
        }
        Ok(moved)
    }
}

/// What each key of a slot holds, and when it ends.
pub(super) type Content = BTreeMap<Vec<u8>, (Vec<u8>, i64)>;

impl Cluster {
    /// Everything that a server has of a slot.
    pub(super) fn content(&self, at: usize, slot: u16) -> Result<Content, Error> {
        let node = &self.nodes()[at];
        let keys: Vec<String> =
            node.say(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "100000"])?;
        let mut content = Content::new();
        for key in keys {
            let value = node.say(&["DUMP", &key])?;
            let until = node.say(&["PEXPIRETIME", &key])?;
            content.insert(key.into_bytes(), (value, until));
        }
        Ok(content)
    }
}
