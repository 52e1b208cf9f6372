use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use lockless_wasm::{Limits, Machine};

use crate::{Error, Host, Model, Reply, START_MS, Snapshot, TracedCall, model::Kept};

/// The library in the WebAssembly module.
pub struct Wasm {
    machine: Machine,
    now_us: u64,
    channel: Vec<u8>,
}

/// A machine for each library, to be forked: starting one takes many times as long.
static STARTED: LazyLock<Mutex<HashMap<String, Machine>>> = LazyLock::new(Mutex::default);

impl Wasm {
    /// A host with this library in place of the module's own, which may be older than the sources.
    pub fn new(library_source: &str) -> Result<Wasm, Error> {
        let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(machine) = started.get(library_source) {
            return Ok(Wasm::of(machine.fork()?));
        }
        let mut host = Wasm::empty()?;
        host.load_library(library_source)?;
        started.insert(library_source.to_owned(), host.machine.fork()?);
        Ok(host)
    }

    /// A host without another library than the module's own.
    pub fn empty() -> Result<Wasm, Error> {
        Ok(Wasm::of(Machine::start(
            Limits::default(),
            START_MS * 1000,
        )?))
    }

    fn of(machine: Machine) -> Wasm {
        Wasm {
            machine,
            now_us: START_MS * 1000,
            channel: Vec::new(),
        }
    }

    fn call(&mut self, args: &[&[u8]]) -> Result<Reply, Error> {
        let reply = self.machine.call(args, self.now_us);
        Ok(Reply::from_wasm(reply.map_err(lockless_wasm::Error::from)?))
    }

    fn call_function(
        &mut self,
        command: &str,
        function: &str,
        keys: &[&[u8]],
        args: &[Vec<u8>],
    ) -> Result<Reply, Error> {
        let count = keys.len().to_string();
        let mut words = vec![command.as_bytes(), function.as_bytes(), count.as_bytes()];
        words.extend(keys);
        words.extend(args.iter().map(Vec::as_slice));
        self.call(&words)
    }

    /// Asks the module what it answers for tests only.
    fn debug(&mut self, words: &[&str]) -> Result<Reply, Error> {
        let mut line: Vec<&[u8]> = vec![b"DEBUG"];
        line.extend(words.iter().map(|word| word.as_bytes()));
        match self.call(&line)? {
            Reply::Error(line) => Err(Error::UnexpectedReply(line)),
            reply => Ok(reply),
        }
    }
}

impl Host for Wasm {
    fn name(&self) -> &str {
        "wasm"
    }

    fn fcall(&mut self, function: &str, keys: &[&[u8]], args: &[Vec<u8>]) -> Result<Reply, Error> {
        self.call_function("FCALL", function, keys, args)
    }

    fn fcall_ro(
        &mut self,
        function: &str,
        keys: &[&[u8]],
        args: &[Vec<u8>],
    ) -> Result<Reply, Error> {
        self.call_function("FCALL_RO", function, keys, args)
    }

    fn command(&mut self, args: &[Vec<u8>]) -> Result<Reply, Error> {
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        self.call(&args)
    }

    fn pass_time(&mut self, ms: u64) -> Result<(), Error> {
        self.now_us += ms * 1000;
        Ok(())
    }

    fn hear(&mut self, channel: &[u8]) -> Result<(), Error> {
        channel.clone_into(&mut self.channel);
        self.machine.published();
        Ok(())
    }

    fn heard(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        let said = self.machine.published().into_iter();
        let on_channel = said.filter(|said| said.channel == self.channel);
        Ok(on_channel.map(|said| said.message).collect())
    }

    fn as_model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for Wasm {
    fn load_library(&mut self, source: &str) -> Result<(), Error> {
        match self.call(&[b"FUNCTION", b"LOAD", b"REPLACE", source.as_bytes()])? {
            Reply::Error(line) => Err(Error::Library(line)),
            _ => Ok(()),
        }
    }

    fn call_count(&mut self) -> Result<usize, Error> {
        let reply = self.debug(&["CALLS"])?;
        let count = match &reply {
            Reply::Int(count) => usize::try_from(*count).ok(),
            _ => None,
        };
        count.ok_or_else(|| Error::UnexpectedReply(format!("{reply:?}")))
    }

    fn call_trace(&mut self) -> Result<Vec<TracedCall>, Error> {
        let reply = self.debug(&["TRACE"])?;
        let read = |call: &Reply| match call {
            Reply::Array(parts) => match parts.as_slice() {
                [Reply::Bulk(command), Reply::Bulk(key)] => Some(TracedCall {
                    command: String::from_utf8_lossy(command).into_owned(),
                    key: key.clone(),
                }),
                _ => None,
            },
            _ => None,
        };
        let trace = match &reply {
            Reply::Array(calls) => calls.iter().map(read).collect(),
            _ => None,
        };
        trace.ok_or_else(|| Error::UnexpectedReply(format!("{reply:?}")))
    }

    fn fail_at(&mut self, n: usize) -> Result<(), Error> {
        self.debug(&["FAIL", &n.to_string()]).map(drop)
    }

    fn fail_at_with(&mut self, n: usize, line: &str) -> Result<(), Error> {
        self.debug(&["FAIL", &n.to_string(), line]).map(drop)
    }

    fn dump(&mut self) -> Result<String, Error> {
        match self.debug(&["KEYSPACE"])? {
            Reply::Bulk(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
            other => Err(Error::UnexpectedReply(format!("{other:?}"))),
        }
    }

    fn snapshot(&mut self) -> Result<Snapshot, Error> {
        Ok(Snapshot(Kept::Machine {
            machine: Box::new(self.machine.fork()?),
            now_us: self.now_us,
        }))
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let Snapshot(Kept::Machine { machine, now_us }) = snapshot else {
            return Err(Error::ForeignSnapshot);
        };
        self.machine = machine.fork()?;
        self.now_us = *now_us;
        Ok(())
    }

    fn set_time_ms(&mut self, ms: u64) -> Result<(), Error> {
        self.now_us = ms * 1000;
        Ok(())
    }
}
