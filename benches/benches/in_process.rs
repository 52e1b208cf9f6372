//! What is ours in Rust: making the bundle, and the library in the hosts that need no server.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use lockless_functions::{LIBRARY, bundle};
use lockless_lua_tests::{Error, Host, InProcess, Reply, Wasm};

const CELL: &[u8] = b"bench:{in_process}";
/// Time that passes with each job. Records of finished jobs are kept for ten minutes, so some thousands of them are there at a time, and
/// not all that were ever made.
const JOB_MS: u64 = 100;
/// So many jobs, and the nodes say that they are there: well within the 30 s for which a heartbeat is good.
const JOBS_PER_BEAT: usize = 200;
const NODES: usize = 100;

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

fn register_nodes(host: &mut dyn Host) -> Result<(), Error> {
    for node in 0..NODES {
        let node = format!("node-{node}");
        fcall(host, "lockless_register", &[&node, "4", "PAIR", "en", "zh"])?;
    }
    Ok(())
}

/// Lets time pass before the job of this number.
fn pass_time(host: &mut dyn Host, job: usize) -> Result<(), Error> {
    host.pass_time(JOB_MS)?;
    if job.is_multiple_of(JOBS_PER_BEAT) {
        for node in 0..NODES {
            fcall(host, "lockless_heartbeat", &[&format!("node-{node}")])?;
        }
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
    let ready = host.and_then(|mut host| register_nodes(&mut host).map(|()| host));
    let mut host = match ready {
        Ok(host) => host,
        Err(error) => panic!("the host did not start: {error}"),
    };
    let mut job = 0;
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|jobs| {
            let mut spent = Duration::ZERO;
            for _ in 0..jobs {
                job += 1;
                if let Err(error) = pass_time(&mut host, job) {
                    panic!("time did not pass: {error}");
                }
                let begin = Instant::now();
                let done = one_job(&mut host);
                spent += begin.elapsed();
                assert!(
                    matches!(black_box(&done), Ok(Reply::Status(_))),
                    "the job did not complete: {done:?}"
                );
            }
            spent
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
