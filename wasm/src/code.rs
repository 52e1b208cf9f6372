//! The module as machine code, made when this crate was built.

use std::{fmt, sync::OnceLock};

use wasmtime::{Caller, Engine, InstancePre, Linker, Module, StoreLimits, TypedFunc};

use crate::{Error, config};

const CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lockless.code"));

/// What the two imports of an instance need.
pub(crate) struct Host {
    /// `lua_call_protected`, known once the instance is there.
    pub(crate) protected: Option<TypedFunc<(i32, i32, i32), ()>>,
    pub(crate) limits: StoreLimits,
}

/// What Lua throws: it ends at the innermost `lua_try`. Every other trap ends the instance.
#[derive(Debug)]
struct Thrown;

impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Lua error that nothing caught")
    }
}

impl std::error::Error for Thrown {}

fn lua_throw() -> wasmtime::Result<()> {
    Err(wasmtime::Error::new(Thrown))
}

fn lua_try(
    mut caller: Caller<'_, Host>,
    function: i32,
    state: i32,
    data: i32,
) -> wasmtime::Result<i32> {
    let Some(protected) = caller.data().protected.clone() else {
        return Err(wasmtime::Error::msg("a call before the instance was ready"));
    };
    match protected.call(&mut caller, (function, state, data)) {
        Ok(()) => Ok(0),
        Err(error) if error.is::<Thrown>() => Ok(1),
        Err(error) => Err(error),
    }
}

fn load() -> wasmtime::Result<InstancePre<Host>> {
    let engine = Engine::new(&config::settings())?;
    #[allow(
        unsafe_code,
        reason = "the bytes are machine code, and are run as such: they must be what the compiler made. They are: the build script of \
                  this crate made them with the same version and settings, and they are a part of this program, so whoever could \
                  change them could change the program. The version, the settings and the processor are checked besides."
    )]
    let module = unsafe { Module::deserialize(&engine, CODE) }?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("env", "lua_throw", lua_throw)?;
    linker.func_wrap("env", "lua_try", lua_try)?;
    linker.instantiate_pre(&module)
}

/// The code, loaded once per process and ready to be instantiated.
pub(crate) fn code() -> Result<&'static InstancePre<Host>, Error> {
    static LOADED: OnceLock<Result<InstancePre<Host>, String>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| load().map_err(|error| format!("{error:#}")));
    loaded.as_ref().map_err(|text| Error::Code(text.clone()))
}
