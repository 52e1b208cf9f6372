//! Prints what the gateway costs: beside webdis, beside calls without a gateway, and in memory.
//!
//! `cargo run -p lockless-benches --release --bin gateway-costs [-- --quick]`

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use lockless_benches::Error;
use lockless_benches::http::Connection;
use lockless_benches::link::Server;
use lockless_benches::report::{Report, Target};
use lockless_benches::rounds::{Compared, compare};
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
    let runtime = Runtime::new().map_err(other("a runtime"))?;
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
            .map_err(other("a connection"))?;
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
            .map_err(other("a caller"))?
            .map_err(other("a call over HTTP"))?;
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
            .map_err(other("a caller"))?
            .map_err(command("a direct call"))?;
    }
    Ok(f64::from(jobs) / begin.elapsed().as_secs_f64())
}

/// The gateway's memory while so many nodes wait, each on a connection of its own.
async fn with_long_polls(gateway: &Gateway) -> Result<f64, Error> {
    let wanted = u64::try_from(WAITING + 1000).unwrap_or(u64::MAX);
    rlimit::increase_nofile_limit(wanted).map_err(other("enough open files"))?;
    let mut first = Connection::open(gateway.port)
        .await
        .map_err(other("a connection"))?;
    let mut waiting = Vec::with_capacity(WAITING);
    for node in 0..WAITING {
        let path = format!("/v1/nodes/w{node}");
        first
            .ask("PUT", &path, "{}")
            .await
            .map_err(other("a node"))?;
        let mut connection = Connection::open(gateway.port)
            .await
            .map_err(other("a connection"))?;
        let sent = connection
            .send("POST", &format!("{path}/take"), r#"{"wait_ms":60000}"#)
            .await;
        sent.map_err(other("a take"))?;
        waiting.push(connection);
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let page = first
            .ask("GET", "/metrics", "")
            .await
            .map_err(other("/metrics"))?;
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
        .map_err(other("wrk (Debian: apt-get install wrk)"))?;
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

/// Builds the gateway as it is deployed, and says where it is.
fn build() -> Result<PathBuf, Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--package", "lockless-gateway"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .status()
        .map_err(other("cargo build"))?;
    if !built.success() {
        return Err(Error::unexpected("cargo build", &built));
    }
    let own = std::env::current_exe().map_err(other("this program's place"))?;
    Ok(own.with_file_name("lockless-gateway"))
}

/// A process that ends when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Gateway {
    process: Process,
    port: u16,
}

impl Gateway {
    fn start(program: &Path, redis_port: u16) -> Result<Self, Error> {
        let mut command = Command::new(program);
        command
            .args([
                "--redis",
                &format!("redis://127.0.0.1:{redis_port}"),
                "--listen",
                "127.0.0.1:0",
            ])
            .stdout(Stdio::piped());
        let child = lockless_servers::launch(command).map_err(other("the gateway"))?;
        let mut process = Process(child);
        let mut said = String::new();
        if let Some(output) = process.0.stdout.take() {
            BufReader::new(output)
                .read_line(&mut said)
                .map_err(other("the gateway"))?;
        }
        let port = said
            .trim()
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        let port = port.ok_or_else(|| Error::unexpected("the gateway", &said))?;
        let gateway = Self { process, port };
        gateway.wait_until_ready()?;
        Ok(gateway)
    }

    fn wait_until_ready(&self) -> Result<(), Error> {
        let runtime = Runtime::new().map_err(other("a runtime"))?;
        runtime.block_on(async {
            let mut last = String::new();
            for _ in 0..100 {
                match Connection::open(self.port).await {
                    Ok(mut connection) => match connection.ask("GET", "/readyz", "").await {
                        Ok(_) => return Ok(()),
                        Err(error) => last = error.to_string(),
                    },
                    Err(error) => last = error.to_string(),
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(Error::unexpected("/readyz", &last))
        })
    }

    fn resident_mib(&self) -> Result<f64, Error> {
        let path = format!("/proc/{}/status", self.process.0.id());
        let status = fs::read_to_string(&path).map_err(other("the gateway's memory"))?;
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0)
            .ok_or_else(|| Error::unexpected(path, &status))
    }
}

/// webdis as Debian sets it up, but for ports and log.
struct Webdis {
    _process: Process,
    _dir: tempfile::TempDir,
    port: u16,
}

impl Webdis {
    fn start(redis_port: u16) -> Result<Self, Error> {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .map_err(other("a free port"))?
            .port();
        let dir = tempfile::tempdir().map_err(other("a directory"))?;
        let settings = format!(
            r#"{{"redis_host":"127.0.0.1","redis_port":{redis_port},"http_host":"127.0.0.1","http_port":{port},"threads":2,"daemonize":false,"database":0,"verbosity":0,"logfile":"{}"}}"#,
            dir.path().join("log").display()
        );
        let file = dir.path().join("webdis.json");
        fs::write(&file, settings).map_err(other("webdis's settings"))?;
        let mut command = Command::new("webdis");
        command
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = lockless_servers::launch(command)
            .map_err(other("webdis (Debian: apt-get install webdis)"))?;
        let process = Process(child);
        let begin = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if begin.elapsed() > Duration::from_secs(10) {
                return Err(Error::unexpected("webdis", &"nothing"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self {
            _process: process,
            _dir: dir,
            port,
        })
    }
}

fn other<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> Error {
    move |error| Error::Failed {
        what: what.to_owned(),
        reason: error.to_string(),
    }
}

fn command(what: &'static str) -> impl Fn(redis::RedisError) -> Error {
    move |source| Error::Command {
        what: what.to_owned(),
        source,
    }
}
