//! Prints what the gateway costs: beside webdis, beside calls without a gateway, and in memory.
//!
//! `cargo run -p lockless-benches --release --bin gateway-costs [-- --quick]`

use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use lockless_benches::http::Connection;
use lockless_benches::link::Server;
use lockless_benches::processes::{Gateway, Webdis, build};
use lockless_benches::report::{Report, Target};
use lockless_benches::rounds::{Compared, compare};
use lockless_benches::{Error, failed};
use lockless_functions::LIBRARY;
use redis::aio::MultiplexedConnection;
use tokio::runtime::Runtime;

const CELL: &str = "scheduler:{main}";
const CONNECTIONS: usize = 50;
/// As many as the gateway has.
const POOL: usize = 2;
const WAITING: usize = 5000;
const NODES: usize = 64;

/// What the gateway costs. Everything is measured in turn on private servers.
#[derive(Parser)]
struct Arguments {
    /// Fewer and shorter rounds
    #[arg(long)]
    quick: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Error> {
    let (rounds, seconds) = if arguments.quick { (3, 2) } else { (7, 5) };
    let runtime = Runtime::new().map_err(failed("a runtime"))?;
    let server = Server::start(&[LIBRARY])?;
    let mut report = Report::default();
    let program = build()?;

    let gateway = Gateway::start(&program, server.port())?;
    println!("\nMemory of the gateway, MiB");
    report.measured("idle", gateway.resident_mib()?, Target::AtMost(30.0));
    beside_webdis(&server, &gateway, rounds, seconds, &mut report)?;
    beside_direct_calls(&runtime, &server, &gateway, rounds, seconds, &mut report)?;
    drop(gateway);

    let gateway = Gateway::start(&program, server.port())?;
    println!("\nMemory of the gateway, MiB");
    let waiting = runtime.block_on(with_long_polls(&gateway))?;
    report.measured(
        &format!("with {WAITING} waiting long polls"),
        waiting,
        Target::AtMost(100.0),
    );
    report.close();
    Ok(())
}

/// The same call with wrk, through the gateway and through webdis.
fn beside_webdis(
    server: &Server,
    gateway: &Gateway,
    rounds: usize,
    seconds: u64,
    report: &mut Report,
) -> Result<(), Error> {
    let webdis = match Webdis::start(server.port()) {
        Ok(webdis) => webdis,
        Err(missing) => {
            println!("\nNot compared with webdis: {missing}");
            return Ok(());
        }
    };
    let ours = format!("http://127.0.0.1:{}/v1/version", gateway.port);
    let theirs = format!(
        "http://127.0.0.1:{}/FCALL/lockless_version/1/{CELL}",
        webdis.port
    )
    .replace('{', "%7B")
    .replace('}', "%7D");
    Report::comparisons(
        &format!(
            "Requests per second, one small FCALL, wrk with {CONNECTIONS} connections that are kept"
        ),
        "gateway",
        "webdis",
    );
    let sides = compare(rounds, || wrk(&ours, seconds), || wrk(&theirs, seconds))?;
    report.compared("lockless_version", sides, Some(Target::AtLeast(1.0)));
    Ok(())
}

/// Dispatch and complete over HTTP, and with the gateway's own Redis client without a gateway.
fn beside_direct_calls(
    runtime: &Runtime,
    server: &Server,
    gateway: &Gateway,
    rounds: usize,
    seconds: u64,
    report: &mut Report,
) -> Result<(), Error> {
    let time = Duration::from_secs(seconds);
    let direct = runtime.block_on(direct_clients(server.port()))?;
    runtime.block_on(async {
        // The nodes say nothing while calls are counted.
        let mut patience = redis::cmd("FCALL");
        patience.arg("lockless_config").arg(1).arg(CELL);
        patience.arg("heartbeat_ttl_ms").arg(1_800_000);
        let set = patience.exec_async(&mut direct[0].clone()).await;
        set.map_err(command("lockless_config"))?;
        for node in 0..NODES {
            let mut register = redis::cmd("FCALL");
            register
                .arg("lockless_register")
                .arg(1)
                .arg(CELL)
                .arg(format!("n{node}"))
                .arg(1000);
            let mut connection = direct[0].clone();
            register
                .exec_async(&mut connection)
                .await
                .map_err(command("lockless_register"))?;
        }
        Ok::<_, Error>(())
    })?;
    Report::comparisons(
        &format!("Jobs per second, dispatch + complete, {CONNECTIONS} callers"),
        "gateway",
        "direct",
    );
    let ids = Arc::new(AtomicU64::new(0));
    let sides: Compared = compare(
        rounds,
        || runtime.block_on(jobs_over_http(gateway.port, time, &ids)),
        || runtime.block_on(jobs_directly(&direct, time, &ids)),
    )?;
    report.compared(
        "HTTP, to the same client without a gateway",
        sides,
        Some(Target::AtLeast(0.6)),
    );
    Ok(())
}

async fn direct_clients(port: u16) -> Result<Vec<MultiplexedConnection>, Error> {
    let client =
        redis::Client::open(format!("redis://127.0.0.1:{port}")).map_err(command("a client"))?;
    let mut clients = Vec::new();
    for _ in 0..POOL {
        let connection = client.get_multiplexed_async_connection().await;
        clients.push(connection.map_err(command("a connection"))?);
    }
    Ok(clients)
}

async fn jobs_over_http(port: u16, time: Duration, ids: &Arc<AtomicU64>) -> Result<f64, Error> {
    let begin = Instant::now();
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = Connection::open(port)
            .await
            .map_err(failed("a connection"))?;
        let ids = Arc::clone(ids);
        callers.push(tokio::spawn(async move {
            let mut jobs = 0_u32;
            while begin.elapsed() < time {
                let job = format!("b{}", ids.fetch_add(1, Ordering::Relaxed));
                let body =
                    format!(r#"{{"session":"s","payload":{{"text":"hello"}},"job":"{job}"}}"#);
                let reply = connection.ask("POST", "/v1/jobs", &body).await?;
                let node = node_of(reply)
                    .ok_or_else(|| std::io::Error::other("no node_id in the answer"))?;
                let body = format!(r#"{{"node":"{node}","status":"finished"}}"#);
                connection
                    .ask("POST", &format!("/v1/jobs/{job}/complete"), &body)
                    .await?;
                jobs += 1;
            }
            Ok::<u32, std::io::Error>(jobs)
        }));
    }
    let mut jobs = 0;
    for caller in callers {
        jobs += caller
            .await
            .map_err(failed("a caller"))?
            .map_err(failed("a call over HTTP"))?;
    }
    Ok(f64::from(jobs) / begin.elapsed().as_secs_f64())
}

/// The node in `{"node_id":"n1","job_id":"b1"}`.
fn node_of(reply: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(reply).ok()?;
    text.split('"').nth(3).map(str::to_owned)
}

async fn jobs_directly(
    clients: &[MultiplexedConnection],
    time: Duration,
    ids: &Arc<AtomicU64>,
) -> Result<f64, Error> {
    let begin = Instant::now();
    let callers: Vec<_> = (0..CONNECTIONS)
        .map(|caller| {
            let mut connection = clients[caller % clients.len()].clone();
            let ids = Arc::clone(ids);
            tokio::spawn(async move {
                let mut jobs = 0_u32;
                while begin.elapsed() < time {
                    let job = format!("b{}", ids.fetch_add(1, Ordering::Relaxed));
                    let mut dispatch = redis::cmd("FCALL");
                    dispatch
                        .arg("lockless_dispatch")
                        .arg(1)
                        .arg(CELL)
                        .arg("s")
                        .arg("-")
                        .arg("-");
                    dispatch.arg(r#"{"text":"hello"}"#).arg("JOB").arg(&job);
                    let (node, _): (String, String) = dispatch.query_async(&mut connection).await?;
                    let mut complete = redis::cmd("FCALL");
                    complete
                        .arg("lockless_complete")
                        .arg(1)
                        .arg(CELL)
                        .arg(&job)
                        .arg(node)
                        .arg("finished");
                    complete.exec_async(&mut connection).await?;
                    jobs += 1;
                }
                Ok::<u32, redis::RedisError>(jobs)
            })
        })
        .collect();
    let mut jobs = 0;
    for caller in callers {
        jobs += caller
            .await
            .map_err(failed("a caller"))?
            .map_err(command("a direct call"))?;
    }
    Ok(f64::from(jobs) / begin.elapsed().as_secs_f64())
}

/// The gateway's memory while so many nodes wait, each on a connection of its own.
async fn with_long_polls(gateway: &Gateway) -> Result<f64, Error> {
    let wanted = u64::try_from(WAITING + 1000).unwrap_or(u64::MAX);
    rlimit::increase_nofile_limit(wanted).map_err(failed("enough open files"))?;
    let mut first = Connection::open(gateway.port)
        .await
        .map_err(failed("a connection"))?;
    let mut waiting = Vec::with_capacity(WAITING);
    for node in 0..WAITING {
        let path = format!("/v1/nodes/w{node}");
        first
            .ask("PUT", &path, "{}")
            .await
            .map_err(failed("a node"))?;
        let mut connection = Connection::open(gateway.port)
            .await
            .map_err(failed("a connection"))?;
        let sent = connection
            .send("POST", &format!("{path}/take"), r#"{"wait_ms":60000}"#)
            .await;
        sent.map_err(failed("a take"))?;
        waiting.push(connection);
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let page = first
            .ask("GET", "/metrics", "")
            .await
            .map_err(failed("/metrics"))?;
        let page = String::from_utf8_lossy(page);
        let count = page
            .lines()
            .find_map(|line| line.strip_prefix("lockless_long_polls "));
        if count.and_then(|count| count.parse().ok()) == Some(WAITING) {
            return gateway.resident_mib();
        }
        if Instant::now() > deadline {
            return Err(Error::unexpected("/metrics", &count));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn wrk(url: &str, seconds: u64) -> Result<f64, Error> {
    let output = Command::new("wrk")
        .args([
            "-t2",
            &format!("-c{CONNECTIONS}"),
            &format!("-d{seconds}s"),
            url,
        ])
        .output()
        .map_err(failed("wrk (Debian: apt-get install wrk)"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Requests/sec:"))
        .and_then(|rate| rate.trim().parse().ok());
    match rate {
        Some(rate) if !text.contains("Non-2xx") && !text.contains("Socket errors") => Ok(rate),
        _ => Err(Error::unexpected("wrk", &text)),
    }
}

fn command(what: &'static str) -> impl Fn(redis::RedisError) -> Error {
    move |source| Error::Command {
        what: what.to_owned(),
        source,
    }
}
