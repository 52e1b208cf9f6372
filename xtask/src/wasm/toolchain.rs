//! The compiler that makes the module: Debian's, so that every machine makes the same bytes.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use data_encoding::HEXLOWER;
use lockless_servers::debian;
use sha2::{Digest, Sha256};

/// The compiler and the linker.
pub(super) const CLANG: &str = "clang-19";
pub(super) const LINKER: &str = "wasm-ld-19";

/// Debian's packages: compiler, linker, C library, and what the compiler calls on.
const PACKAGES: [&str; 4] = [
    "clang-19",
    "lld-19",
    "wasi-libc",
    "libclang-rt-19-dev-wasm32",
];

/// The parts of the C library that are linked; their packages bring them here.
const LIBRARIES: [&str; 3] = [
    "/usr/lib/wasm32-wasi/crt1-reactor.o",
    "/usr/lib/wasm32-wasi/libc.a",
    "/usr/lib/wasm32-wasi/libc-printscan-long-double.a",
];

/// A compiler that is there, and what tells it from another one.
pub(super) struct Toolchain {
    /// How it calls itself.
    pub(super) compiler: String,
    /// A digest of the libraries that become part of the module.
    pub(super) libraries: String,
}

/// Finds the compiler; installs it where that is possible, else says what is missing.
pub(super) fn find_or_install() -> Result<Toolchain> {
    if !is_there() {
        let names = PACKAGES.join(" ");
        if !debian::can_install() {
            bail!(
                "The compiler of the module is not here. Install Debian's packages: apt-get install {names}. \
                 Nothing else needs them: the module is committed."
            );
        }
        debian::install(
            &PACKAGES,
            "The compiler of the module is not here",
            is_there,
        )?;
        if !is_there() {
            bail!(
                "Debian's packages {names} are installed, but not all of the compiler is where it should be."
            );
        }
    }
    let compiler = output(&["--version"])?;
    let mut libraries = Sha256::new();
    for path in LIBRARIES.iter().map(PathBuf::from).chain([builtins()?]) {
        let bytes =
            fs::read(&path).with_context(|| format!("{} could not be read", path.display()))?;
        libraries.update((bytes.len() as u64).to_le_bytes());
        libraries.update(bytes);
    }
    Ok(Toolchain {
        compiler: compiler.lines().next().unwrap_or_default().to_owned(),
        libraries: HEXLOWER.encode(&libraries.finalize()),
    })
}

fn is_there() -> bool {
    let programs = [CLANG, LINKER];
    programs.iter().all(|name| debian::program(name).is_some())
        && LIBRARIES.iter().all(|path| PathBuf::from(path).is_file())
        && builtins().is_ok_and(|path| path.is_file())
}

/// Where the compiler looks for its own library.
fn builtins() -> Result<PathBuf> {
    let said = output(&["--target=wasm32-wasi", "-print-libgcc-file-name"])?;
    Ok(PathBuf::from(said.trim()))
}

fn output(arguments: &[&str]) -> Result<String> {
    let output = Command::new(CLANG)
        .args(arguments)
        .output()
        .with_context(|| format!("{CLANG} could not be started"))?;
    if !output.status.success() {
        bail!("`{CLANG} {}` failed", arguments.join(" "));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
