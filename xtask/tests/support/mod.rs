//! Runs the real program, and servers that are not what they should be.
#![allow(dead_code, reason = "every test file uses its own part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;

use tempfile::TempDir;

/// A library of our name that says it is of this version, in the two ways a bundle does.
pub(crate) fn library_of(version: &str) -> String {
    format!(
        "#!lua name=lockless\n\
         local about = {{ version = '{version}', schema = 1, digest = 'digest-of-{version}' }}\n\
         redis.register_function('lockless_version', function()\n\
         return {{'version', about.version, 'schema', about.schema, 'digest', about.digest}}\nend)"
    )
}

/// A library of another name.
pub(crate) fn other_library(answer: &str) -> String {
    format!("#!lua name=other\nredis.register_function('other', function() return '{answer}' end)")
}

pub(crate) fn connect(url: &str) -> redis::Connection {
    redis::Client::open(url).unwrap().get_connection().unwrap()
}

pub(crate) fn load(url: &str, code: &str) {
    redis::cmd("FUNCTION")
        .arg("LOAD")
        .arg("REPLACE")
        .arg(code)
        .exec(&mut connect(url))
        .unwrap();
}

/// The code of a library, if it is there.
pub(crate) fn code_of(url: &str, library: &str) -> Option<String> {
    let mut command = redis::cmd("FUNCTION");
    command
        .arg("LIST")
        .arg("LIBRARYNAME")
        .arg(library)
        .arg("WITHCODE");
    let libraries: Vec<Vec<redis::Value>> = command.query(&mut connect(url)).unwrap();
    libraries.first().map(|fields| match fields.last() {
        Some(redis::Value::BulkString(code)) => String::from_utf8(code.clone()).unwrap(),
        other => panic!("{other:?}"),
    })
}

pub(crate) fn has_own_library(url: &str) -> bool {
    code_of(url, "lockless").as_deref() == Some(lockless_functions::LIBRARY)
}

/// `cargo xtask deploy-functions`, in a directory of its own for the backups.
pub(crate) struct Deployer {
    pub(crate) dir: TempDir,
}

impl Deployer {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn command(&self, url: &str, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command
            .arg("deploy-functions")
            .args(["--url", url])
            .args(options)
            .current_dir(self.dir.path());
        for name in ["USER", "PASSWORD", "URL"] {
            command.env_remove(format!("LOCKLESS_REDIS_{name}"));
        }
        command
    }

    /// Runs it and expects it to succeed; returns what it printed.
    pub(crate) fn succeeds(&self, url: &str, options: &[&str]) -> String {
        succeeds(&mut self.command(url, options))
    }

    /// Runs it and expects it to fail with one sentence; returns the sentence.
    pub(crate) fn fails(&self, url: &str, options: &[&str]) -> String {
        fails(&mut self.command(url, options))
    }

    /// How many backups it made.
    pub(crate) fn backups(&self) -> usize {
        let entries = std::fs::read_dir(self.dir.path().join(".lockless/backups"));
        entries.map_or(0, |entries| {
            entries
                .flatten()
                .filter(|e| e.path().extension().is_some_and(|x| x == "dump"))
                .count()
        })
    }
}

pub(crate) fn succeeds(command: &mut Command) -> String {
    let (output, stdout, stderr) = run(command);
    assert!(output.status.success(), "{stdout}{stderr}");
    stdout
}

pub(crate) fn fails(command: &mut Command) -> String {
    let (output, stdout, stderr) = run(command);
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    assert!(
        stderr.starts_with("error: ") && stderr.trim_end().lines().count() == 1,
        "{stderr}"
    );
    stderr
}

fn run(command: &mut Command) -> (Output, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    (output, stdout, stderr)
}

/// A server that answers INFO with this text and knows no other command; returns its URL.
pub(crate) fn fake_server(info: &'static str) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            serve(&stream.unwrap(), info);
        }
    });
    format!("redis://127.0.0.1:{port}")
}

fn serve(mut stream: &TcpStream, info: &str) {
    let mut reader = BufReader::new(stream);
    while let Some(words) = read_command(&mut reader) {
        let answer = if words[0].eq_ignore_ascii_case("INFO") {
            format!("${}\r\n{info}\r\n", info.len())
        } else {
            format!(
                "-ERR unknown command '{}', with args beginning with: \r\n",
                words[0]
            )
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read_command(reader: &mut BufReader<&TcpStream>) -> Option<Vec<String>> {
    let count: usize = read_line(reader)?.strip_prefix('*')?.parse().ok()?;
    (0..count)
        .map(|_| {
            let length: usize = read_line(reader)?.strip_prefix('$')?.parse().ok()?;
            let mut word = vec![0; length + 2];
            reader.read_exact(&mut word).ok()?;
            word.truncate(length);
            String::from_utf8(word).ok()
        })
        .collect()
}

fn read_line(reader: &mut BufReader<&TcpStream>) -> Option<String> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
    Some(line.trim_end().to_owned())
}
