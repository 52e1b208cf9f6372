//! The OpenAPI document, made from the contract.

mod others;
mod schema;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lockless_functions::api::{Function, Mode};
use serde_json::{Map, Value, json};

use crate::contract::{self, Route};
use crate::problem::{self, MetBy, OWN};

pub use schema::example;

/// The document, version 3.1.
pub fn document(wait_limit_ms: u64) -> Value {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in contract::routes() {
        paths.entry(route.path).or_default().insert(
            route.method.as_str().to_lowercase(),
            operation(route, wait_limit_ms),
        );
    }
    let mut paths: Map<String, Value> = paths
        .into_iter()
        .map(|(path, operations)| (path.to_owned(), Value::Object(operations)))
        .collect();
    paths.extend(others::others());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Lockless",
            "version": lockless_functions::VERSION,
            "summary": contract::api().library.summary,
            "description": "One request is one call of the Redis Functions library. Names, limits and errors are those of the library.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of the role node, client or operator. A gateway without tokens takes none.",
                },
            },
            "parameters": parameters(),
            "schemas": schemas(),
        },
    })
}

fn operation(route: &Route, wait_limit_ms: u64) -> Value {
    let function = route.function;
    let in_path = &route.path_arguments;
    let mut parameters = vec![
        json!({ "$ref": "#/components/parameters/cell" }),
        json!({ "$ref": "#/components/parameters/request_id" }),
    ];
    if function.mode == Mode::Write {
        parameters.push(json!({ "$ref": "#/components/parameters/prefer" }));
    }
    let arguments = || function.args.iter().chain(&function.options);
    if arguments().any(|argument| argument.idempotency) {
        parameters.push(json!({ "$ref": "#/components/parameters/idempotency_key" }));
    }
    for argument in arguments() {
        let is_in_path = in_path.contains(&argument.name.as_str());
        let is_in_query = route.has_query() && route.takes_arguments;
        if !is_in_path && !is_in_query {
            continue;
        }
        parameters.push(json!({
            "name": argument.name,
            "in": if is_in_path { "path" } else { "query" },
            "required": is_in_path || argument.is_required_over_http(),
            "description": schema::description(argument),
            "schema": schema::parameter(argument),
        }));
    }
    if route.has_query() && function.wait.is_some() {
        parameters.push(json!({
            "name": crate::marshal::WAIT_MS, "in": "query", "schema": schema::wait_ms(wait_limit_ms),
        }));
    }
    let mut operation = json!({
        "operationId": route.operation_id(),
        "summary": function.summary,
        "description": roles(function),
        "tags": [route.subject()],
        "parameters": parameters,
        "responses": responses(function),
    });
    if !route.has_query() {
        let (schema, required) = schema::body(function, in_path, wait_limit_ms);
        operation["requestBody"] = json!({
            "required": required,
            "content": { "application/json": { "schema": schema } },
        });
    }
    operation
}

fn roles(function: &Function) -> String {
    let mut roles: Vec<String> = function.roles.iter().map(ToString::to_string).collect();
    roles.push("operator".to_owned());
    let mut text = format!(
        "`{}`. For tokens of the role {}.",
        function.name,
        roles.join(", ")
    );
    if let Some(stream) = &function.stream {
        let _ = write!(
            text,
            " With `Accept: text/event-stream` it goes on for as long as you read: each of `{}` is an event, from \
             `Last-Event-ID`, else `{}`, else from now on.",
            stream.list, stream.position
        );
    }
    text
}

/// What a function answers: its own errors, and those that any call may meet.
fn responses(function: &Function) -> Value {
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in &function.errors {
        by_status
            .entry(problem::status_of(code).as_u16())
            .or_default()
            .push(code);
    }
    for own in OWN.iter().filter(|own| own.met_by != MetBy::Anyone) {
        by_status
            .entry(own.status.as_u16())
            .or_default()
            .push(own.code);
    }
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        answered("done", "application/json", &schema::reply(function)),
    );
    for (status, codes) in by_status {
        let schema = json!({
            "allOf": [
                { "$ref": "#/components/schemas/Problem" },
                { "properties": { "code": { "enum": codes } } },
            ],
        });
        let answer = answered(&codes.join(", "), "application/problem+json", &schema);
        responses.insert(status.to_string(), answer);
    }
    Value::Object(responses)
}

fn answered(description: &str, media_type: &str, schema: &Value) -> Value {
    json!({ "description": description, "content": { media_type: { "schema": schema } } })
}

fn parameters() -> Value {
    let header = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "header", "description": description, "schema": schema });
    json!({
        "cell": header(
            "Lockless-Cell",
            "the cell, if not the gateway's default; the query parameter `cell` does the same",
            json!({ "type": "string", "examples": ["scheduler:{main}"] }),
        ),
        "request_id": header(
            "X-Request-Id",
            "names the request in the gateway's log; made up when absent, and always returned",
            json!({ "type": "string" }),
        ),
        "prefer": header(
            "Prefer",
            "`durability=replica`: answer only when a replica has confirmed the write",
            json!({ "type": "string", "examples": ["durability=replica"] }),
        ),
        "idempotency_key": header(
            "Idempotency-Key",
            "the job id or request id, if the body has none; made up when both are absent, and always returned",
            json!({ "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]+$" }),
        ),
    })
}

fn schemas() -> Value {
    let codes: Vec<&str> = contract::api()
        .errors
        .iter()
        .map(|error| error.code.as_str())
        .chain(OWN.iter().map(|own| own.code))
        .collect();
    let functions: Vec<&str> = contract::api()
        .functions
        .iter()
        .map(|function| function.name.as_str())
        .collect();
    let mut schemas = json!({
        "Ok": {
            "type": "object",
            "properties": { "ok": { "const": true } },
            "required": ["ok"],
        },
        "Problem": {
            "type": "object",
            "properties": {
                "type": { "type": "string", "format": "uri-reference" },
                "title": { "type": "string", "description": "what the code means" },
                "status": { "type": "integer" },
                "code": { "type": "string", "enum": codes },
                "detail": { "type": "string", "description": "a sentence about this case" },
            },
            "required": ["type", "title", "status", "code", "detail"],
        },
        "Settings": schema::settings(),
        "SettingsToChange": schema::settings(),
        "Batch": {
            "type": "object",
            "properties": {
                "calls": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": contract::BATCH_LIMIT,
                    "items": {
                        "type": "object",
                        "properties": {
                            "function": {
                                "type": "string",
                                "description": format!("one of {}", functions.join(", ")),
                            },
                            "arguments": {
                                "description": "an object of what the function takes, those of its path included",
                            },
                            "cell": { "type": ["string", "null"] },
                        },
                        "required": ["function"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["calls"],
            "additionalProperties": false,
        },
        "BatchResults": {
            "type": "object",
            "properties": {
                "results": {
                    "type": "array",
                    "description": "one for each call, in their order",
                    "items": {
                        "type": "object",
                        "properties": {
                            "status": { "type": "integer" },
                            "body": { "type": "object" },
                        },
                        "required": ["status", "body"],
                    },
                },
            },
            "required": ["results"],
        },
    });
    for record in &contract::api().records {
        schemas[&record.name] = schema::object(&record.fields);
    }
    schemas
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members
                    .values()
                    .for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_route_is_there_and_every_reference_leads_somewhere() {
        let document = document(1000);
        for route in contract::routes() {
            let method = route.method.as_str().to_lowercase();
            assert!(
                document["paths"][route.path][&method].is_object(),
                "{}",
                route.path
            );
        }
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 100);
        for reference in found {
            let place = reference.trim_start_matches('#');
            assert!(document.pointer(place).is_some(), "{reference}");
        }
    }

    #[test]
    fn what_may_be_absent_may_be_null_and_what_may_not_may_not() {
        let document = document(1000);
        let body =
            &document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"];
        let properties = &body["schema"]["properties"];
        assert_eq!(properties["session"]["type"], "string");
        assert_eq!(properties["pool"]["type"], json!(["string", "null"]));
        assert_eq!(properties["pool"].get("enum"), None);
        assert_eq!(body["schema"]["required"], json!(["session", "payload"]));
        let body = &document["paths"]["/v1/nodes/{node}/tick"]["post"]["requestBody"];
        let schema = &body["content"]["application/json"]["schema"];
        let sample = ["mem", "used_mb", "total_mb", "avail_mb", "swap", "cpu"];
        assert_eq!(schema["required"], json!(sample));
        assert_eq!(schema["properties"]["mem"]["type"], "number");
        let gpu = &schema["properties"]["gpu_used_mb"]["type"];
        assert_eq!(gpu, &json!(["integer", "null"]));
        assert_eq!(body["required"], true);
    }
}
