//! Schedules one job with plain FCALLs: register, heartbeat, explain, dispatch, ack, complete, and a refusal.
//!
//! `REDIS_URL=redis://127.0.0.1:6379 cargo run -p lockless-examples`

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

use redis::{Connection, FromRedisValue, RedisResult, Value};

const CELL: &str = "example:{rust}";

fn call<T: FromRedisValue>(client: &mut Connection, name: &str, args: &[&str]) -> RedisResult<T> {
    let mut fcall = redis::cmd("FCALL");
    fcall.arg(format!("lockless_{name}")).arg(1).arg(CELL);
    fcall.arg(args).query(client)
}

fn expect<T: PartialEq + Debug>(what: &str, got: T, wanted: T) -> Result<(), Box<dyn Error>> {
    println!("{what}: {got:?}");
    if got == wanted {
        return Ok(());
    }
    Err(format!("{what} was to be {wanted:?}").into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1:6379".into());
    let client = &mut redis::Client::open(url)?.get_connection()?;

    // Each run is a new instance: what an earlier run left on these nodes is settled as lost.
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let run = format!("{}-{}", since_1970.as_nanos(), std::process::id());
    for node in ["a", "b"] {
        let description = [node, "1", "INSTANCE", &run, "PAIR", "en", "zh"];
        let () = call(client, "register", &description)?;
        let load = [node, "CPU", "12.5", "MEM", "40"];
        let status: HashMap<String, Value> = call(client, "heartbeat", &load)?;
        expect(
            &format!("slots held on {node}"),
            &status["held"],
            &Value::Int(0),
        )?;
    }
    let why: HashMap<String, String> = call(client, "explain", &["session-1", "en", "zh"])?;
    expect("nodes available", why["available"].as_str(), "2")?;

    // The caller names the job, so a dispatch that is sent twice is one job.
    let jobs = [format!("{run}-1"), format!("{run}-2")];
    let first = ["session-1", "en", "zh", "{}", "JOB", &jobs[0]];
    let granted: (String, String) = call(client, "dispatch", &first)?;
    expect("dispatched", &granted.1, &jobs[0])?;
    let again: (String, String) = call(client, "dispatch", &first)?;
    expect("sent again", &again, &granted)?;
    let second = ["session-2", "en", "zh", "{}", "JOB", &jobs[1]];
    let other: (String, String) = call(client, "dispatch", &second)?;

    match call::<()>(client, "dispatch", &["session-3", "en", "zh", "{}"]) {
        Ok(()) => return Err("a third job found a slot on two nodes with one each".into()),
        Err(refusal) => expect("refused", refusal.code(), Some("NO_AVAILABLE_NODE"))?,
    }

    for (node, job) in [&granted, &other] {
        expect(
            "acknowledged",
            call::<String>(client, "ack", &[job, node])?,
            "OK".into(),
        )?;
        let ended: String = call(client, "complete", &[job, node, "finished"])?;
        expect("completed", ended.as_str(), "OK")?;
    }
    let record: HashMap<String, String> = call(client, "job", &[&jobs[0]])?;
    expect("the job", record["status"].as_str(), "finished")
}
