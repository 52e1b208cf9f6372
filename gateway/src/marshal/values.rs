//! One value of a request as a function's argument. Types are checked here; limits are the library's.

use std::borrow::Cow;

use bytes::Bytes;
use lockless_functions::api::{Argument, Kind, Setting, SettingKind};
use serde_json::value::RawValue;

use super::fields::Value;
use crate::contract;
use crate::problem::Problem;

/// One argument's values; none for a `null` and for a flag that is off.
pub(super) fn values(
    argument: &Argument,
    value: &Value<'_>,
    body: &Bytes,
) -> Result<Vec<Bytes>, Problem> {
    match value {
        Value::Json(raw) if argument.is_json() => Ok(vec![part_of(body, raw)]),
        Value::Json(raw) if raw.get() == "null" => Ok(Vec::new()),
        Value::Json(raw) if argument.many.is_some() => {
            let items: Vec<&RawValue> =
                serde_json::from_str(raw.get()).map_err(|_| wrong(argument, raw.get()))?;
            let mut out = Vec::new();
            for item in items {
                one(argument, item, body, &mut out)?;
            }
            Ok(out)
        }
        Value::Json(raw) => {
            let mut out = Vec::new();
            one(argument, raw, body, &mut out)?;
            Ok(out)
        }
        Value::Query(values) => {
            if values.len() > 1 && argument.many.is_none() {
                return Err(Problem::bad_argument(format!(
                    "{} may be given once in the query, given {} times",
                    argument.name,
                    values.len()
                )));
            }
            let mut out = Vec::new();
            for value in values {
                one_of_query(argument, value, &mut out)?;
            }
            Ok(out)
        }
    }
}

fn one(
    argument: &Argument,
    raw: &RawValue,
    body: &Bytes,
    out: &mut Vec<Bytes>,
) -> Result<(), Problem> {
    let json = raw.get();
    match argument.kind {
        Kind::Integer | Kind::Percent if is_number(json) => {
            out.push(number(raw, argument.kind == Kind::Integer, body));
        }
        Kind::Integer | Kind::Percent if argument.dash && json == "\"-\"" => {
            out.push(Bytes::from_static(b"-"));
        }
        Kind::Integer | Kind::Percent => return Err(wrong(argument, json)),
        Kind::Choice if is_boolean(argument) => match json {
            "true" | "false" => out.push(part_of(body, raw)),
            _ => return Err(wrong(argument, json)),
        },
        Kind::Flag => match json {
            "true" => out.push(Bytes::new()),
            "false" => {}
            _ => return Err(wrong(argument, json)),
        },
        Kind::Pair => {
            let languages: [String; 2] =
                serde_json::from_str(json).map_err(|_| wrong(argument, json))?;
            out.extend(languages.map(Bytes::from));
        }
        Kind::Id | Kind::Lang | Kind::Bytes | Kind::Choice | Kind::Cursor | Kind::Payload => {
            out.push(text(raw, body).ok_or_else(|| wrong(argument, json))?);
        }
    }
    Ok(())
}

fn one_of_query(argument: &Argument, value: &str, out: &mut Vec<Bytes>) -> Result<(), Problem> {
    match argument.kind {
        Kind::Pair => {
            let (source, target) = value.split_once(':').ok_or_else(|| {
                Problem::bad_argument(format!(
                    "{} takes two languages as src:tgt, given '{}'",
                    argument.name,
                    shortened(value)
                ))
            })?;
            out.push(Bytes::copy_from_slice(source.as_bytes()));
            out.push(Bytes::copy_from_slice(target.as_bytes()));
        }
        Kind::Flag => match value {
            "true" | "" => out.push(Bytes::new()),
            "false" => {}
            _ => return Err(wrong(argument, value)),
        },
        _ => out.push(Bytes::copy_from_slice(value.as_bytes())),
    }
    Ok(())
}

/// A setting of the cell. One the contract does not know is passed on, for the library to refuse.
pub(super) fn setting(name: &str, value: &Value<'_>, body: &Bytes) -> Result<Bytes, Problem> {
    let known = contract::api()
        .settings
        .iter()
        .find(|setting| setting.name == name);
    let raw = match value {
        Value::Json(raw) => raw,
        Value::Query(values) => return Ok(Bytes::from(values.concat())),
    };
    let json = raw.get();
    let given = match known {
        Some(setting) if setting.is_boolean() => {
            matches!(json, "true" | "false").then(|| part_of(body, raw))
        }
        Some(setting) if setting.kind == SettingKind::Choice => text(raw, body),
        Some(setting) if is_number(json) => {
            Some(number(raw, setting.kind == SettingKind::Integer, body))
        }
        Some(_) => None,
        None => Some(part_of(body, raw)),
    };
    let takes = known.map(Setting::takes).unwrap_or_default();
    given.ok_or_else(|| {
        Problem::bad_argument(format!("{name} takes {takes}, given {}", shortened(json)))
    })
}

/// A JSON string's text; without a copy unless it has escapes.
fn text(raw: &RawValue, body: &Bytes) -> Option<Bytes> {
    let json = raw.get();
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str::<String>(json).ok().map(Bytes::from);
    }
    Some(part_of_text(body, inner))
}

fn part_of(body: &Bytes, raw: &RawValue) -> Bytes {
    part_of_text(body, raw.get())
}

/// A part of the body, sharing its memory.
fn part_of_text(body: &Bytes, part: &str) -> Bytes {
    let (start, end) = (body.as_ptr() as usize, body.as_ptr() as usize + body.len());
    let at = part.as_ptr() as usize;
    if at >= start && at + part.len() <= end {
        body.slice(at - start..at - start + part.len())
    } else {
        Bytes::copy_from_slice(part.as_bytes())
    }
}

/// A JSON number as the library reads it, never in scientific notation: 4.0 and 4e0 are 4. What is to be whole and is
/// not stays as it is, to be refused.
fn number(raw: &RawValue, is_whole: bool, body: &Bytes) -> Bytes {
    let json = raw.get();
    let is_plain = !json.contains(['.', 'e', 'E']) && json != "-0";
    match json.parse::<f64>() {
        Ok(number) if !is_plain && number.is_finite() && (!is_whole || number.fract() == 0.0) => {
            let text = format!("{:.12}", number + 0.0);
            let short = text.trim_end_matches('0').trim_end_matches('.');
            Bytes::from(short.to_owned())
        }
        _ => part_of(body, raw),
    }
}

fn is_number(json: &str) -> bool {
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Whether an argument takes a JSON boolean: a choice between the words true and false.
pub(crate) fn is_boolean(argument: &Argument) -> bool {
    argument.kind == Kind::Choice && argument.values == ["true", "false"]
}

/// What an argument takes as JSON, in words that follow "takes".
pub(super) fn takes(argument: &Argument) -> String {
    if argument.is_json() {
        return "any JSON".to_owned();
    }
    let one = match argument.kind {
        Kind::Integer | Kind::Percent => argument.takes(),
        Kind::Choice if is_boolean(argument) => "true or false".to_owned(),
        Kind::Flag => "true or false".to_owned(),
        Kind::Pair => format!(
            "two languages, such as [\"en\", \"zh\"]: {}",
            argument.takes()
        ),
        _ => format!("a string: {}", argument.takes()),
    };
    match argument.many {
        Some(many) => format!("a list of at most {many}, each {one}"),
        None => one,
    }
}

fn wrong(argument: &Argument, given: &str) -> Problem {
    Problem::bad_argument(format!(
        "{} takes {}, given {}",
        argument.name,
        takes(argument),
        shortened(given)
    ))
}

/// What was given, as far as a sentence can hold it.
pub(super) fn shortened(given: &str) -> Cow<'_, str> {
    const SHOWN: usize = 64;
    if given.chars().nth(SHOWN).is_none() {
        return Cow::Borrowed(given);
    }
    let start: String = given.chars().take(SHOWN).collect();
    Cow::Owned(format!("{start}..."))
}
