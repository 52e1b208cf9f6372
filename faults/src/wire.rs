//! How calls reach a cell: over one connection each, and what comes back.

use std::time::Duration;

use redis::{Client, Connection, ErrorKind, RedisError, Value};

/// A reply. Texts are what they are as UTF-8: the load's own always are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Nil,
    /// A whole number.
    Int(i64),
    /// A text or a status.
    Text(String),
    /// A list.
    List(Vec<Answer>),
}

impl Answer {
    /// From a client's value.
    pub fn from_redis(value: Value) -> Self {
        match value {
            Value::Int(number) => Self::Int(number),
            Value::BulkString(bytes) => Self::Text(String::from_utf8_lossy(&bytes).into_owned()),
            Value::SimpleString(text) => Self::Text(text),
            Value::Okay => Self::Text("OK".to_owned()),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from_redis).collect()),
            _ => Self::Nil,
        }
    }

    /// The text, or the number as text; empty for anything else.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Int(number) => number.to_string(),
            _ => String::new(),
        }
    }

    /// The number, also of a text that is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The items; none of anything but a list.
    pub fn list(&self) -> &[Answer] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The value of a field in a flat list of field and value.
    pub fn field(&self, name: &str) -> Option<&Answer> {
        let mut pairs = self.list().chunks_exact(2);
        pairs
            .find(|pair| pair[0].text() == name)
            .map(|pair| &pair[1])
    }

    /// The texts of a list.
    pub fn texts(&self) -> Vec<String> {
        self.list().iter().map(Self::text).collect()
    }
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It was made.
    Reply(Answer),
    /// An error line, its code first.
    Refused(String),
    /// It was sent and nothing came back: it may be made, now or later, or never.
    Maybe(String),
    /// It was not sent.
    Unsent(String),
}

impl Said {
    /// The reply, if it was made.
    pub fn reply(&self) -> Option<&Answer> {
        match self {
            Self::Reply(answer) => Some(answer),
            _ => None,
        }
    }

    /// The code of a refusal.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(line) => line.split(' ').next(),
            _ => None,
        }
    }

    /// Whether anything may have changed by it. A general error may come from the middle of a function.
    pub fn may_have_acted(&self) -> bool {
        match self {
            Self::Reply(_) | Self::Maybe(_) => true,
            Self::Refused(_) => self.code() == Some("ERR"),
            Self::Unsent(_) => false,
        }
    }

    /// From a client's result. What was sent over a connection that then broke may have been made.
    pub fn from_redis(result: Result<Value, RedisError>) -> Self {
        match result {
            Ok(Value::ServerError(error)) => {
                Self::Refused(error_line(error.code(), error.details()))
            }
            Ok(value) => Self::Reply(Answer::from_redis(value)),
            Err(error) => match (error.kind(), error.code()) {
                (ErrorKind::Server(_) | ErrorKind::Extension, Some(code)) => {
                    Self::Refused(error_line(code, error.detail()))
                }
                _ => Self::Maybe(error.to_string()),
            },
        }
    }
}

fn error_line(code: &str, detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("{code} {detail}"),
        None => code.to_owned(),
    }
}

/// A way to a cell that one caller uses. It connects again by itself.
pub trait Wire: Send {
    /// Calls a function, named without its prefix.
    fn call(&mut self, root: &str, function: &str, args: &[String]) -> Said;

    /// Makes sure that the call before is kept, as far as this way can. Whoever knows no such way says that it is not sure.
    fn confirm(&mut self, _root: &str) -> bool {
        false
    }
}

/// Where wires come from.
pub trait Route: Send + Sync {
    /// A new one, for one caller.
    fn open(&self) -> Box<dyn Wire>;
}

/// Straight to one server.
pub struct Direct {
    url: String,
    timeout: Duration,
}

impl Direct {
    /// To the server at `url`, with this patience for a connection and for a reply.
    pub fn new(url: impl Into<String>, timeout: Duration) -> Self {
        Self {
            url: url.into(),
            timeout,
        }
    }
}

impl Route for Direct {
    fn open(&self) -> Box<dyn Wire> {
        Box::new(DirectWire {
            url: self.url.clone(),
            timeout: self.timeout,
            connection: None,
        })
    }
}

struct DirectWire {
    url: String,
    timeout: Duration,
    connection: Option<Connection>,
}

/// Opens a connection with this patience.
pub fn connect(url: &str, timeout: Duration) -> Result<Connection, RedisError> {
    let connection = Client::open(url)?.get_connection_with_timeout(timeout)?;
    connection.set_read_timeout(Some(timeout))?;
    connection.set_write_timeout(Some(timeout))?;
    Ok(connection)
}

/// The FCALL of a function, named without its prefix.
pub fn fcall(root: &str, function: &str, args: &[String]) -> redis::Cmd {
    let mut command = redis::cmd("FCALL");
    command
        .arg(format!("lockless_{function}"))
        .arg(1)
        .arg(root)
        .arg(args);
    command
}

impl Wire for DirectWire {
    fn call(&mut self, root: &str, function: &str, args: &[String]) -> Said {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => match connect(&self.url, self.timeout) {
                Ok(connection) => none.insert(connection),
                Err(error) => return Said::Unsent(error.to_string()),
            },
        };
        let said = Said::from_redis(fcall(root, function, args).query(connection));
        if matches!(said, Said::Maybe(_)) {
            // What is left on it would be taken for the reply to another call.
            self.connection = None;
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Said};

    #[test]
    fn a_field_is_found_by_its_name() {
        let reply = Answer::List(vec![
            Answer::Text("held".to_owned()),
            Answer::Int(2),
            Answer::Text("state".to_owned()),
            Answer::Text("held".to_owned()),
        ]);
        assert_eq!(
            reply.field("state").map(Answer::text),
            Some("held".to_owned())
        );
        assert_eq!(reply.field("stop"), None);
    }

    #[test]
    fn a_refusal_had_no_effect_unless_it_came_from_the_middle_of_a_function() {
        assert!(!Said::Refused("OOM command not allowed".to_owned()).may_have_acted());
        assert!(Said::Refused("ERR this was raised".to_owned()).may_have_acted());
        assert!(Said::Maybe("timed out".to_owned()).may_have_acted());
        assert!(!Said::Unsent("refused".to_owned()).may_have_acted());
    }
}
