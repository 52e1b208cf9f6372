use std::fmt;

use mlua::{Lua, Value};

use crate::Error;

/// A reply as a RESP2 client sees it.
#[derive(Clone, PartialEq, Eq)]
pub enum Reply {
    /// The null bulk string or the null array.
    Nil,
    /// An integer.
    Int(i64),
    /// A bulk string.
    Bulk(Vec<u8>),
    /// A status line such as `OK`.
    Status(String),
    /// An error line, code first.
    Error(String),
    /// An array.
    Array(Vec<Reply>),
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Nil => f.write_str("nil"),
            Reply::Int(value) => write!(f, "{value}"),
            Reply::Bulk(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Reply::Status(text) => write!(f, "+{text}"),
            Reply::Error(line) => write!(f, "-{line}"),
            Reply::Array(items) => f.debug_list().entries(items).finish(),
        }
    }
}

impl Reply {
    /// Reads a reply in the form the model gives it: numbers, strings, `false`, `{ok=}`, `{err=}`, arrays.
    pub(crate) fn from_model(value: Value) -> Result<Reply, Error> {
        Ok(match value {
            Value::Nil | Value::Boolean(false) => Reply::Nil,
            Value::Integer(number) => Reply::Int(number),
            #[allow(
                clippy::cast_possible_truncation,
                reason = "the host gives whole numbers"
            )]
            Value::Number(number) => Reply::Int(number as i64),
            Value::String(text) => Reply::Bulk(text.as_bytes().to_vec()),
            Value::Table(table) => {
                if let Some(line) = table.raw_get::<Option<mlua::LuaString>>("err")? {
                    return Ok(Reply::Error(line.to_string_lossy()));
                }
                if let Some(text) = table.raw_get::<Option<mlua::LuaString>>("ok")? {
                    return Ok(Reply::Status(text.to_string_lossy()));
                }
                let items = table.sequence_values::<Value>();
                Reply::Array(
                    items
                        .map(|item| Reply::from_model(item?))
                        .collect::<Result<_, Error>>()?,
                )
            }
            other => return Err(Error::UnexpectedReply(other.type_name().to_owned())),
        })
    }

    /// The same reply of the WebAssembly module.
    pub(crate) fn from_wasm(reply: lockless_wasm::Reply) -> Reply {
        use lockless_wasm::Reply as Given;
        match reply {
            Given::Nil => Reply::Nil,
            Given::Int(number) => Reply::Int(number),
            Given::Bulk(bytes) => Reply::Bulk(bytes),
            Given::Status(text) => Reply::Status(text),
            Given::Error(line) => Reply::Error(line),
            Given::Array(items) => Reply::Array(items.into_iter().map(Reply::from_wasm).collect()),
        }
    }

    /// Gives the reply to a spec as plain Lua: nil is `null`, errors are `{err=line}`, bulk strings and statuses are strings.
    pub(crate) fn to_spec(&self, lua: &Lua) -> mlua::Result<Value> {
        Ok(match self {
            Reply::Nil => Value::NULL,
            #[allow(clippy::cast_precision_loss, reason = "Lua 5.1 has doubles only")]
            Reply::Int(number) => Value::Number(*number as f64),
            Reply::Bulk(bytes) => Value::String(lua.create_string(bytes)?),
            Reply::Status(text) => Value::String(lua.create_string(text)?),
            Reply::Error(line) => {
                let table = lua.create_table()?;
                table.raw_set("err", line.as_str())?;
                Value::Table(table)
            }
            Reply::Array(items) => {
                let table = lua.create_table_with_capacity(items.len(), 0)?;
                for item in items {
                    table.raw_push(item.to_spec(lua)?)?;
                }
                Value::Table(table)
            }
        })
    }

    /// Reads a reply of a real server. Error lines come back as the server wrote them.
    pub(crate) fn from_redis(value: redis::Value) -> Result<Reply, Error> {
        Ok(match value {
            redis::Value::Nil => Reply::Nil,
            redis::Value::Int(number) => Reply::Int(number),
            redis::Value::BulkString(bytes) => Reply::Bulk(bytes),
            redis::Value::Okay => Reply::Status("OK".to_owned()),
            redis::Value::SimpleString(text) => Reply::Status(text),
            redis::Value::Array(items) => Reply::Array(
                items
                    .into_iter()
                    .map(Reply::from_redis)
                    .collect::<Result<_, Error>>()?,
            ),
            redis::Value::ServerError(error) => Reply::Error(line(error.code(), error.details())),
            other => return Err(Error::UnexpectedReply(format!("{other:?}"))),
        })
    }

    /// Turns the error the server replied with back into its line; other errors are transport errors and stay errors.
    pub(crate) fn from_redis_error(error: redis::RedisError) -> Result<Reply, Error> {
        use redis::ErrorKind;
        match error.kind() {
            ErrorKind::Server(_) | ErrorKind::Extension => match error.code() {
                Some(code) => Ok(Reply::Error(line(code, error.detail()))),
                None => Err(error.into()),
            },
            _ => Err(error.into()),
        }
    }
}

fn line(code: &str, detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("{code} {detail}"),
        None => code.to_owned(),
    }
}
