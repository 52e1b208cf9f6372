//! The gateway beside webdis, and its memory.

mod beside_webdis;

use std::time::{Duration, Instant};

use lockless_functions::LIBRARY;
use lockless_servers::debian;
use tokio::runtime::Runtime;

use crate::cell::ROOT;
use crate::harness::{Context, Effort, interrupt};
use crate::http::Connection;
use crate::link::Server;
use crate::processes::Gateway;
use crate::results::{Figure, GroupResult, Table, Target};
use crate::{Error, failed};

pub(super) fn run(context: &mut Context) -> Result<GroupResult, Error> {
    let mut server = Server::start(&[LIBRARY])?;
    let mut result = GroupResult::default();
    let mut memory = Table::measuring("Memory of the gateway", "MiB", "resident");
    let gateway = Gateway::start(server.port(), &[ROOT])?;
    let note = "of a gateway inside the bench's own program, which is larger than the gateway's by some MiB";
    let idle = Figure::measured("gateway/idle", "idle", &[gateway.resident_mib()?]).noted(note);
    context.add(&mut memory, idle.held_to(Target::AtMost(30.0)));
    match programs(context) {
        Ok(()) => result
            .tables
            .push(beside_webdis::run(context, &mut server, &gateway)?),
        // An installation that Ctrl-C ended is no reason to go on.
        Err(missing) => {
            interrupt::check()?;
            result.lacks("webdis", missing);
        }
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
