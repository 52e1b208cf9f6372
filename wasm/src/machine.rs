//! A machine: an instance of the module that outlives what its calls do to it.

use std::{sync::Arc, time::Instant};

use crate::{
    Error, Reply, Stopped,
    instance::{Ended, Instance},
    journal::{Journal, Repeat},
    reading, resp,
    snapshot::Snapshot,
};

/// What one call may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Beyond this many bytes, commands that write are refused as at Redis's `maxmemory`. A call that needs a quarter more is stopped.
    pub memory_bytes: u32,
    /// A call that runs for more than this many thousand Lua instructions is stopped; 0 is no limit.
    pub budget_k_instructions: u32,
}

impl Limits {
    /// What was done once is done again whatever it takes.
    const NONE: Limits = Limits {
        memory_bytes: u32::MAX,
        budget_k_instructions: 0,
    };
}

impl Default for Limits {
    /// 256 MiB, and a time that no function of the library comes near: a few seconds.
    fn default() -> Limits {
        Limits {
            memory_bytes: 256 << 20,
            budget_k_instructions: 200_000,
        }
    }
}

/// One message said with `PUBLISH` or `SPUBLISH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The channel.
    pub channel: Vec<u8>,
    /// The message.
    pub message: Vec<u8>,
}

/// The library, the model of Redis and its keyspace in an instance of the module.
///
/// A trap leaves an instance in the middle of something. So a call that traps costs the instance: a new one gets the memory as it was
/// when an image of it was last taken, repeats what was done since, and goes on as if the call had never been made.
pub struct Machine {
    limits: Limits,
    /// None after a trap, until it is rebuilt.
    live: Option<Instance>,
    image: Arc<Vec<u8>>,
    journal: Journal,
    request: Vec<u8>,
}

impl Machine {
    /// A machine with the library loaded and an empty keyspace. The clock is in microseconds since 1970.
    pub fn start(limits: Limits, now_us: u64) -> Result<Machine, Error> {
        let mut instance = Instance::start(&limits, now_us)?;
        instance
            .set_limits(&limits)
            .map_err(|Ended(stopped)| stopped)?;
        Ok(Machine::of(limits, instance))
    }

    fn of(limits: Limits, instance: Instance) -> Machine {
        let mut machine = Machine {
            limits,
            live: Some(instance),
            image: Arc::default(),
            journal: Journal::default(),
            request: Vec::new(),
        };
        machine.take_image();
        machine
    }

    /// Another machine in the same state, which from here on goes its own way.
    pub fn fork(&self) -> Result<Machine, Error> {
        let instance = match &self.live {
            Some(instance) => Instance::from_image(&self.limits, instance.memory())?,
            None => self.rebuilt()?,
        };
        Ok(Machine::of(self.limits, instance))
    }

    /// Runs one command, as a Redis client would send it: `FCALL name 1 key argument ...`, or one of the model's own.
    ///
    /// The clock of the call is given with it; it may go back. When the call is stopped, the state is as it was before, and the machine
    /// goes on.
    pub fn call(&mut self, args: &[&[u8]], now_us: u64) -> Result<Reply, Stopped> {
        let mut request = std::mem::take(&mut self.request);
        resp::write_command(args, &mut request);
        let began = Instant::now();
        let reply = self
            .attempt(|instance| instance.call(&request, now_us))
            .flatten();
        if let Ok(reply) = &reply
            && !reading::changes_nothing(args, reply)
        {
            self.journal.note_call(&request, now_us, began.elapsed());
            if self.journal.is_full() {
                self.take_image();
            }
        }
        self.request = request;
        reply
    }

    /// The messages that were published since this was asked last, in order.
    pub fn published(&mut self) -> Vec<Published> {
        // When there is no memory even for this, the messages wait.
        let Ok(Reply::Array(messages)) = self.attempt(Instance::published) else {
            return Vec::new();
        };
        if !messages.is_empty() {
            self.journal.note_published();
        }
        messages.into_iter().filter_map(Published::read).collect()
    }

    /// The whole keyspace with its expiries, in a form that any version of the module can load.
    pub fn save(&mut self) -> Result<Vec<u8>, Error> {
        Ok(self.attempt(Instance::save).flatten()?)
    }

    /// The state as it is now, to be saved on another thread while calls go on. Taking it is a copy of the memory, and takes a small
    /// part of the time that saving does.
    pub fn snapshot(&mut self) -> Result<Snapshot, Stopped> {
        // Without an instance the image is an old one.
        self.attempt(|_| Ok(()))?;
        self.take_image();
        Ok(Snapshot {
            limits: self.limits,
            image: Arc::clone(&self.image),
        })
    }

    /// Replaces the keyspace by a saved one. A state that is refused, for being damaged for example, leaves everything as it was.
    pub fn load(&mut self, state: &[u8], now_us: u64) -> Result<(), Error> {
        self.attempt(|instance| instance.load(state, now_us))??;
        self.take_image();
        Ok(())
    }

    /// How many bytes the Lua machine uses.
    pub fn used_bytes(&mut self) -> usize {
        self.attempt(Instance::used_bytes).unwrap_or(0)
    }

    /// Does something with the instance, and rebuilds it when that ends in a trap.
    fn attempt<T>(
        &mut self,
        run: impl FnOnce(&mut Instance) -> Result<T, Ended>,
    ) -> Result<T, Stopped> {
        if self.live.is_none() {
            self.live = Some(self.rebuilt()?);
        }
        let Some(instance) = &mut self.live else {
            return Err(Stopped::Rebuilding("there is no instance".to_owned()));
        };
        run(instance).map_err(|Ended(stopped)| {
            // The old one goes first: two at a time would need twice the memory. Should this fail, the next call tries again and says why.
            self.live = None;
            self.live = self.rebuilt().ok();
            stopped
        })
    }

    /// An instance as the last one was before the call that ended it.
    fn rebuilt(&self) -> Result<Instance, Stopped> {
        let mut instance = Instance::from_image(&self.limits, &self.image)
            .map_err(|error| Stopped::Rebuilding(error.to_string()))?;
        self.repeat(&mut instance)
            .map_err(|Ended(stopped)| Stopped::Rebuilding(stopped.to_string()))?;
        Ok(instance)
    }

    fn repeat(&self, instance: &mut Instance) -> Result<(), Ended> {
        instance.set_limits(&Limits::NONE)?;
        for step in self.journal.steps() {
            match step {
                Repeat::Call(request, now_us) => {
                    instance.call(request, now_us)?.map_err(Ended)?;
                }
                Repeat::Published => {
                    instance.published()?;
                }
            }
        }
        instance.set_limits(&self.limits)
    }

    fn take_image(&mut self) {
        let Some(instance) = &self.live else { return };
        let began = Instant::now();
        if Arc::get_mut(&mut self.image).is_none() {
            // A snapshot still needs the last one.
            self.image = Arc::default();
        }
        let image = Arc::make_mut(&mut self.image);
        image.clear();
        image.extend_from_slice(instance.memory());
        self.journal.restart(began);
    }
}

impl Published {
    fn read(message: Reply) -> Option<Published> {
        let Reply::Array(parts) = message else {
            return None;
        };
        match <[Reply; 2]>::try_from(parts) {
            Ok([Reply::Bulk(channel), Reply::Bulk(message)]) => {
                Some(Published { channel, message })
            }
            _ => None,
        }
    }
}
