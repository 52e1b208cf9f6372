//! Runs other programs and says what it runs.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use lockless_servers::Source;

/// The root of the repository. `cargo run` names it; the place it was built in is for a binary that is started by itself.
pub(crate) fn repository() -> PathBuf {
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let own = PathBuf::from(own);
    own.parent().map_or_else(|| own.clone(), PathBuf::from)
}

/// Cargo itself, the same one that runs this.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository());
    // What the cargo that runs this says about this package: a build script that looks at it would run again each time, and half of
    // the dependencies would be built anew.
    let of_this =
        |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(of_this) {
            command.env_remove(name);
        }
    }
    command
}

/// Prints the command, runs it with its output on the terminal, and fails when it does.
pub(crate) fn visibly(command: &mut Command) -> Result<()> {
    let line = line(command);
    println!("$ {line}");
    let status = command
        .status()
        .with_context(|| format!("`{line}` could not be started"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Prints the command, runs it silently, and fails with all its output when it does.
pub(crate) fn quietly(command: &mut Command) -> Result<()> {
    println!("$ {}", line(command));
    silently(command)
}

/// Runs the command without a word, and fails with all its output when it does.
pub(crate) fn silently(command: &mut Command) -> Result<()> {
    let line = line(command);
    let output = command
        .output()
        .with_context(|| format!("`{line}` could not be started"))?;
    if !output.status.success() {
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        bail!("`{line}` failed ({}):\n{stdout}{stderr}", output.status);
    }
    Ok(())
}

/// Fails with a sentence when a program is not there.
pub(crate) fn need(program: &str, what: &str) -> Result<()> {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match found {
        Ok(status) if status.success() => Ok(()),
        _ => bail!("{what} need {program}, which is not there: install it"),
    }
}

/// Starts this program again with containers built in, if Docker is the only place a server can come from.
/// It returns in all other cases.
pub(crate) fn with_docker_if_needed() -> Result<()> {
    let has_docker = cfg!(feature = "docker");
    if has_docker || !matches!(lockless_servers::find_server(), Ok(Source::Docker { .. })) {
        return Ok(());
    }
    eprintln!("Only Docker was found: building this program again with its feature docker.");
    let mut again = cargo();
    again
        .args([
            "run",
            "--quiet",
            "--package",
            "xtask",
            "--features",
            "docker",
            "--",
        ])
        .args(std::env::args_os().skip(1));
    let error = again.exec();
    Err(error).context("cargo could not be started")
}

fn line(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    // The full path of cargo says nothing; that of a program in a venv does.
    let name = match program.file_name() {
        Some(name) if name == OsStr::new("cargo") => name.to_string_lossy().into_owned(),
        _ => program.display().to_string(),
    };
    let words = command
        .get_args()
        .map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name)
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}
