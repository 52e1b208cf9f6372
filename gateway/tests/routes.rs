//! Every route of the contract, none left out: what it answers, what it refuses, and who may call it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::collections::BTreeSet;

use lockless_functions::api::{Argument, FieldKind, Function, Kind, ReplyShape, Role};
use lockless_gateway::contract::{self, Route};
use lockless_gateway::openapi::example;
use lockless_servers::Cluster;
use serde_json::{Map, Value, json};
use support::{Answer, Gateway, Host, a_cell, load};

support::on_each_host!(
    every_route_answers_what_the_contract_says,
    every_route_refuses_what_it_does_not_take,
    every_argument_refuses_another_type_and_names_itself,
    only_those_who_may_are_served,
);

/// A node, and what the route is about: a job on it, a session that is bound to it, or a deployment. Returns what only Redis could know.
fn prepare(gateway: &Gateway, cell: &str, route: &Route) -> Map<String, Value> {
    let call = |method, path: &str, body: Value| {
        let headers = [("lockless-cell", cell)];
        gateway
            .send(method, path, &headers, Some(&body.to_string()))
            .ok()
    };
    call(
        "PUT",
        "/v1/nodes/node-1",
        json!({
            "max_jobs": 4, "pairs": [["en", "zh"]], "region": "region-1",
            "pools": ["default", "pool-1"], "labels": ["require-1"],
        }),
    );
    let mut known = Map::new();
    let submit = || {
        call(
            "POST",
            "/v1/queue",
            json!({ "job": "job-1", "payload": 1, "retries": 0 }),
        )
    };
    let pull = || call("POST", "/v1/nodes/node-1/pull", json!({}));
    match route.function.name.as_str() {
        "lockless_pull" | "lockless_tick" => {
            submit();
        }
        "lockless_stopped" => {
            submit();
            pull();
        }
        "lockless_retry" => {
            submit();
            pull();
            let failed = json!({ "node": "node-1", "status": "failed" });
            call("POST", "/v1/jobs/job-1/complete", failed);
        }
        "lockless_undeploy" | "lockless_claim" | "lockless_deployment" | "lockless_deployments" => {
            let deployment = json!({ "spec": { "argv": ["serve"] }, "pool": "pool-1" });
            call("PUT", "/v1/deployments/id-1", deployment);
        }
        _ if route.path_arguments.contains(&"job") => {
            let job =
                json!({ "session": "session-1", "payload": { "text": "hello" }, "job": "job-1" });
            call("POST", "/v1/jobs", job);
        }
        _ => {}
    }
    if route.path_arguments.contains(&"session") {
        let bound = call("PUT", "/v1/sessions/session-1/binding", json!({}));
        known.insert("lease_id".to_owned(), bound["lease_id"].clone());
    }
    known
}

/// The request of a route with the examples of these arguments.
fn request(route: &Route, wanted: impl Fn(&Argument) -> bool) -> (String, Map<String, Value>) {
    let in_path = &route.path_arguments;
    let mut path = route.path.to_owned();
    let mut rest = Map::new();
    for argument in route.function.args.iter().chain(&route.function.options) {
        let value = example(argument);
        if in_path.contains(&argument.name.as_str()) {
            path = path.replace(&format!("{{{}}}", argument.name), value.as_str().unwrap());
        } else if wanted(argument) && route.takes_arguments {
            rest.insert(argument.name.clone(), value);
        }
    }
    (path, rest)
}

fn send(
    gateway: &Gateway,
    route: &Route,
    headers: &[(&str, &str)],
    (path, rest): &(String, Map<String, Value>),
) -> Answer {
    if !route.has_query() {
        let body = Value::Object(rest.clone()).to_string();
        return gateway.send(route.method.as_str(), path, headers, Some(&body));
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in rest {
        let values = value
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![value.clone()]);
        for value in values {
            query.append_pair(
                name,
                &value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned),
            );
        }
    }
    let path = format!("{path}?{}", query.finish());
    gateway.send(route.method.as_str(), &path, headers, None)
}

fn name_of(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

/// The names in a reply that the contract promises.
fn promised(function: &Function) -> BTreeSet<String> {
    match function.reply {
        ReplyShape::Ok => BTreeSet::from(["ok".to_owned()]),
        ReplyShape::Fields if function.rest.is_some() => contract::api()
            .settings
            .iter()
            .map(|setting| setting.name.clone())
            .collect(),
        _ => function
            .fields
            .iter()
            .map(|field| field.name.clone())
            .collect(),
    }
}

fn fits(kind: FieldKind, value: &Value) -> bool {
    match kind {
        FieldKind::Text => value.is_string(),
        FieldKind::Integer => value.is_i64() || value.is_null(),
        FieldKind::Number => value.is_number() || value.is_null(),
        FieldKind::Boolean => value.is_boolean() || value.is_null(),
        FieldKind::Json => true,
        FieldKind::Texts => value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_string)),
        FieldKind::Pairs | FieldKind::Records => value.is_array(),
    }
}

/// Lists of records hold what the contract says of them.
fn every_item_fits(record: &str, items: &Value, name: &str) {
    let record = contract::api().record(record).unwrap();
    for item in items.as_array().unwrap() {
        for field in &record.fields {
            let value = &item[&field.name];
            assert!(fits(field.kind, value), "{name}: {} is {value}", field.name);
        }
    }
}

fn every_route_answers_what_the_contract_says(host: &Host) {
    all_answer(&host.gateway(&[]));
}

#[test]
fn every_route_answers_so_on_a_cluster() {
    let cluster = Cluster::start(3).unwrap();
    for url in cluster.urls() {
        load(&url, lockless_functions::LIBRARY);
    }
    all_answer(&Gateway::start(&cluster.urls()[0], &[]));
}

fn all_answer(gateway: &Gateway) {
    for route in contract::routes() {
        // Numbers that the cell drew, and of a deployment the node that has it, are not for a table to know.
        let all = request(route, |argument| {
            !["incarnation", "attempt"].contains(&argument.name.as_str())
                && (argument.name != "node" || route.function.name != "lockless_deployment")
        });
        for mut given in [request(route, Argument::is_required_over_http), all] {
            let cell = a_cell();
            for (name, value) in prepare(gateway, &cell, route) {
                given.1.entry(name).and_modify(|example| *example = value);
            }
            let answer = send(gateway, route, &[("lockless-cell", &cell)], &given);
            let name = name_of(route);
            assert_eq!(answer.status, 200, "{name} {given:?}: {answer:?}");
            assert_eq!(answer.header("content-type"), "application/json", "{name}");
            let body = answer.json();
            let names: BTreeSet<String> = body.as_object().unwrap().keys().cloned().collect();
            assert_eq!(names, promised(route.function), "{name}");
            for field in &route.function.fields {
                let value = &body[&field.name];
                assert!(fits(field.kind, value), "{name}: {} is {value}", field.name);
                if let Some(record) = &field.of {
                    every_item_fits(record, value, &name);
                }
            }
        }
    }
}

fn every_route_refuses_what_it_does_not_take(host: &Host) {
    let gateway = host.gateway(&[]);
    for route in contract::routes() {
        let cell = a_cell();
        let headers = [("lockless-cell", cell.as_str())];
        let name = name_of(route);
        let (path, mut rest) = request(route, Argument::is_required_over_http);
        rest.insert("colour".to_owned(), "red".into());
        let answer = send(&gateway, route, &headers, &(path.clone(), rest.clone()));
        answer.refused(400, "BAD_ARGUMENT");
        assert!(answer.text.contains("colour"), "{name}: {answer:?}");
        rest.remove("colour");
        for argument in route
            .function
            .args
            .iter()
            .chain(&route.function.options)
            .filter(|argument| rest.contains_key(&argument.name))
        {
            let mut without = rest.clone();
            without.remove(&argument.name);
            let answer = send(&gateway, route, &headers, &(path.clone(), without));
            answer.refused(400, "BAD_ARGUMENT");
            assert!(
                answer
                    .text
                    .contains(&format!("{} is missing", argument.name)),
                "{name}: {answer:?}"
            );
        }
    }
}

fn every_argument_refuses_another_type_and_names_itself(host: &Host) {
    let gateway = host.gateway(&[]);
    for route in contract::routes().iter().filter(|route| !route.has_query()) {
        let arguments = route.function.args.iter().chain(&route.function.options);
        let in_path = &route.path_arguments;
        for argument in arguments.filter(|argument| !argument.is_json()) {
            if in_path.contains(&argument.name.as_str()) {
                continue;
            }
            let wrong = match argument.kind {
                Kind::Integer | Kind::Percent => json!("many"),
                _ => json!(17),
            };
            for wrong in [wrong, json!({ "a": 1 })] {
                let (path, mut rest) = request(route, Argument::is_required_over_http);
                rest.insert(argument.name.clone(), wrong);
                let answer = send(&gateway, route, &[], &(path, rest));
                answer.refused(400, "BAD_ARGUMENT");
                let detail = answer.json()["detail"].as_str().unwrap().to_owned();
                assert!(
                    detail.starts_with(&argument.name),
                    "{}: {detail}",
                    name_of(route)
                );
            }
        }
    }
}

fn only_those_who_may_are_served(host: &Host) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokens");
    let mut lines = String::new();
    let mut make = |role: &str, name: &str, node: Option<&str>| {
        let role = Role::from_word(role).unwrap();
        let (secret, line) = lockless_gateway::auth::generate(role, name, node).unwrap();
        lines.push_str(&format!("{line}\n"));
        secret
    };
    let node = make("node", "any-node", None);
    let own_node = make("node", "node-1", Some("node-1"));
    let other_node = make("node", "node-2", Some("node-2"));
    let client = make("client", "a-client", None);
    let operator = make("operator", "an-operator", None);
    std::fs::write(&file, &lines).unwrap();
    let gateway = host.gateway(&["--tokens", file.to_str().unwrap()]);

    for route in contract::routes() {
        let function = route.function;
        let may = |role: Role| role == Role::Operator || function.roles.contains(&role);
        let names_node = function.args.iter().any(|argument| argument.name == "node");
        let rows = [
            (Some(&node), may(Role::Node)),
            (Some(&own_node), may(Role::Node) && names_node),
            (Some(&other_node), false),
            (Some(&client), may(Role::Client)),
            (Some(&operator), true),
        ];
        let given = request(route, Argument::is_required_over_http);
        let cell = a_cell();
        for (secret, allowed) in rows {
            let bearer = format!("Bearer {}", secret.unwrap());
            let headers = [
                ("lockless-cell", cell.as_str()),
                ("authorization", bearer.as_str()),
            ];
            let answer = send(&gateway, route, &headers, &given);
            if allowed {
                assert!(
                    ![401, 403].contains(&answer.status),
                    "{}: {answer:?}",
                    name_of(route)
                );
            } else {
                answer.refused(403, "FORBIDDEN");
            }
        }
        let cell = ("lockless-cell", cell.as_str());
        for header in [
            None,
            Some(""),
            Some("Bearer"),
            Some("Bearer wrong"),
            Some("Basic bm9kZTp4"),
            Some(&operator),
        ] {
            let mut headers = vec![cell];
            headers.extend(header.map(|value| ("authorization", value)));
            let answer = send(&gateway, route, &headers, &given);
            answer.refused(401, "UNAUTHENTICATED");
            assert!(answer.header("www-authenticate").starts_with("Bearer"));
        }
    }
    for secret in [node, own_node, other_node, client, operator] {
        assert!(!gateway.log().contains(&secret), "a token is in the log");
    }
    for line in lines.lines() {
        let hash = line.split("sha256:").nth(1).unwrap();
        assert!(!gateway.log().contains(hash.trim()), "a hash is in the log");
    }
}
