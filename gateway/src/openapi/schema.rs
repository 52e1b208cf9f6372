//! JSON schemas of arguments and replies.

use lockless_functions::api::{
    Argument, Field, FieldKind, Function, Kind, ReplyShape, Setting, SettingKind,
};
use serde_json::{Map, Value, json};

use crate::contract;
use crate::marshal::{WAIT_MS, is_boolean};

/// What an argument takes in a JSON body.
pub(super) fn argument(argument: &Argument) -> Value {
    let mut schema = if argument.is_json() {
        json!({})
    } else {
        let one = one(argument);
        match argument.many {
            Some(many) => json!({ "type": "array", "items": one, "maxItems": many }),
            None => one,
        }
    };
    schema["description"] = description(argument).into();
    schema["examples"] = json!([example(argument)]);
    if let Some(default) = argument.http_default.as_deref().filter(|word| *word != "-") {
        schema["default"] = match argument.kind {
            Kind::Integer => default.parse::<u64>().map_or(default.into(), Value::from),
            _ => default.into(),
        };
    }
    schema
}

/// What an argument takes in a query, where everything is text and a pair is `src:tgt`.
pub(super) fn parameter(given: &Argument) -> Value {
    let pair = json!({ "type": "string", "pattern": "^[^\\s:]+:[^\\s:]+$" });
    match (given.kind, given.many) {
        (Kind::Pair, Some(many)) => json!({ "type": "array", "items": pair, "maxItems": many }),
        (Kind::Pair, None) => pair,
        _ => argument(given),
    }
}

pub(super) fn description(argument: &Argument) -> String {
    let takes = argument.takes();
    match &argument.summary {
        Some(summary) => format!("{takes}; {summary}"),
        None => takes,
    }
}

fn one(argument: &Argument) -> Value {
    let (min, max) = argument.limits();
    // Lengths are in bytes, so those in characters are upper bounds; the library is exact.
    match argument.kind {
        Kind::Id | Kind::Cursor => {
            json!({ "type": "string", "minLength": min, "maxLength": max, "pattern": "^[^\\s\\u0000-\\u0020\\u007f]+$" })
        }
        Kind::Lang => language(argument),
        Kind::Bytes | Kind::Payload => json!({ "type": "string", "maxLength": max }),
        Kind::Integer => {
            let number = json!({ "type": "integer", "minimum": min, "maximum": max });
            if argument.dash {
                json!({ "anyOf": [number, { "const": "-" }] })
            } else {
                number
            }
        }
        Kind::Percent => {
            let number = json!({ "type": "number", "minimum": min, "maximum": max });
            if argument.minus_one {
                json!({ "anyOf": [number, { "const": -1 }] })
            } else {
                number
            }
        }
        Kind::Choice if is_boolean(argument) => json!({ "type": "boolean" }),
        Kind::Choice => json!({ "type": "string", "enum": argument.values }),
        Kind::Pair => {
            json!({ "type": "array", "items": language(argument), "minItems": 2, "maxItems": 2 })
        }
        Kind::Flag => json!({ "type": "boolean" }),
    }
}

fn language(argument: &Argument) -> Value {
    let (min, max) = argument.limits();
    json!({ "type": "string", "minLength": min, "maxLength": max, "pattern": "^[^\\s:\\u0000-\\u0020\\u007f]+$" })
}

/// A value that an argument takes.
pub fn example(argument: &Argument) -> Value {
    if argument.is_json() {
        return json!({ "text": "hello" });
    }
    let (min, max) = argument.limits();
    let one = match argument.kind {
        Kind::Id => format!("{}-1", argument.name.trim_end_matches('s')).into(),
        Kind::Lang if argument.name == "tgt" => "zh".into(),
        Kind::Lang => "en".into(),
        Kind::Pair => json!(["en", "zh"]),
        Kind::Integer => 5000.clamp(min, max).into(),
        Kind::Percent => 20.into(),
        Kind::Choice if is_boolean(argument) => true.into(),
        Kind::Choice => argument.values.first().cloned().into(),
        Kind::Cursor => "0".into(),
        Kind::Bytes | Kind::Payload => "a sentence".into(),
        Kind::Flag => true.into(),
    };
    match argument.many {
        Some(_) => json!([one]),
        None => one,
    }
}

/// The body of a request: the arguments that are not in the path.
pub(super) fn body(function: &Function, in_path: &[&str], wait_limit_ms: u64) -> (Value, bool) {
    if function.rest.is_some() {
        return (
            json!({ "$ref": "#/components/schemas/SettingsToChange" }),
            false,
        );
    }
    let mut properties = Map::new();
    let mut required = Vec::new();
    for given in function.args.iter().chain(&function.options) {
        if in_path.contains(&given.name.as_str()) {
            continue;
        }
        if given.is_required_over_http() {
            properties.insert(given.name.clone(), argument(given));
            required.push(given.name.as_str());
        } else {
            properties.insert(given.name.clone(), or_null(argument(given)));
        }
    }
    if function.wait.is_some() {
        properties.insert(WAIT_MS.to_owned(), wait_ms(wait_limit_ms));
    }
    let must_be_there = !required.is_empty();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if must_be_there {
        schema["required"] = json!(required);
    }
    (schema, must_be_there)
}

/// What may be absent may be null as well.
fn or_null(mut schema: Value) -> Value {
    if let Some(kind) = schema.get("type").and_then(Value::as_str) {
        schema["type"] = json!([kind, "null"]);
        if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            values.push(Value::Null);
        }
    } else if let Some(kinds) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        kinds.push(json!({ "type": "null" }));
    }
    schema
}

pub(super) fn wait_ms(limit: u64) -> Value {
    json!({
        "type": "integer",
        "minimum": 0,
        "maximum": limit,
        "default": 0,
        "description": "wait for news for so long before answering with nothing new",
    })
}

/// The body of an answer.
pub(super) fn reply(function: &Function) -> Value {
    match function.reply {
        ReplyShape::Ok => json!({ "$ref": "#/components/schemas/Ok" }),
        ReplyShape::Fields if function.rest.is_some() => {
            json!({ "$ref": "#/components/schemas/Settings" })
        }
        _ => object(&function.fields),
    }
}

/// An object of reply fields. A newer library may have more.
pub(super) fn object(fields: &[Field]) -> Value {
    let mut properties = Map::new();
    for field in fields {
        properties.insert(field.name.clone(), value(field));
        if field.kind == FieldKind::Json {
            properties.insert(
                format!("{}_encoding", field.name),
                json!({
                    "enum": ["text", "base64"],
                    "description": "present when a caller of FCALL gave what is no JSON: how it is shown here",
                }),
            );
        }
    }
    json!({ "type": "object", "properties": properties })
}

fn value(field: &Field) -> Value {
    match field.kind {
        FieldKind::Text => json!({ "type": "string" }),
        FieldKind::Integer => json!({ "type": ["integer", "null"] }),
        FieldKind::Number => json!({ "type": ["number", "null"] }),
        FieldKind::Boolean => json!({ "type": ["boolean", "null"] }),
        FieldKind::Json => json!({ "description": "as it was given; null when there is none" }),
        FieldKind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        FieldKind::Pairs => json!({
            "type": "array",
            "items": { "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 },
        }),
        FieldKind::Records => json!({
            "type": "array",
            "items": { "$ref": format!("#/components/schemas/{}", field.of.as_deref().unwrap_or_default()) },
        }),
    }
}

/// All settings, as they are read or as they may be changed.
pub(super) fn settings() -> Value {
    let properties: Map<String, Value> = contract::api()
        .settings
        .iter()
        .map(|setting| (setting.name.clone(), of_setting(setting)))
        .collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn of_setting(setting: &Setting) -> Value {
    let number = |kind| json!({ "type": kind, "minimum": setting.min, "maximum": setting.max });
    let mut schema = match setting.kind {
        SettingKind::Integer => number("integer"),
        SettingKind::Number => number("number"),
        SettingKind::Choice if setting.is_boolean() => json!({ "type": "boolean" }),
        SettingKind::Choice => json!({ "type": "string", "enum": setting.values }),
    };
    schema["description"] = format!("{} (default {})", setting.summary, setting.default).into();
    schema
}
