//! A request's values as a function's arguments, in the order it takes them.

use std::borrow::Cow;

use bytes::Bytes;
use lockless_functions::api::{Argument, Function, Kind};

use super::fields::{Fields, Value};
use super::values::{setting, shortened, takes, values};
use crate::problem::Problem;

/// The field of those who wait.
pub const WAIT_MS: &str = "wait_ms";
/// The longest wait there is: the library announces for a minute at least after each look.
pub const WAIT_MS_LIMIT: u64 = 60_000;

/// What a request gives.
pub struct Given<'a> {
    /// The arguments in its path.
    pub path: Vec<(&'static str, Cow<'a, str>)>,
    /// The named values of its body or query.
    pub fields: Fields<'a>,
    /// Its `Idempotency-Key`.
    pub key: Option<&'a str>,
    /// The longest `wait_ms` it may ask for.
    pub wait_limit_ms: u64,
    /// The body that JSON values are parts of, so that they need not be copied.
    pub body: &'a Bytes,
}

/// A function's arguments, ready to be sent.
#[derive(Debug, Default)]
pub struct Marshalled {
    /// In the order the function takes them.
    pub arguments: Vec<Bytes>,
    /// How long the caller waits.
    pub wait_ms: u64,
    /// The job id or request id that makes a second try safe, where the function has one.
    pub key: Option<Bytes>,
    /// The node that the call speaks of, where it names one.
    pub node: Option<Bytes>,
    /// The argument whose news the caller may wait for.
    pub awaited: Option<Bytes>,
}

/// Marshals the arguments of a function. `fresh_key` makes a key for a caller who gave none.
pub fn arguments(
    function: &'static Function,
    mut given: Given<'_>,
    fresh_key: impl FnOnce() -> String,
) -> Result<Marshalled, Problem> {
    let mut done = Marshalled::default();
    let mut fresh_key = Some(fresh_key);
    if function.wait.is_some()
        && let Some(value) = given.fields.take(WAIT_MS)
    {
        done.wait_ms = wait_ms(&value, given.wait_limit_ms)?;
    }
    for argument in function.args.iter().chain(&function.options) {
        let in_path = given
            .path
            .iter()
            .position(|(name, _)| *name == argument.name)
            .map(|at| given.path.swap_remove(at).1);
        let mut values = match in_path {
            Some(value) => vec![Bytes::from(value.into_owned())],
            None => match given.fields.take(&argument.name) {
                Some(value) => values(argument, &value, given.body)?,
                None => Vec::new(),
            },
        };
        if argument.idempotency {
            let key = key_of(argument, &values, given.key, &mut fresh_key)?;
            values = vec![key.clone()];
            done.key = Some(key);
        }
        if values.is_empty() {
            match (&argument.http_default, &argument.keyword) {
                (Some(default), _) => values.push(Bytes::from_static(default.as_bytes())),
                (None, Some(_)) if !argument.required => continue,
                (None, _) => {
                    return Err(Problem::bad_argument(format!(
                        "{} is missing: it takes {}",
                        argument.name,
                        takes(argument)
                    )));
                }
            }
        }
        if argument.name == "node" {
            done.node = values.first().cloned();
        }
        if function
            .wait
            .as_ref()
            .is_some_and(|wait| wait.argument == argument.name)
        {
            done.awaited = values.first().cloned();
        }
        place(argument, values, &mut done.arguments);
    }
    if function.rest.is_some() {
        for (name, value) in given.fields.into_rest() {
            let value = setting(&name, &value, given.body)?;
            done.arguments.push(Bytes::from(name.into_owned()));
            done.arguments.push(value);
        }
    } else if let Some(name) = given.fields.left_over() {
        return Err(Problem::bad_argument(unknown(function, name)));
    }
    Ok(done)
}

fn unknown(function: &Function, name: &str) -> String {
    let mut names: Vec<&str> = function
        .args
        .iter()
        .chain(&function.options)
        .map(|argument| argument.name.as_str())
        .collect();
    if function.wait.is_some() {
        names.push(WAIT_MS);
    }
    if names.contains(&name) {
        return format!("{name} is in the path, and may not be given a second time");
    }
    let name = shortened(name);
    if names.is_empty() {
        return format!("unknown field '{name}': {} takes none", function.name);
    }
    format!(
        "unknown field '{name}': {} takes {}",
        function.name,
        names.join(", ")
    )
}

/// Puts an argument's values where the function expects them.
fn place(argument: &'static Argument, values: Vec<Bytes>, out: &mut Vec<Bytes>) {
    let width = if argument.kind == Kind::Pair { 2 } else { 1 };
    let Some(keyword) = &argument.keyword else {
        out.extend(values);
        return;
    };
    if argument.kind == Kind::Flag {
        out.push(Bytes::from_static(keyword.as_bytes()));
        return;
    }
    for (at, value) in values.into_iter().enumerate() {
        if at % width == 0 {
            out.push(Bytes::from_static(keyword.as_bytes()));
        }
        out.push(value);
    }
}

fn key_of(
    argument: &Argument,
    values: &[Bytes],
    header: Option<&str>,
    fresh: &mut Option<impl FnOnce() -> String>,
) -> Result<Bytes, Problem> {
    match (values.first(), header) {
        (Some(value), Some(header)) if value != header.as_bytes() => {
            Err(Problem::bad_argument(format!(
                "{} and the header Idempotency-Key differ: give one of them",
                argument.name
            )))
        }
        (Some(value), _) => Ok(value.clone()),
        (None, Some(header)) => Ok(Bytes::copy_from_slice(header.as_bytes())),
        (None, None) => Ok(Bytes::from(
            fresh.take().map(|fresh| fresh()).unwrap_or_default(),
        )),
    }
}

fn wait_ms(value: &Value<'_>, limit: u64) -> Result<u64, Problem> {
    let text = match value {
        Value::Json(raw) => raw.get(),
        Value::Query(values) => values.first().map_or("", AsRef::as_ref),
    };
    match text.parse::<u64>() {
        Ok(ms) if ms <= limit => Ok(ms),
        _ => Err(Problem::bad_argument(format!(
            "{WAIT_MS} takes a whole number from 0 to {limit}, given {}",
            shortened(text)
        ))),
    }
}

#[cfg(test)]
mod tests;
