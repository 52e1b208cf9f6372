//! What the tests of the connections to Redis share.

// Each test program uses a part of it.
#![allow(dead_code, unreachable_pub)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lockless_client::backend::{
    Call, Cell, Durability, Failure, Redis, RedisSettings, Reply, Status,
};
use lockless_client::workers::Workers;
use lockless_functions::LIBRARY;
use lockless_servers::{Standalone, StandaloneBuilder};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn cell() -> Cell {
    Cell::new("scheduler:{main}")
}

/// A server with the library.
pub fn server() -> Standalone {
    let server = Standalone::builder().private().start().expect("a server");
    load(server.port(), LIBRARY);
    server
}

/// A server that can be started again where it was, with what it had. Without fsync nothing that was answered waits
/// for the disk, so nothing is lost when the process alone dies.
pub fn restartable(dir: &Path) -> (Standalone, StandaloneBuilder) {
    let settings = ["--appendonly", "yes", "--appendfsync", "no"];
    let builder = Standalone::builder().dir(dir).args(settings);
    let server = builder.clone().start().expect("a server");
    load(server.port(), LIBRARY);
    let again = builder.port(server.port());
    (server, again)
}

pub fn link(port: u16) -> redis::Connection {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).expect("an address");
    client
        .get_connection_with_timeout(PATIENCE)
        .expect("a connection")
}

pub fn load(port: u16, library: &str) {
    let mut command = redis::cmd("FUNCTION");
    command
        .arg("LOAD")
        .arg("REPLACE")
        .arg(library)
        .exec(&mut link(port))
        .expect("FUNCTION LOAD");
}

/// Sends a command to a server; words are separated by spaces.
pub fn send(port: u16, words: &str) -> redis::Value {
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().expect("a command"));
    command
        .arg(words.collect::<Vec<_>>())
        .query(&mut link(port))
        .expect("an answer")
}

/// Whether a server says this. One that is just changing its role may say nothing.
pub fn says(port: u16, words: &str, what: &str) -> bool {
    let connected = redis::Client::open(format!("redis://127.0.0.1:{port}"))
        .and_then(|client| client.get_connection());
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().expect("a command"));
    command.arg(words.collect::<Vec<_>>());
    let said = connected.and_then(|mut link| command.query::<String>(&mut link));
    said.is_ok_and(|said| said.contains(what))
}

pub fn text(value: &redis::Value) -> String {
    match value {
        redis::Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        redis::Value::SimpleString(text) | redis::Value::VerbatimString { text, .. } => {
            text.clone()
        }
        other => panic!("not a text: {other:?}"),
    }
}

pub fn start(url: &str) -> Arc<Redis> {
    Redis::start(RedisSettings::new(url), &Workers::none()).expect("settings")
}

/// Waits for a condition.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
    let begin = Instant::now();
    while !is_so().await {
        assert!(begin.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    begin.elapsed()
}

pub async fn ready(redis: &Redis) {
    let begin = Instant::now();
    loop {
        match redis.status() {
            Status::Ready => return,
            other => assert!(begin.elapsed() < PATIENCE, "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits for a status that says all this.
pub async fn not_ready(redis: &Redis, words: &[&str]) -> String {
    let begin = Instant::now();
    loop {
        let status = redis.status();
        if let Status::NotReady(why) = &status
            && words.iter().all(|word| why.contains(word))
        {
            return why.clone();
        }
        assert!(begin.elapsed() < PATIENCE, "{status:?} lacks {words:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub fn writing(cell: &Cell, function: &'static str, words: &[&str]) -> Call {
    Call {
        function,
        writes: true,
        cell: cell.clone(),
        arguments: words
            .iter()
            .map(|word| Bytes::copy_from_slice(word.as_bytes()))
            .collect(),
    }
}

pub fn version(cell: &Cell) -> Call {
    Call {
        writes: false,
        ..writing(cell, "lockless_version", &[])
    }
}

pub async fn call(redis: &Redis, function: &'static str, words: &[&str]) -> Result<Reply, Failure> {
    redis
        .call(writing(&cell(), function, words), Durability::Primary)
        .await
}

/// A node with many slots.
pub async fn register(redis: &Redis, cell: &Cell, node: &str) {
    registered(redis, cell, node, Durability::Primary).await;
}

/// A node that survives a failover.
pub async fn register_for_good(redis: &Redis, cell: &Cell, node: &str) {
    registered(redis, cell, node, Durability::Replica).await;
}

async fn registered(redis: &Redis, cell: &Cell, node: &str, durability: Durability) {
    let words = [node, "10000", "PAIR", "en", "zh"];
    let register = writing(cell, "lockless_register", &words);
    redis.call(register, durability).await.expect("register");
}

pub fn dispatch(cell: &Cell, job: &str) -> Call {
    writing(
        cell,
        "lockless_dispatch",
        &["session", "en", "zh", "{}", "JOB", job],
    )
}
