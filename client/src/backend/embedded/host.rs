//! The thread that has the machine and makes all calls, one after the other.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use lockless_wasm::Machine;

use super::queue::{Looked, Queue, Unit};
use super::saver::Saver;
use super::{Counts, News, answer};
use crate::backend::{Call, Failure, Reply};

/// What the thread has.
pub(super) struct Host {
    pub(super) machine: Machine,
    pub(super) queue: Arc<Queue>,
    pub(super) news: Arc<News>,
    pub(super) counts: Arc<Counts>,
    /// None if nothing is kept.
    pub(super) saver: Option<Saver>,
}

/// Microseconds since 1970, by this machine's clock: a caller's is never used.
pub(super) fn now_us() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.map_or(0, |time| {
        u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
    })
}

/// Which build of the library a machine has.
pub(super) fn digest(machine: &mut Machine) -> Option<String> {
    let version: [&[u8]; 4] = [b"FCALL", b"lockless_version", b"1", b"lockless:{version}"];
    let reply = machine.call(&version, now_us()).ok()?;
    answer::read(reply).ok()?.field("digest")
}

impl Host {
    /// Makes calls until the queue is closed and empty; then saves what was not saved.
    pub(super) fn run(mut self) -> Result<(), String> {
        let _guard = Abandoned(Arc::clone(&self.queue));
        let mut units = Vec::new();
        loop {
            let until = self.saver.as_ref().and_then(Saver::due);
            match self.queue.take(&mut units, until) {
                Looked::Work => {}
                Looked::Time => self.save_if_due(),
                Looked::Closed => break,
            }
            for unit in units.drain(..) {
                let calls = unit.calls();
                self.make(unit);
                self.queue.made(calls);
                self.save_if_due();
            }
            self.counts.note_memory(self.machine.used_bytes());
        }
        match self.saver {
            Some(saver) => saver.finish(&mut self.machine),
            None => Ok(()),
        }
    }

    fn save_if_due(&mut self) {
        if let Some(saver) = &mut self.saver {
            saver.save_if_due(&mut self.machine);
        }
    }

    /// Makes the calls of one caller, unless it has gone.
    fn make(&mut self, unit: Unit) {
        match unit {
            Unit::One(call, answer) => {
                if !answer.is_closed() {
                    let _ = answer.send(self.call(&call));
                }
            }
            Unit::Many(calls, answer) => {
                if !answer.is_closed() {
                    let _ = answer.send(calls.iter().map(|call| self.call(call)).collect());
                }
            }
        }
    }

    fn call(&mut self, call: &Call) -> Result<Reply, Failure> {
        let mut words: Vec<&[u8]> = Vec::with_capacity(call.arguments.len() + 4);
        words.extend([
            b"FCALL",
            call.function.as_bytes(),
            b"1",
            call.cell.root().as_bytes(),
        ]);
        words.extend(call.arguments.iter().map(AsRef::as_ref));
        let reply = match self.machine.call(&words, now_us()) {
            Ok(reply) => answer::read(reply),
            Err(stopped) => {
                self.counts.note_stopped();
                return Err(Failure::Stopped(stopped.to_string()));
            }
        };
        if call.writes {
            if let Some(saver) = &mut self.saver {
                saver.changed();
            }
            for published in self.machine.published() {
                self.news.tell(&published.channel, published.message);
            }
        }
        reply
    }
}

/// However the thread ends, nobody waits for it afterwards.
struct Abandoned(Arc<Queue>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

#[cfg(test)]
mod tests {
    use lockless_wasm::{Limits, Machine};

    use super::{digest, now_us};

    #[test]
    fn the_embedded_library_is_the_one_of_the_sources() {
        let mut machine = Machine::start(Limits::default(), now_us()).expect("a machine");
        assert_eq!(
            digest(&mut machine).as_deref(),
            lockless_functions::digest()
        );
    }
}
