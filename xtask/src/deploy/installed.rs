//! What a primary has under the name `lockless`.

use std::fmt;

use lockless_topology::Primary;
use redis::{Cmd, Value, cmd};

use super::link::Link;
use super::problem::Problem;

pub(crate) const LIBRARY_NAME: &str = "lockless";

/// A version of our library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Release {
    pub(crate) version: String,
    pub(crate) digest: String,
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = self.digest.get(..12).unwrap_or(&self.digest);
        write!(f, "{} (digest {short})", self.version)
    }
}

/// What a primary has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Installed {
    Nothing,
    /// Some version of our library.
    Library {
        release: Release,
        code: Vec<u8>,
    },
    /// A library of that name which is not ours.
    Foreign {
        code: Vec<u8>,
    },
}

impl Installed {
    /// The library's code, if there is one.
    pub(crate) fn code(&self) -> Option<&[u8]> {
        match self {
            Self::Nothing => None,
            Self::Library { code, .. } | Self::Foreign { code } => Some(code),
        }
    }
}

impl fmt::Display for Installed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Library { release, .. } => release.fmt(f),
            Self::Foreign { .. } => f.write_str("another library called lockless"),
        }
    }
}

/// Asks a primary what it has.
pub(crate) fn read(link: &mut Link, primary: &Primary) -> Result<Installed, Problem> {
    let Some(code) = read_code(link)? else {
        return Ok(Installed::Nothing);
    };
    let release = match call_version(link, primary)? {
        Some(release) => Some(release),
        None => release_in(&code),
    };
    Ok(match release {
        Some(release) => Installed::Library { release, code },
        None => Installed::Foreign { code },
    })
}

/// The library's code alone.
pub(crate) fn read_code(link: &mut Link) -> Result<Option<Vec<u8>>, Problem> {
    let list = function(&["LIST", "LIBRARYNAME", LIBRARY_NAME, "WITHCODE"]);
    let libraries: Vec<Vec<Value>> = link.ask("FUNCTION LIST", &list)?;
    Ok(libraries
        .iter()
        .find_map(|library| field(library, "library_code")))
}

/// A command of the FUNCTION family.
pub(crate) fn function(words: &[&str]) -> Cmd {
    let mut command = cmd("FUNCTION");
    command.arg(words);
    command
}

/// Asks the library itself. A server may be unable to run it just now (a Cluster that is down or moving the slot, a
/// user who may only deploy); then, and when it has no such function, there is no answer.
fn call_version(link: &mut Link, primary: &Primary) -> Result<Option<Release>, Problem> {
    let Some(key) = primary.own_key() else {
        return Ok(None);
    };
    let call = cmd("FCALL")
        .arg("lockless_version")
        .arg(1)
        .arg(key)
        .to_owned();
    match link.try_ask::<Vec<Value>>(&call) {
        Ok(reply) => Ok(release_of(&reply)),
        Err(error) if error.is_io_error() => {
            Err(super::link::explain(&error, &link.address, "FCALL"))
        }
        Err(_) => Ok(None),
    }
}

fn release_of(reply: &[Value]) -> Option<Release> {
    let text = |name| field(reply, name).and_then(|bytes| String::from_utf8(bytes).ok());
    Some(Release {
        version: text("version")?,
        digest: text("digest")?,
    })
}

/// The value after a name in a flat list of names and values.
fn field(list: &[Value], wanted: &str) -> Option<Vec<u8>> {
    list.chunks_exact(2)
        .find(|pair| bytes(&pair[0]).is_some_and(|name| name == wanted.as_bytes()))
        .and_then(|pair| bytes(&pair[1]))
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes.clone()),
        Value::SimpleString(text) => Some(text.clone().into_bytes()),
        Value::Int(number) => Some(number.to_string().into_bytes()),
        _ => None,
    }
}

/// Reads the line of a bundle that says what it is: `local about = { version = '...', ..., digest = '...' }`.
fn release_in(code: &[u8]) -> Option<Release> {
    let text = String::from_utf8_lossy(code);
    let about = text
        .lines()
        .find(|line| line.starts_with("local about = {"))?;
    let value = |name: &str| {
        let (_, rest) = about.split_once(&format!("{name} = '"))?;
        rest.split_once('\'').map(|(value, _)| value.to_owned())
    };
    Some(Release {
        version: value("version")?,
        digest: value("digest")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_bundle_says_what_it_is() {
        let release = release_in(lockless_functions::LIBRARY.as_bytes()).unwrap();
        assert_eq!(release.version, lockless_functions::VERSION);
        assert_eq!(Some(release.digest.as_str()), lockless_functions::digest());
    }

    #[test]
    fn another_library_says_nothing() {
        assert_eq!(release_in(b"#!lua name=lockless\nlocal x = 1"), None);
    }

    #[test]
    fn a_reply_without_a_digest_is_not_ours() {
        assert_eq!(
            release_of(&[
                Value::SimpleString("version".into()),
                Value::SimpleString("1.0.0".into())
            ]),
            None
        );
    }
}
