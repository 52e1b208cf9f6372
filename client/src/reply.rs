//! A function's reply as JSON.

use bytes::Bytes;
use lockless_functions::api::{Field, FieldKind, Function, Record, ReplyShape, SettingKind};
use serde_json::value::RawValue;

use crate::backend::Reply;

/// A reply that is not what the contract says.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{function} replied something else than its contract says{at}")]
pub struct Unexpected {
    function: String,
    at: String,
}

/// Writes a reply as a JSON object.
pub fn reply(function: &Function, reply: Reply) -> Result<Vec<u8>, Unexpected> {
    let mut out = Vec::with_capacity(128);
    write(function, reply, &mut out).map_err(|name| Unexpected {
        function: function.name.clone(),
        at: name.map(|name| format!(", in {name}")).unwrap_or_default(),
    })?;
    Ok(out)
}

/// Writes one record of a list, as JSON.
pub fn record(record: &Record, item: Reply) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(128);
    write_record(record, item, &mut out).ok()?;
    Some(out)
}

fn write_record(record: &Record, item: Reply, out: &mut Vec<u8>) -> Result<(), Wrong> {
    match (record.shape, item) {
        (ReplyShape::Fields, Reply::List(values)) => fields(&record.fields, values, out),
        (_, Reply::List(values)) => array(&record.fields, values, out),
        _ => Err(None),
    }
}

/// The name of the value that was not as expected.
type Wrong = Option<String>;

fn write(function: &Function, reply: Reply, out: &mut Vec<u8>) -> Result<(), Wrong> {
    match (function.reply, reply) {
        (ReplyShape::Ok, Reply::Bytes(_)) => out.extend_from_slice(b"{\"ok\":true}"),
        (ReplyShape::Integer, value @ Reply::Integer(_))
        | (ReplyShape::Value, value @ Reply::Bytes(_)) => {
            array(&function.fields, vec![value], out)?;
        }
        (ReplyShape::Array | ReplyShape::Page | ReplyShape::Listing, Reply::List(values)) => {
            array(&function.fields, values, out)?;
        }
        (ReplyShape::Fields, Reply::List(values)) if function.rest.is_some() => {
            settings(values, out)?;
        }
        (ReplyShape::Fields, Reply::List(values)) => fields(&function.fields, values, out)?,
        _ => return Err(None),
    }
    Ok(())
}

/// A list with a place for each name.
fn array(names: &[Field], values: Vec<Reply>, out: &mut Vec<u8>) -> Result<(), Wrong> {
    if values.len() != names.len() {
        return Err(None);
    }
    let mut object = Object::new(out);
    for (field, value) in names.iter().zip(values) {
        object.member(field, value)?;
    }
    object.end();
    Ok(())
}

/// A flat list of field and value. One the contract does not know, of a newer library, is left out.
fn fields(known: &[Field], values: Vec<Reply>, out: &mut Vec<u8>) -> Result<(), Wrong> {
    let mut object = Object::new(out);
    let mut expected = known.iter();
    let mut values = values.into_iter();
    while let (Some(name), Some(value)) = (values.next(), values.next()) {
        let Reply::Bytes(name) = name else {
            return Err(None);
        };
        // They come in the order of the contract, so the next one is nearly always the right one.
        let next = expected
            .next()
            .filter(|field| field.name.as_bytes() == name);
        let field = next.or_else(|| known.iter().find(|field| field.name.as_bytes() == name));
        if let Some(field) = field {
            object.member(field, value)?;
        }
    }
    object.end();
    Ok(())
}

fn settings(values: Vec<Reply>, out: &mut Vec<u8>) -> Result<(), Wrong> {
    let mut object = Object::new(out);
    let mut values = values.into_iter();
    while let (Some(Reply::Bytes(name)), Some(value)) = (values.next(), values.next()) {
        let known = lockless_functions::contract()
            .settings
            .iter()
            .find(|setting| setting.name.as_bytes() == name);
        let Some(setting) = known else { continue };
        let kind = match setting.kind {
            SettingKind::Integer => FieldKind::Integer,
            SettingKind::Number => FieldKind::Number,
            SettingKind::Choice if setting.is_boolean() => FieldKind::Boolean,
            SettingKind::Choice => FieldKind::Text,
        };
        object.name(&setting.name);
        scalar(kind, value, object.out).ok_or_else(|| Some(setting.name.clone()))?;
    }
    object.end();
    Ok(())
}

/// A JSON object that is being written.
struct Object<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> Object<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self {
            out,
            is_empty: true,
        }
    }

    /// Names come from the contract, and need no escapes.
    fn name(&mut self, name: &str) {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn member(&mut self, field: &Field, value: Reply) -> Result<(), Wrong> {
        let wrong = || Some(field.name.clone());
        self.name(&field.name);
        match (field.kind, value) {
            (FieldKind::Json, Reply::Bytes(bytes)) => {
                if let Some(encoding) = json(&bytes, self.out) {
                    self.name(&format!("{}_encoding", field.name));
                    string(encoding.as_bytes(), self.out);
                }
            }
            (FieldKind::Records, Reply::List(items)) => {
                let record = field
                    .of
                    .as_deref()
                    .and_then(|of| lockless_functions::contract().record(of));
                let record = record.ok_or_else(wrong)?;
                list(self.out, items, |item, out| {
                    write_record(record, item, out).map_err(|name| name.or_else(wrong))
                })?;
            }
            (FieldKind::Texts, Reply::List(items)) => {
                list(self.out, items, |item, out| {
                    scalar(FieldKind::Text, item, out).ok_or_else(wrong)
                })?;
            }
            (FieldKind::Pairs, Reply::List(items)) => {
                list(self.out, items, |item, out| {
                    pair(item, out).ok_or_else(wrong)
                })?;
            }
            (kind, value) => scalar(kind, value, self.out).ok_or_else(wrong)?,
        }
        Ok(())
    }

    fn end(self) {
        self.out.push(b'}');
    }
}

fn list(
    out: &mut Vec<u8>,
    items: Vec<Reply>,
    mut write: impl FnMut(Reply, &mut Vec<u8>) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(item, out)?;
    }
    out.push(b']');
    Ok(())
}

fn pair(value: Reply, out: &mut Vec<u8>) -> Option<()> {
    let Reply::Bytes(bytes) = value else {
        return None;
    };
    let middle = bytes.iter().position(|byte| *byte == b':')?;
    out.push(b'[');
    string(&bytes[..middle], out);
    out.push(b',');
    string(&bytes[middle + 1..], out);
    out.push(b']');
    Some(())
}

/// A value that is no list. One that does not apply is empty, and becomes `null`.
fn scalar(kind: FieldKind, value: Reply, out: &mut Vec<u8>) -> Option<()> {
    match (kind, value) {
        (FieldKind::Boolean, Reply::Integer(value)) => boolean(value != 0, out),
        (FieldKind::Boolean, Reply::Bytes(word)) => match word.as_ref() {
            b"true" => boolean(true, out),
            b"false" => boolean(false, out),
            b"" => out.extend_from_slice(b"null"),
            _ => return None,
        },
        (FieldKind::Integer | FieldKind::Number, Reply::Integer(value)) => {
            out.extend_from_slice(value.to_string().as_bytes());
        }
        (FieldKind::Integer | FieldKind::Number, Reply::Bytes(text)) if text.is_empty() => {
            out.extend_from_slice(b"null");
        }
        (FieldKind::Integer | FieldKind::Number, Reply::Bytes(text)) => {
            let number: f64 = std::str::from_utf8(&text).ok()?.parse().ok()?;
            serde_json::to_writer(&mut *out, &number_of(number)?).ok()?;
        }
        (FieldKind::Text, Reply::Bytes(text)) => string(&text, out),
        (FieldKind::Text, Reply::Integer(value)) => string(value.to_string().as_bytes(), out),
        _ => return None,
    }
    Some(())
}

/// Whole numbers are written without a fraction.
fn number_of(number: f64) -> Option<serde_json::Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is whole and within the range"
        )]
        return Some((number as i64).into());
    }
    serde_json::Number::from_f64(number)
}

fn boolean(value: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Text as a JSON string. Ids may be any bytes; what is not UTF-8 can't be shown in JSON, and is replaced.
fn string(text: &[u8], out: &mut Vec<u8>) {
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) && *byte != b'"' && *byte != b'\\';
    if text.iter().all(plain) {
        out.push(b'"');
        out.extend_from_slice(text);
        out.push(b'"');
        return;
    }
    // Writing text into memory does not fail.
    let _ = serde_json::to_writer(out, &String::from_utf8_lossy(text));
}

/// What a caller gave, byte for byte. Callers of FCALL may give what is no JSON: it becomes a string, and the encoding
/// to be told beside it is returned.
fn json(bytes: &Bytes, out: &mut Vec<u8>) -> Option<&'static str> {
    if bytes.is_empty() {
        out.extend_from_slice(b"null");
        return None;
    }
    if serde_json::from_slice::<&RawValue>(bytes).is_ok() {
        out.extend_from_slice(bytes);
        return None;
    }
    if std::str::from_utf8(bytes).is_ok() {
        string(bytes, out);
        return Some("text");
    }
    string(data_encoding::BASE64.encode(bytes).as_bytes(), out);
    Some("base64")
}

#[cfg(test)]
mod tests;
