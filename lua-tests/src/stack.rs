use std::borrow::Cow;

use mlua::{Function, Lua};

/// A part of Lua's `debug.getinfo` (source, what, currentline by level), because a safe machine has no `debug` library.
pub(crate) fn getinfo(lua: &Lua) -> mlua::Result<Function> {
    lua.create_function(|lua, level: usize| {
        let frame = lua.inspect_stack(level, |frame| {
            let source = frame.source();
            let text = source.source.map(Cow::into_owned);
            (text, source.what, frame.current_line())
        });
        let Some((source, what, line)) = frame else {
            return Ok(None);
        };
        let info = lua.create_table()?;
        info.set("source", source)?;
        info.set("what", what)?;
        info.set("currentline", line)?;
        Ok(Some(info))
    })
}
