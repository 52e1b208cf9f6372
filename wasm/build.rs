//! Compiles `lockless.wasm` to machine code, so that no compiler is needed at run time and a machine starts in about a millisecond.

use std::{env, error::Error, fs, path::Path};

#[path = "src/config.rs"]
mod config;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=lockless.wasm");
    println!("cargo::rerun-if-changed=src/config.rs");
    let target = env::var("TARGET")?;
    let mut settings = config::settings();
    // A named target means its plainest processor: what is built here runs on every machine of that architecture.
    settings.target(&target)?;
    let engine = wasmtime::Engine::new(&settings)
        .map_err(|error| format!("no code can be made for {target} (another architecture needs the feature `cross`): {error}"))?;
    let code = engine.precompile_module(&fs::read("lockless.wasm")?)?;
    let out = Path::new(&env::var("OUT_DIR")?).join("lockless.code");
    fs::write(out, code)?;
    Ok(())
}
