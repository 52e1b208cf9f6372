//! What is ours in Rust between HTTP and Redis: finding the route, JSON to arguments, replies to JSON.

use std::borrow::Cow;
use std::hint::black_box;

use bytes::Bytes;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use hyper::Method;
use lockless_client::backend::Reply;
use lockless_client::reply;
use lockless_functions::api::Function;
use lockless_gateway::contract;
use lockless_gateway::marshal::{Fields, Given, arguments};

const DISPATCH: &str = r#"{"session":"session-1","src":"en","tgt":"zh","payload":{"text":"hello, world","voice":"b2","speed":1.0},"job":"job-1","require":["gpu","fast"]}"#;
const COMPLETE: &str =
    r#"{"node":"node-000001","status":"finished","result":{"text":"bonjour","ms":120}}"#;

fn function(name: &str) -> &'static Function {
    let all = &contract::api().functions;
    match all.iter().find(|function| function.name == name) {
        Some(function) => function,
        None => panic!("the contract has no {name}"),
    }
}

fn routing(criterion: &mut Criterion) {
    for (name, method, path) in [
        ("dispatch", Method::POST, "/v1/jobs"),
        ("complete", Method::POST, "/v1/jobs/job-1/complete"),
        (
            "a node with escapes in its name",
            Method::GET,
            "/v1/nodes/node%20of%20mine",
        ),
    ] {
        criterion.bench_function(&format!("route of {name}"), |bencher| {
            bencher.iter(
                || match contract::find(black_box(&method), black_box(path)) {
                    Ok(found) => found.arguments.len(),
                    Err(_) => panic!("{path} has no route"),
                },
            );
        });
    }
}

fn to_arguments(criterion: &mut Criterion) {
    for (name, method, path, body) in [
        ("dispatch", Method::POST, "/v1/jobs", DISPATCH.to_owned()),
        (
            "dispatch with a payload of 1 KiB",
            Method::POST,
            "/v1/jobs",
            DISPATCH.replace("hello, world", &"x".repeat(1000)),
        ),
        (
            "complete",
            Method::POST,
            "/v1/jobs/job-1/complete",
            COMPLETE.to_owned(),
        ),
    ] {
        let body = Bytes::from(body);
        let Ok(found) = contract::find(&method, path) else {
            panic!("{path} has no route");
        };
        criterion.bench_function(&format!("JSON to arguments of {name}"), |bencher| {
            bencher.iter_batched(
                || found.arguments.clone(),
                |in_path| match marshalled(found.route.function, in_path, black_box(&body)) {
                    Ok(count) => count,
                    Err(problem) => panic!("{name} was refused: {problem:?}"),
                },
                BatchSize::SmallInput,
            );
        });
    }
}

fn marshalled(
    function: &'static Function,
    in_path: Vec<(&'static str, Cow<'_, str>)>,
    body: &Bytes,
) -> Result<usize, lockless_gateway::problem::Problem> {
    let given = Given {
        path: in_path,
        fields: Fields::from_json(body)?,
        key: None,
        wait_limit_ms: 20_000,
        body,
    };
    let done = arguments(function, given, || "fresh".to_owned())?;
    Ok(done.arguments.len())
}
fn to_json(criterion: &mut Criterion) {
    let bytes = |text: &str| Reply::Bytes(Bytes::copy_from_slice(text.as_bytes()));
    let granted = Reply::List(vec![bytes("node-000001"), bytes("job-1")]);
    let beat = Reply::List(vec![
        bytes("state"),
        bytes("ready"),
        bytes("held"),
        Reply::Integer(2),
        bytes("foreign"),
        Reply::Integer(0),
        bytes("stop"),
        Reply::List(Vec::new()),
    ]);
    for (name, made) in [("lockless_dispatch", granted), ("lockless_heartbeat", beat)] {
        let function = function(name);
        criterion.bench_function(&format!("reply of {name} to JSON"), |bencher| {
            bencher.iter(|| match reply::reply(function, black_box(made.clone())) {
                Ok(json) => json.len(),
                Err(wrong) => panic!("{wrong}"),
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(50);
    targets = routing, to_arguments, to_json
}
criterion_main!(benches);
