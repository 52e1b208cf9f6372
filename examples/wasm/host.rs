//! Hosts the module inside a Rust program, through the project's own host, and schedules one job: no server, no socket.
//!
//! cargo run --package lockless-example-wasm

use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};

use lockless_wasm::{Limits, Machine, Reply};

const CELL: &str = "example:{wasm}";

/// The host decides what time it is.
fn now_us() -> Result<u64, Box<dyn Error>> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(u64::try_from(since.as_micros())?)
}

/// Calls one function on the cell. Stopped calls are errors, error replies are replies.
fn call(machine: &mut Machine, name: &str, args: &[&str]) -> Result<Reply, Box<dyn Error>> {
    let function = format!("lockless_{name}");
    let words: Vec<&[u8]> = ["FCALL", &function, "1", CELL]
        .iter()
        .chain(args)
        .map(|word| word.as_bytes())
        .collect();
    Ok(machine.call(&words, now_us()?)?)
}

fn expect(what: &str, got: &Reply, wanted: &Reply) -> Result<(), Box<dyn Error>> {
    println!("{what}: {got:?}");
    if got == wanted {
        return Ok(());
    }
    Err(format!("{what} was to be {wanted:?}").into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut machine = Machine::start(Limits::default(), now_us()?)?;
    let ok = Reply::Status("OK".to_owned());
    let text = |text: &str| Reply::Bulk(text.into());

    call(
        &mut machine,
        "register",
        &["node-1", "1", "PAIR", "en", "zh"],
    )?;
    let job = [
        "session-1",
        "en",
        "zh",
        r#"{"text":"hello"}"#,
        "JOB",
        "job-1",
    ];
    let placed = call(&mut machine, "dispatch", &job)?;
    let wanted = Reply::Array(vec![text("node-1"), text("job-1")]);
    expect("dispatched", &placed, &wanted)?;

    match call(&mut machine, "dispatch", &["session-2", "en", "zh", "{}"])? {
        Reply::Error(line) if line.starts_with("NO_AVAILABLE_NODE ") => println!("refused: {line}"),
        other => return Err(format!("a second job on a node with one slot: {other:?}").into()),
    }

    let done = call(&mut machine, "ack", &["job-1", "node-1"])?;
    expect("acknowledged", &done, &ok)?;
    let done = call(&mut machine, "complete", &["job-1", "node-1", "finished"])?;
    expect("completed", &done, &ok)?;
    let found = call(&mut machine, "check", &[])?;
    expect("audited", &found, &Reply::Array(Vec::new()))
}
