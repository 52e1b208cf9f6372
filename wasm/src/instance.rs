//! One instance of the module: its memory, and its exports as functions.

use wasmtime::{
    Instance as Exports, Memory, Store, StoreLimitsBuilder, Trap, TypedFunc, WasmParams,
    WasmResults,
};

use crate::{
    Error, Limits, Stopped,
    code::{Host, code},
    resp::{self, Reply},
};

/// The size of a page of linear memory.
const PAGE_BYTES: usize = 1 << 16;
/// Beyond what Lua may use there are the stack, the module's own data, requests and results.
const OTHER_BYTES: usize = 64 << 20;

/// What the module leaves as its result before it traps.
const OVER_BUDGET: &str = "the call did more work than its budget allows";
const OUT_OF_MEMORY: [&str; 2] = [
    "the call needs more memory than the limit allows",
    "the host has no more memory",
];

/// The instance trapped, for this reason, and must be dropped.
#[derive(Debug)]
pub(crate) struct Ended(pub(crate) Stopped);

/// A function of a place, a length and the clock.
type TakesBytes = TypedFunc<(u32, u32, f64), i32>;

/// An instance that has not trapped. After a trap nothing may be asked of it any more.
pub(crate) struct Instance {
    store: Store<Host>,
    memory: Memory,
    alloc: TypedFunc<u32, u32>,
    release: TypedFunc<u32, ()>,
    call: TakesBytes,
    load: TakesBytes,
    published: TypedFunc<(), i32>,
    save: TypedFunc<(), i32>,
    set_budget: TypedFunc<u32, ()>,
    set_memory_limit: TypedFunc<u32, ()>,
    result_ptr: TypedFunc<(), u32>,
    result_len: TypedFunc<(), u32>,
    used: TypedFunc<(), u32>,
}

fn exported<P: WasmParams, R: WasmResults>(
    exports: &Exports,
    store: &mut Store<Host>,
    name: &str,
) -> Result<TypedFunc<P, R>, Error> {
    let function = exports.get_typed_func(store, name);
    function.map_err(|error| Error::Start(format!("{name}: {error:#}")))
}

fn failed(error: wasmtime::Error) -> Error {
    Error::Start(format!("{error:#}"))
}

#[allow(
    clippy::cast_precision_loss,
    reason = "the clock is exact until the year 2255"
)]
fn clock(now_us: u64) -> f64 {
    now_us as f64
}

impl Instance {
    fn bare(limits: &Limits) -> Result<(Exports, Instance), Error> {
        let code = code()?;
        let lua_bytes = limits.memory_bytes as usize;
        // The module keeps the limits by itself, and holds a quarter more at most. Saving needs room for the state beside what it holds,
        // loading needs it beside what it makes of it, and in a rebuild garbage may be collected later than it was.
        let memory_bytes = lua_bytes.saturating_mul(3).saturating_add(OTHER_BYTES);
        let host = Host {
            protected: None,
            limits: StoreLimitsBuilder::new().memory_size(memory_bytes).build(),
        };
        let mut store = Store::new(code.module().engine(), host);
        store.limiter(|host| &mut host.limits);
        let exports = code.instantiate(&mut store).map_err(failed)?;
        let protected = exported(&exports, &mut store, "lua_call_protected")?;
        store.data_mut().protected = Some(protected);
        let memory = exports
            .get_memory(&mut store, "memory")
            .ok_or_else(|| Error::Start("it has no memory".to_owned()))?;
        let instance = Instance {
            memory,
            alloc: exported(&exports, &mut store, "alloc")?,
            release: exported(&exports, &mut store, "release")?,
            call: exported(&exports, &mut store, "call")?,
            load: exported(&exports, &mut store, "load")?,
            published: exported(&exports, &mut store, "published")?,
            save: exported(&exports, &mut store, "save")?,
            set_budget: exported(&exports, &mut store, "set_budget")?,
            set_memory_limit: exported(&exports, &mut store, "set_memory_limit")?,
            result_ptr: exported(&exports, &mut store, "result_ptr")?,
            result_len: exported(&exports, &mut store, "result_len")?,
            used: exported(&exports, &mut store, "used")?,
            store,
        };
        Ok((exports, instance))
    }

    /// A new instance with the library loaded and nothing else.
    pub(crate) fn start(limits: &Limits, now_us: u64) -> Result<Instance, Error> {
        let (exports, mut instance) = Instance::bare(limits)?;
        let store = &mut instance.store;
        let initialize: TypedFunc<(), ()> = exported(&exports, store, "_initialize")?;
        initialize.call(&mut *store, ()).map_err(failed)?;
        let start: TypedFunc<(u32, f64), i32> = exported(&exports, store, "start")?;
        let status = start.call(&mut *store, (limits.memory_bytes, clock(now_us)));
        if status.map_err(failed)? != 0 {
            let text = instance.result().map(String::from_utf8_lossy);
            return Err(Error::Start(text.map_or_else(
                |stopped| stopped.to_string(),
                std::borrow::Cow::into_owned,
            )));
        }
        Ok(instance)
    }

    /// A new instance that goes on where the one stood whose memory this was. Between calls an instance has no state but its memory:
    /// its one variable beside it, the place of the stack, is back where it began.
    pub(crate) fn from_image(limits: &Limits, image: &[u8]) -> Result<Instance, Error> {
        let (_, mut instance) = Instance::bare(limits)?;
        let Instance { store, memory, .. } = &mut instance;
        let missing = image.len().saturating_sub(memory.data_size(&*store));
        memory
            .grow(&mut *store, missing.div_ceil(PAGE_BYTES) as u64)
            .map_err(failed)?;
        memory.write(&mut *store, 0, image).map_err(|_| {
            Error::Start("the image is larger than the memory made for it".to_owned())
        })?;
        Ok(instance)
    }

    /// The whole memory.
    pub(crate) fn memory(&self) -> &[u8] {
        self.memory.data(&self.store)
    }

    fn result(&mut self) -> wasmtime::Result<&[u8]> {
        let start = self.result_ptr.call(&mut self.store, ())? as usize;
        let length = self.result_len.call(&mut self.store, ())? as usize;
        let memory = self.memory.data(&self.store);
        let result = start.checked_add(length).map(|end| memory.get(start..end));
        result
            .flatten()
            .ok_or_else(|| wasmtime::Error::msg("the result is outside of the memory"))
    }

    fn result_text(&mut self) -> wasmtime::Result<String> {
        let bytes = self.result()?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    fn reply(&mut self) -> wasmtime::Result<Reply> {
        let reply = resp::read_reply(self.result()?);
        reply.ok_or_else(|| wasmtime::Error::msg("the result is not a reply"))
    }

    /// Runs what may trap, and says why when it did.
    fn guarded<T>(
        &mut self,
        run: impl FnOnce(&mut Instance) -> wasmtime::Result<T>,
    ) -> Result<T, Ended> {
        run(self).map_err(|error| Ended(self.reason(&error)))
    }

    fn reason(&mut self, error: &wasmtime::Error) -> Stopped {
        match error.downcast_ref::<Trap>() {
            // The module's own stack begins where its memory does, so what leaves it leaves the memory.
            Some(Trap::StackOverflow | Trap::MemoryOutOfBounds) => return Stopped::Stack,
            Some(Trap::UnreachableCodeReached) => {}
            _ => return Stopped::Other(format!("{error:#}")),
        }
        // The module stopped by itself. It has left its reason where results are; asking for it touches nothing that may be half done.
        match self.result_text() {
            Ok(text) if text == OVER_BUDGET => Stopped::Budget,
            Ok(text) if OUT_OF_MEMORY.contains(&text.as_str()) => Stopped::Memory,
            _ => Stopped::Other(format!("{error:#}")),
        }
    }

    /// Calls a function with bytes and the clock. None when there is no room for the bytes.
    fn with_bytes(
        &mut self,
        function: &TakesBytes,
        bytes: &[u8],
        now_us: u64,
    ) -> wasmtime::Result<Option<i32>> {
        let Ok(length) = u32::try_from(bytes.len()) else {
            return Ok(None);
        };
        let place = self.alloc.call(&mut self.store, length)?;
        if place == 0 {
            return Ok(None);
        }
        self.memory.write(&mut self.store, place as usize, bytes)?;
        let status = function.call(&mut self.store, (place, length, clock(now_us)))?;
        self.release.call(&mut self.store, place)?;
        Ok(Some(status))
    }

    /// Runs a command, given in RESP. The inner error leaves the instance as it was.
    pub(crate) fn call(
        &mut self,
        request: &[u8],
        now_us: u64,
    ) -> Result<Result<Reply, Stopped>, Ended> {
        self.guarded(|instance| {
            match instance.with_bytes(&instance.call.clone(), request, now_us)? {
                Some(_) => instance.reply().map(Ok),
                None => Ok(Err(Stopped::Memory)),
            }
        })
    }

    /// Hands over what was published, as a list of channel and message.
    pub(crate) fn published(&mut self) -> Result<Reply, Ended> {
        self.guarded(|instance| {
            instance.published.call(&mut instance.store, ())?;
            instance.reply()
        })
    }

    /// The keyspace as bytes. The inner error leaves the instance as it was.
    pub(crate) fn save(&mut self) -> Result<Result<Vec<u8>, Stopped>, Ended> {
        self.guarded(|instance| {
            if instance.save.call(&mut instance.store, ())? == 0 {
                return instance.result().map(|bytes| Ok(bytes.to_vec()));
            }
            Ok(Err(Stopped::Other(instance.result_text()?)))
        })
    }

    /// Replaces the keyspace. The inner error is a refusal, which leaves the instance as it was.
    pub(crate) fn load(&mut self, state: &[u8], now_us: u64) -> Result<Result<(), Error>, Ended> {
        self.guarded(|instance| {
            match instance.with_bytes(&instance.load.clone(), state, now_us)? {
                Some(0) => Ok(Ok(())),
                Some(_) => Ok(Err(Error::State(instance.result_text()?))),
                None => Ok(Err(Error::Stopped(Stopped::Memory))),
            }
        })
    }

    /// Sets what each further call may use.
    pub(crate) fn set_limits(&mut self, limits: &Limits) -> Result<(), Ended> {
        self.guarded(|instance| {
            let store = &mut instance.store;
            instance
                .set_memory_limit
                .call(&mut *store, limits.memory_bytes)?;
            instance
                .set_budget
                .call(&mut *store, limits.budget_k_instructions)
        })
    }

    pub(crate) fn used_bytes(&mut self) -> Result<usize, Ended> {
        self.guarded(|instance| {
            let used = instance.used.call(&mut instance.store, ())?;
            Ok(used as usize)
        })
    }
}

#[cfg(test)]
#[path = "instance_tests.rs"]
mod tests;
