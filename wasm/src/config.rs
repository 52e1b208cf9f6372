//! How the module is compiled, and therefore how it must be loaded. The build script reads this file too.

use wasmtime::Config;

/// The settings of both sides.
pub(crate) fn settings() -> Config {
    let mut settings = Config::new();
    // A Lua error is a trap here. Noting where it came from would cost many times what the error does.
    settings.wasm_backtrace_max_frames(None);
    settings.generate_address_map(false);
    settings.native_unwind_info(cfg!(windows));
    // The module is plain WebAssembly, and the plainest processors lack what some extensions need.
    settings.wasm_simd(false);
    settings.wasm_relaxed_simd(false);
    settings
}
