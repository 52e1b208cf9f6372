//! What Redis answered, and what its errors mean.

use bytes::Bytes;
use lockless_topology::Address;
use redis::{RedisError, ServerError, Value};

use crate::backend::{Failure, Reply};

/// What is wrong with one call, for now or for good.
#[derive(Debug, Clone)]
pub(super) enum Trouble {
    /// It stands.
    Final(Failure),
    /// Another server has the slot, or this one is a replica by now. Nothing was done.
    Elsewhere(String),
    /// The slot is on its way: only this call is to be asked of that server. Nothing was done.
    Ask(Address),
    /// The connection broke after the call was sent.
    Lost(String),
}

impl Trouble {
    /// What it is once it is not tried again.
    pub(super) fn failure(self) -> Failure {
        match self {
            Self::Final(failure) => failure,
            Self::Elsewhere(why) => Failure::Away(why),
            Self::Ask(address) => Failure::Away(format!("the cell is being moved to {address}")),
            Self::Lost(why) => Failure::Lost(why),
        }
    }
}

/// Reads one reply of a pipeline.
pub(super) fn read(value: Value) -> Result<Reply, Trouble> {
    match value {
        Value::ServerError(error) => Err(refused(&error)),
        value => reply(value).ok_or_else(|| {
            Trouble::Final(Failure::Refused("a reply of an unknown kind".to_owned()))
        }),
    }
}

/// A connection that broke, or a reply that can't be read.
pub(super) fn lost(address: &Address, error: &RedisError) -> Trouble {
    let reason = error.to_string();
    Trouble::Lost(format!(
        "{address}: {}",
        reason.lines().next().unwrap_or_default()
    ))
}

fn reply(value: Value) -> Option<Reply> {
    Some(match value {
        Value::Nil => Reply::Nil,
        Value::Int(number) => Reply::Integer(number),
        Value::BulkString(bytes) => Reply::Bytes(Bytes::from(bytes)),
        Value::SimpleString(text) => Reply::Bytes(Bytes::from(text)),
        Value::Okay => Reply::Bytes(Bytes::from_static(b"OK")),
        Value::Array(values) => Reply::List(values.into_iter().map(reply).collect::<Option<_>>()?),
        Value::VerbatimString { text, .. } => Reply::Bytes(Bytes::from(text)),
        Value::Map(pairs) => {
            let flat = pairs.into_iter().flat_map(|(name, value)| [name, value]);
            Reply::List(flat.map(reply).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// What an error reply means. All but `Refused` and the library's own mean that nothing was done.
fn refused(error: &ServerError) -> Trouble {
    let code = error.code();
    let sentence = error.details().unwrap_or_default();
    let whole = || format!("{code} {sentence}");
    if let Some(failure) = Failure::of_library(code, sentence) {
        return Trouble::Final(failure);
    }
    match code {
        "MOVED" | "READONLY" => Trouble::Elsewhere(whole()),
        "ASK" => match asked(sentence) {
            Some(address) => Trouble::Ask(address),
            None => Trouble::Elsewhere(whole()),
        },
        // BUSY: someone's script runs for long. It is refused before it begins, like the others here.
        "LOADING" | "CLUSTERDOWN" | "MASTERDOWN" | "TRYAGAIN" | "NOREPLICAS" | "BUSY" => {
            Trouble::Final(Failure::Away(whole()))
        }
        "OOM" => Trouble::Final(Failure::Full(sentence.to_owned())),
        "ERR" if sentence.starts_with("Function not found") => {
            Trouble::Final(Failure::LibraryMissing)
        }
        _ => Trouble::Final(Failure::Refused(whole())),
    }
}

/// The address in `slot host:port`.
fn asked(sentence: &str) -> Option<Address> {
    let (host, port) = sentence.split_whitespace().nth(1)?.rsplit_once(':')?;
    Some(Address {
        host: host.to_owned(),
        port: port.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use redis::parse_redis_value;

    use super::*;

    fn failure(line: &str) -> Failure {
        let reply = parse_redis_value(format!("-{line}\r\n").as_bytes()).expect("a reply");
        read(reply).expect_err("an error").failure()
    }

    #[test]
    fn each_error_of_redis_has_one_meaning() {
        let away = [
            "MOVED 1 a:1",
            "ASK 1 a:1",
            "READONLY You can't write against a read only replica.",
            "LOADING Redis is loading the dataset in memory",
            "CLUSTERDOWN The cluster is down",
            "MASTERDOWN Link with MASTER is down",
            "TRYAGAIN Multiple keys request during rehashing of slot",
            "NOREPLICAS Not enough good replicas to write.",
            "BUSY Redis is busy running a script.",
        ];
        for line in away {
            assert!(matches!(failure(line), Failure::Away(_)), "{line}");
        }
        let refused = [
            "MISCONF Redis is configured to save RDB snapshots",
            "NOPERM this user has no permissions",
            "ERR unknown command 'FCALL'",
            "WRONGTYPE Operation against a key",
        ];
        for line in refused {
            assert_eq!(failure(line), Failure::Refused(line.to_owned()));
        }
        assert_eq!(
            failure("OOM command not allowed"),
            Failure::Full("command not allowed".to_owned())
        );
        assert_eq!(failure("ERR Function not found"), Failure::LibraryMissing);
    }

    #[test]
    fn a_code_of_the_contract_is_the_librarys() {
        let expected = Failure::Library {
            code: "CELL_MOVING".to_owned(),
            sentence: "try again".to_owned(),
        };
        assert_eq!(failure("CELL_MOVING try again"), expected);
    }

    #[test]
    fn a_redirect_names_where_to_ask() {
        let address = asked("3999 ::1:7001").map(|address| address.to_string());
        assert_eq!(address.as_deref(), Some("[::1]:7001"));
        assert_eq!(asked("3999"), None);
    }
}
