//! Runs spec files: Lua files in the words of `spec.lua`, each test in a machine and a cell of its own.

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use mlua::{ExternalError, Function, Lua, Table, Value};

use crate::{Error, Host, InProcess, Model, stack};

/// The names of the hosts a test can run on.
pub const HOSTS: [&str; 4] = ["in_process", "wasm", "standalone", "cluster"];
/// What a spec can say instead of names: the models, and the servers.
const GROUPS: [(&str, &[&str]); 2] = [
    ("model", &["in_process", "wasm"]),
    ("real", &["standalone", "cluster"]),
];

/// A spec file and the tests in it.
pub struct SpecFile {
    name: String,
    source: String,
    tests: Vec<SpecTest>,
}

/// One `it`.
#[derive(Clone, Debug)]
pub struct SpecTest {
    /// The names of its groups and its own, joined with `::`.
    pub name: String,
    /// The hosts it is for, a part of [`HOSTS`].
    pub hosts: Vec<&'static str>,
}

impl SpecFile {
    /// Reads all `*.lua` of a folder, in the order of their names.
    pub fn read_folder(folder: &Path) -> Result<Vec<SpecFile>, Error> {
        let failed = |source| Error::SpecFile {
            path: folder.to_owned(),
            source,
        };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "lua") {
                paths.push(path);
            }
        }
        paths.sort();
        paths.iter().map(|path| SpecFile::read(path)).collect()
    }

    /// Reads one file and finds its tests, without running them.
    pub fn read(path: &Path) -> Result<SpecFile, Error> {
        let source = fs::read_to_string(path).map_err(|source| Error::SpecFile {
            path: path.to_owned(),
            source,
        })?;
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        SpecFile::new(stem, source)
    }

    /// Finds the tests of a spec given as text.
    pub fn new(name: String, source: String) -> Result<SpecFile, Error> {
        let lua = Lua::new();
        // No test runs here, so an unused model is host enough.
        let host: SharedHost = Rc::new(RefCell::new(Box::new(InProcess::empty()?)));
        let mut file = SpecFile {
            name,
            source,
            tests: Vec::new(),
        };
        let runner = file.load(&lua, &host)?;
        for test in runner.get::<Table>("tests")?.sequence_values::<Table>() {
            let test = test?;
            let hosts: String = test.get("hosts")?;
            let path: Vec<String> = test.get("path")?;
            file.tests.push(SpecTest {
                name: path.join("::"),
                hosts: hosts_of(&hosts),
            });
        }
        Ok(file)
    }

    /// The file's name without `.lua`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tests in the order of the file.
    pub fn tests(&self) -> &[SpecTest] {
        &self.tests
    }

    /// Runs the test with this index on a host, in the cell `root`. The inner error is the report of a failed test.
    pub fn run(
        &self,
        index: usize,
        host: Box<dyn Host>,
        root: &str,
    ) -> Result<Result<(), String>, Error> {
        let lua = Lua::new();
        let host: SharedHost = Rc::new(RefCell::new(host));
        let runner = self.load(&lua, &host)?;
        let report: Option<mlua::LuaString> =
            runner.get::<Function>("run")?.call((index + 1, root))?;
        Ok(report.map_or(Ok(()), |report| Err(report.to_string_lossy())))
    }

    fn load(&self, lua: &Lua, host: &SharedHost) -> Result<Table, Error> {
        let file = format!("specs/{}.lua", self.name);
        let runner: Table = lua
            .load(include_str!("spec.lua"))
            .set_name("@spec.lua")
            .call((host_table(lua, host)?, file.as_str()))?;
        lua.load(&self.source).set_name(format!("@{file}")).exec()?;
        Ok(runner)
    }
}

type SharedHost = Rc<RefCell<Box<dyn Host>>>;

fn hosts_of(words: &str) -> Vec<&'static str> {
    let means = |word: &str, host: &str| {
        let in_group = |(name, hosts): &(&str, &[&str])| *name == word && hosts.contains(&host);
        word == host || GROUPS.iter().any(in_group)
    };
    let wanted = |host: &&str| words.split_whitespace().any(|word| means(word, host));
    HOSTS.into_iter().filter(wanted).collect()
}

/// The functions `spec.lua` builds its words on.
fn host_table(lua: &Lua, shared: &SharedHost) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("null", Value::NULL)?;
    table.set("getinfo", stack::getinfo(lua)?)?;
    table.set("name", shared.borrow().name())?;
    table.set("is_model", shared.borrow_mut().as_model().is_some())?;

    let host = Rc::clone(shared);
    let fcall = move |lua: &Lua,
                      (name, keys, args, read_only): (
        String,
        Vec<mlua::LuaString>,
        Vec<mlua::LuaString>,
        bool,
    )| {
        let keys = bytes(&keys);
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let args = bytes(&args);
        let mut host = host.borrow_mut();
        let reply = if read_only {
            host.fcall_ro(&name, &keys, &args)
        } else {
            host.fcall(&name, &keys, &args)
        };
        reply.map_err(ExternalError::into_lua_err)?.to_spec(lua)
    };
    table.set("fcall", lua.create_function(fcall)?)?;

    let host = Rc::clone(shared);
    let command = move |lua: &Lua, args: Vec<mlua::LuaString>| {
        let reply = host.borrow_mut().command(&bytes(&args));
        reply.map_err(ExternalError::into_lua_err)?.to_spec(lua)
    };
    table.set("command", lua.create_function(command)?)?;

    let host = Rc::clone(shared);
    let pass_time = move |_: &Lua, ms: u64| {
        host.borrow_mut()
            .pass_time(ms)
            .map_err(ExternalError::into_lua_err)
    };
    table.set("pass_time", lua.create_function(pass_time)?)?;

    let host = Rc::clone(shared);
    let hear = move |_: &Lua, channel: mlua::LuaString| {
        let heard = host.borrow_mut().hear(&channel.as_bytes());
        heard.map_err(ExternalError::into_lua_err)
    };
    table.set("hear", lua.create_function(hear)?)?;

    let host = Rc::clone(shared);
    let heard = move |lua: &Lua, ()| {
        let heard = host.borrow_mut().heard();
        let texts = heard.map_err(ExternalError::into_lua_err)?;
        lua.create_sequence_from(
            texts
                .iter()
                .map(|text| lua.create_string(text))
                .collect::<mlua::Result<Vec<_>>>()?,
        )
    };
    table.set("heard", lua.create_function(heard)?)?;

    table.set(
        "call_count",
        on_model(lua, shared, |_, host, ()| host.call_count())?,
    )?;
    table.set(
        "fail_at",
        on_model(lua, shared, |_, host, n| host.fail_at(n))?,
    )?;
    table.set("dump", on_model(lua, shared, |_, host, ()| host.dump())?)?;
    let trace = |lua: &Lua, host: &mut dyn Model, ()| {
        let calls = lua.create_table()?;
        for call in host.call_trace()? {
            let row = lua.create_sequence_from(
                [call.command.into_bytes(), call.key]
                    .iter()
                    .map(|text| lua.create_string(text))
                    .collect::<mlua::Result<Vec<_>>>()?,
            )?;
            calls.raw_push(row)?;
        }
        Ok(calls)
    };
    table.set("call_trace", on_model(lua, shared, trace)?)?;
    Ok(table)
}

/// A function that works on a model and fails on any other host.
fn on_model<A, R>(
    lua: &Lua,
    shared: &SharedHost,
    run: impl Fn(&Lua, &mut dyn Model, A) -> Result<R, Error> + 'static,
) -> mlua::Result<Function>
where
    A: mlua::FromLuaMulti,
    R: mlua::IntoLuaMulti,
{
    let host = Rc::clone(shared);
    lua.create_function(move |lua, args: A| {
        let mut host = host.borrow_mut();
        let host = host
            .as_model()
            .ok_or_else(|| "only on a model: give this test { hosts = 'model' }".into_lua_err())?;
        run(lua, host, args).map_err(ExternalError::into_lua_err)
    })
}

fn bytes(strings: &[mlua::LuaString]) -> Vec<Vec<u8>> {
    strings
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect()
}
