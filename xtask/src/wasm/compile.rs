//! From C to WebAssembly.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::inputs::Inputs;
use super::lua::PARTS;
use super::section::Note;
use super::toolchain::{self, CLANG};
use crate::run;

/// How every file is compiled. No path of this machine is among it, so that none is in the module.
pub(super) const FLAGS: [&str; 12] = [
    "--target=wasm32-wasi",
    "--sysroot=/usr",
    "-isystem/usr/include/wasm32-wasi",
    "-I.",
    "-include",
    "isolated.h",
    "-O2",
    "-std=gnu11",
    // Lua relies on both, and compilers no longer grant them: `unpack(t, -2^31, 2^31 - 1)` would write far beyond its stack.
    "-fwrapv",
    "-fno-strict-aliasing",
    "-mnontrapping-fptoint",
    "-msign-ext",
];

/// How the parts are put together. The stack comes first in memory: one that overflows leaves memory and traps.
pub(super) const LINK_FLAGS: [&str; 6] = [
    "--target=wasm32-wasi",
    "--sysroot=/usr",
    "-mexec-model=reactor",
    "-fuse-ld=/usr/bin/wasm-ld-19",
    // Without it the C library would print an error at the first %f, and import what it needs for that.
    "-lc-printscan-long-double",
    "-Wl,--gc-sections,--stack-first,-z,stack-size=1048576,--strip-all",
];

/// Makes the module in a directory of its own.
pub(super) fn compile(inputs: &Inputs, work: &Path) -> Result<Vec<u8>> {
    let toolchain = toolchain::find_or_install()?;
    for (name, text) in inputs.lua.iter().chain(&inputs.own) {
        write(work, name, text)?;
    }
    write_sources(inputs, work)?;
    let lua: Vec<String> = PARTS.iter().map(|part| format!("{part}.c")).collect();
    let mut own: Vec<String> = inputs
        .own
        .iter()
        .map(|(name, _)| name.clone())
        .filter(|name| name.ends_with(".c"))
        .collect();
    own.push("sources.c".to_owned());
    // Lua's authors wrote for other compilers; what is ours has no excuse.
    clang(work, &[&FLAGS[..], &["-c", "-w"]].concat(), &lua)?;
    let strict = ["-c", "-Wall", "-Wextra", "-Werror", "-Wno-c23-extensions"];
    clang(work, &[&FLAGS[..], &strict].concat(), &own)?;
    let mut objects: Vec<String> = lua.iter().chain(&own).map(|name| object(name)).collect();
    objects.extend(["-o".to_owned(), "lockless.wasm".to_owned()]);
    clang(work, &LINK_FLAGS, &objects)?;
    let made = work.join("lockless.wasm");
    let mut module = fs::read(&made).with_context(|| format!("{} is not there", made.display()))?;
    Note::new(inputs.digest(), toolchain).append(&mut module);
    Ok(module)
}

fn object(source: &str) -> String {
    source.replace(".c", ".o")
}

/// The Lua texts become files that the compiler reads as they are, and one C file that names them.
fn write_sources(inputs: &Inputs, work: &Path) -> Result<()> {
    let mut code = String::from("#include \"sources.h\"\n");
    let mut table = String::new();
    let library = ("lockless.lua".to_owned(), inputs.library.clone());
    for (number, (name, text)) in inputs.chunks.iter().chain([&library]).enumerate() {
        let file = format!("text{number}.lua");
        write(work, &file, text)?;
        code += &format!("static const char text{number}[] = {{\n#embed \"{file}\"\n}};\n");
        table += &format!("  {{\"{name}\", text{number}, sizeof text{number}}},\n");
        if number + 1 == inputs.chunks.len() {
            code += &format!("const struct source chunks[] = {{\n{table}}};\n");
            code += &format!("const size_t chunks_count = {};\n", inputs.chunks.len());
            table.clear();
        }
    }
    code += &format!(
        "const struct source library = {};\n",
        table.trim().trim_end_matches(',')
    );
    write(work, "sources.c", &code)
}

fn write(work: &Path, name: &str, text: &str) -> Result<()> {
    let path = work.join(name);
    fs::write(&path, text).with_context(|| format!("{} could not be written", path.display()))
}

fn clang(work: &Path, flags: &[&str], files: &[String]) -> Result<()> {
    run::silently(
        Command::new(CLANG)
            .args(flags)
            .args(files)
            .current_dir(work)
            // What the caller's environment says about compilers is for others.
            .env_remove("CPATH")
            .env_remove("C_INCLUDE_PATH")
            .env_remove("SOURCE_DATE_EPOCH"),
    )
}
