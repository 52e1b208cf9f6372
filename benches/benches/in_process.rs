//! What is ours in Rust: making the bundle, and the library in the hosts that need no server.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use lockless_functions::{LIBRARY, bundle};
use lockless_lua_tests::{Error, Host, InProcess, Reply, Wasm};

const CELL: &[u8] = b"bench:{in_process}";

fn bundling(criterion: &mut Criterion) {
    let functions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../functions");
    criterion.bench_function("bundle", |bencher| {
        bencher.iter(|| bundle::bundle(black_box(&functions)).map(|text| text.len()));
    });
}

fn fcall(host: &mut dyn Host, function: &str, args: &[&str]) -> Result<Reply, Error> {
    let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
    host.fcall(function, &[CELL], &args)
}

fn register_100_nodes(host: &mut dyn Host) -> Result<(), Error> {
    for node in 0..100 {
        let node = format!("node-{node}");
        fcall(host, "lockless_register", &[&node, "4", "PAIR", "en", "zh"])?;
    }
    Ok(())
}

fn one_job(host: &mut dyn Host) -> Result<Reply, Error> {
    let args = ["session", "en", "zh", "{\"text\":\"hello\"}"];
    let granted = fcall(host, "lockless_dispatch", &args)?;
    let Reply::Array(items) = &granted else {
        return Ok(granted);
    };
    let words: Vec<String> = items
        .iter()
        .map(|item| match item {
            Reply::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        })
        .collect();
    let (node, job) = (&words[0], &words[1]);
    fcall(host, "lockless_ack", &[job, node])?;
    fcall(host, "lockless_complete", &[job, node, "finished"])
}

fn a_job(criterion: &mut Criterion, name: &str, host: Result<impl Host, Error>) {
    let ready = host.and_then(|mut host| register_100_nodes(&mut host).map(|()| host));
    let mut host = match ready {
        Ok(host) => host,
        Err(error) => panic!("the host did not start: {error}"),
    };
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| match one_job(&mut host) {
            Ok(Reply::Status(status)) => black_box(status),
            other => panic!("the job did not complete: {other:?}"),
        });
    });
}

fn jobs(criterion: &mut Criterion) {
    let name = |place: &str| format!("dispatch + ack + complete {place}");
    a_job(criterion, &name("in process"), InProcess::new(LIBRARY));
    a_job(criterion, &name("in the module"), Wasm::new(LIBRARY));
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = bundling, jobs
}
criterion_main!(benches);
