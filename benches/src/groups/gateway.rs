//! The gateway beside webdis, and its memory.

use std::process::Command;
use std::time::{Duration, Instant};

use lockless_functions::LIBRARY;
use lockless_servers::debian;
use tokio::runtime::Runtime;

use crate::cell::{ROOT, node};
use crate::harness::{Context, Effort};
use crate::http::Connection;
use crate::link::Server;
use crate::load::Stage;
use crate::processes::{Gateway, Webdis};
use crate::results::{Figure, GroupResult, Table, Target};
use crate::{Error, failed};

const CONNECTIONS: usize = 50;

pub(super) fn run(context: &mut Context) -> Result<GroupResult, Error> {
    let server = Server::start(&[LIBRARY])?;
    let mut result = GroupResult::default();
    let mut memory = Table::measuring("Memory of the gateway", "MiB", "resident");
    let gateway = Gateway::start(server.port(), &[ROOT])?;
    let note = "of a gateway inside the bench's own program, which is larger than the gateway's by some MiB";
    let idle = Figure::measured("gateway/idle", "idle", &[gateway.resident_mib()?]).noted(note);
    context.add(&mut memory, idle.held_to(Target::AtMost(30.0)));
    match programs(context) {
        Ok(()) => result
            .tables
            .push(beside_webdis(context, &server, &gateway)?),
        Err(missing) => result.lacks("webdis", missing),
    }
    drop(gateway);
    let gateway = Gateway::start(server.port(), &[ROOT])?;
    let runtime = Runtime::new().map_err(failed("a runtime"))?;
    let waiting = context.effort.pick(100, 5000, 5000);
    let resident_mib = runtime.block_on(with_long_polls(&gateway, waiting))?;
    let what = format!("with {waiting} long polls waiting");
    let polls = Figure::measured("gateway/long-polls", what, &[resident_mib]);
    context.add(&mut memory, polls.held_to(Target::AtMost(100.0)));
    result.tables.push(memory);
    Ok(result)
}

/// wrk makes the load, webdis is what it is compared with; both are Debian's.
fn programs(context: &Context) -> Result<(), Error> {
    let is_there = || {
        ["wrk", "webdis"]
            .iter()
            .all(|name| debian::program(name).is_some())
    };
    if is_there() {
        return Ok(());
    }
    if context.effort == Effort::Smoke || !debian::can_install() {
        return Err(Error::Failed {
            what: "wrk and webdis are not there".to_owned(),
            reason: "install them (Debian: apt-get install wrk webdis)".to_owned(),
        });
    }
    Ok(debian::install(
        &["wrk", "webdis"],
        "No wrk or webdis was found",
        is_there,
    )?)
}

/// The same calls with wrk, through the gateway and through webdis.
fn beside_webdis(
    context: &mut Context,
    server: &Server,
    gateway: &Gateway,
) -> Result<Table, Error> {
    Stage::on_server(server.port(), 100, 4)?.prepare()?;
    let webdis = Webdis::start(server.port())?;
    let title = format!("Requests for one FCALL at {CONNECTIONS} connections that are kept (wrk)");
    let mut table = Table::comparing(&title, "per second", "the gateway", "webdis");
    let root = ROOT.replace('{', "%7B").replace('}', "%7D");
    let calls = [
        (
            "version",
            "/v1/version".to_owned(),
            format!("lockless_version/1/{root}"),
        ),
        (
            "node",
            format!("/v1/nodes/{}", node(0)),
            format!("lockless_node/1/{root}/{}", node(0)),
        ),
    ];
    let time = context.effort.pick("1s", "1s", "3s");
    for (id, ours, theirs) in calls {
        let ours = format!("http://127.0.0.1:{}{ours}", gateway.port);
        let theirs = format!("http://127.0.0.1:{}/FCALL/{theirs}", webdis.port);
        let what = format!("lockless_{id}");
        let measured = context.compare(&what, || wrk(&ours, time), || wrk(&theirs, time))?;
        let id = format!("gateway/webdis-{id}");
        let figure = Figure::compared(&id, what, measured.side(0), measured.side(1));
        context.add(&mut table, figure.held_to(Target::AtLeast(1.0)));
    }
    Ok(table)
}

fn wrk(url: &str, time: &str) -> Result<f64, Error> {
    let output = Command::new("wrk")
        .args([
            "-t2",
            &format!("-c{CONNECTIONS}"),
            &format!("-d{time}"),
            // On a busy machine an answer takes long, and that is what is measured.
            "--timeout",
            "60s",
            url,
        ])
        .output()
        .map_err(failed("wrk"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |begin| {
        text.lines()
            .find_map(|line| line.trim().strip_prefix(begin))
    };
    // A request that was not answered, or not with what was asked for.
    if let Some(failures) = line("Non-2xx").or_else(|| line("Socket errors")) {
        return Err(Error::unexpected(format!("wrk on {url}"), &failures));
    }
    let rate = line("Requests/sec:").and_then(|rate| rate.trim().parse().ok());
    rate.ok_or_else(|| Error::unexpected("wrk", &text))
}

/// The gateway's memory while so many nodes wait, each on a connection of its own.
async fn with_long_polls(gateway: &Gateway, count: usize) -> Result<f64, Error> {
    let wanted = u64::try_from(count + 1000).unwrap_or(u64::MAX);
    rlimit::increase_nofile_limit(wanted).map_err(failed("enough open files"))?;
    let mut first = connect(gateway).await?;
    let mut waiting = Vec::with_capacity(count);
    for number in 0..count {
        let path = format!("/v1/nodes/w{number}");
        first
            .ask("PUT", &path, "{}")
            .await
            .map_err(failed("a node"))?;
        let mut connection = connect(gateway).await?;
        let path = format!("{path}/take");
        let sent = connection.send("POST", &path, r#"{"wait_ms":60000}"#).await;
        sent.map_err(failed("a take"))?;
        waiting.push(connection);
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let page = first.ask("GET", "/metrics", "").await;
        let page = String::from_utf8_lossy(page.map_err(failed("/metrics"))?);
        let polls = page
            .lines()
            .find_map(|line| line.strip_prefix("lockless_long_polls "));
        if polls.and_then(|polls| polls.parse().ok()) == Some(count) {
            return gateway.resident_mib();
        }
        if Instant::now() > deadline {
            return Err(Error::unexpected("/metrics", &polls));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn connect(gateway: &Gateway) -> Result<Connection, Error> {
    Connection::open(gateway.port)
        .await
        .map_err(failed("a connection"))
}
