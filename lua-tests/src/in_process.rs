use mlua::{Function, IntoLua, Lua, Table, Value};

use crate::{Error, Host, Model, Reply, START_MS, Snapshot, TracedCall, model::Kept, stack};

/// The library on the model of Redis, in a Lua machine of its own.
pub struct InProcess {
    lua: Lua,
    db: Table,
    host: Table,
    call: Function,
    fcall: Function,
    channel: Vec<u8>,
}

/// One message said with `PUBLISH` or `SPUBLISH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The channel.
    pub channel: Vec<u8>,
    /// The message.
    pub message: Vec<u8>,
    /// Whether it was `SPUBLISH`.
    pub sharded: bool,
}

impl InProcess {
    /// A host with the library loaded.
    pub fn new(library_source: &str) -> Result<InProcess, Error> {
        let mut host = InProcess::empty()?;
        host.load_library(library_source)?;
        Ok(host)
    }

    /// A host without a library: the bare model.
    pub fn empty() -> Result<InProcess, Error> {
        let lua = Lua::new();
        let module = lua.create_table()?;
        module.set("getinfo", stack::getinfo(&lua)?)?;
        for (name, source) in lockless_model::REDIS.iter().chain(&lockless_model::HOST) {
            lua.load(*source).set_name(*name).call::<()>(&module)?;
        }
        let db: Table = module.get::<Function>("new")?.call(START_MS * 1000)?;
        let host: Table = module.get::<Function>("new_host")?.call(&db)?;
        let call = db.get("call")?;
        let fcall = host.get("fcall")?;
        Ok(InProcess {
            lua,
            db,
            host,
            call,
            fcall,
            channel: Vec::new(),
        })
    }

    /// The messages published since the last time this was asked.
    pub fn drain_published(&self) -> Result<Vec<Published>, Error> {
        let messages: Table = self.db.get::<Function>("drain_published")?.call(&self.db)?;
        let read = |message: mlua::Result<Table>| -> mlua::Result<Published> {
            let message = message?;
            let bytes = |field: &str| {
                Ok::<_, mlua::Error>(message.get::<mlua::LuaString>(field)?.as_bytes().to_vec())
            };
            Ok(Published {
                channel: bytes("channel")?,
                message: bytes("message")?,
                sharded: message.get("sharded")?,
            })
        };
        Ok(messages
            .sequence_values()
            .map(read)
            .collect::<mlua::Result<_>>()?)
    }

    fn strings<'a>(&self, items: impl IntoIterator<Item = &'a [u8]>) -> mlua::Result<Value> {
        // One at a time: a machine holds only so many values for its host at once.
        let list = self.lua.create_table()?;
        for item in items {
            list.raw_push(self.lua.create_string(item)?)?;
        }
        list.into_lua(&self.lua)
    }

    fn call_function(
        &self,
        function: &str,
        keys: &[&[u8]],
        args: &[Vec<u8>],
        read_only: bool,
    ) -> Result<Reply, Error> {
        let keys = self.strings(keys.iter().copied())?;
        let args = self.strings(args.iter().map(Vec::as_slice))?;
        Reply::from_model(
            self.fcall
                .call((&self.host, function, keys, args, read_only))?,
        )
    }
}

impl Host for InProcess {
    fn name(&self) -> &str {
        "in_process"
    }

    fn fcall(&mut self, function: &str, keys: &[&[u8]], args: &[Vec<u8>]) -> Result<Reply, Error> {
        self.call_function(function, keys, args, false)
    }

    fn fcall_ro(
        &mut self,
        function: &str,
        keys: &[&[u8]],
        args: &[Vec<u8>],
    ) -> Result<Reply, Error> {
        self.call_function(function, keys, args, true)
    }

    fn command(&mut self, args: &[Vec<u8>]) -> Result<Reply, Error> {
        let args = self.strings(args.iter().map(Vec::as_slice))?;
        Reply::from_model(self.call.call((&self.db, args))?)
    }

    fn pass_time(&mut self, ms: u64) -> Result<(), Error> {
        let now_us: u64 = self.db.get("now_us")?;
        Ok(self.db.set("now_us", now_us + ms * 1000)?)
    }

    fn hear(&mut self, channel: &[u8]) -> Result<(), Error> {
        channel.clone_into(&mut self.channel);
        self.drain_published().map(drop)
    }

    fn heard(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        let on_channel = |said: &Published| said.sharded && said.channel == self.channel;
        let said = self.drain_published()?.into_iter().filter(on_channel);
        Ok(said.map(|said| said.message).collect())
    }

    fn as_model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for InProcess {
    fn load_library(&mut self, source: &str) -> Result<(), Error> {
        let load: Function = self.host.get("load")?;
        match load.call::<(Option<String>, Option<mlua::LuaString>)>((&self.host, source, true))? {
            (Some(_), _) => Ok(()),
            (None, line) => Err(Error::Library(
                line.map(|line| line.to_string_lossy()).unwrap_or_default(),
            )),
        }
    }

    fn call_count(&mut self) -> Result<usize, Error> {
        Ok(self.host.get("calls")?)
    }

    fn call_trace(&mut self) -> Result<Vec<TracedCall>, Error> {
        let trace: Vec<(String, mlua::LuaString)> = self
            .host
            .get::<Function>("traced")?
            .call::<Table>(&self.host)?
            .sequence_values::<Table>()
            .map(|call| call.and_then(|call| Ok((call.get(1)?, call.get(2)?))))
            .collect::<mlua::Result<_>>()?;
        let traced = |(command, key): (String, mlua::LuaString)| TracedCall {
            command,
            key: key.as_bytes().to_vec(),
        };
        Ok(trace.into_iter().map(traced).collect())
    }

    fn fail_at(&mut self, n: usize) -> Result<(), Error> {
        Ok(self.host.set("fail_at", n)?)
    }

    fn fail_at_with(&mut self, n: usize, line: &str) -> Result<(), Error> {
        self.host.set("fail_with", line)?;
        self.fail_at(n)
    }

    fn dump(&mut self) -> Result<String, Error> {
        let text: mlua::LuaString = self.db.get::<Function>("dump")?.call(&self.db)?;
        Ok(text.to_string_lossy())
    }

    fn snapshot(&mut self) -> Result<Snapshot, Error> {
        let state = self.db.get::<Function>("snapshot")?.call(&self.db)?;
        Ok(Snapshot(Kept::Table(state)))
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let Snapshot(Kept::Table(state)) = snapshot else {
            return Err(Error::ForeignSnapshot);
        };
        let restore: Function = self.db.get("restore")?;
        Ok(restore.call((&self.db, state))?)
    }

    fn set_time_ms(&mut self, ms: u64) -> Result<(), Error> {
        Ok(self.db.set("now_us", ms * 1000)?)
    }
}
