//! `cargo xtask up`: a private server with the library loaded, a gateway, and a few nodes at work, for trying things out.

mod demo;

use std::net::TcpListener;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lockless_servers::Standalone;

use crate::gateway::{self, Gateway};
use crate::{deploy, run};
use demo::Demo;

const POLL: Duration = Duration::from_millis(200);
const HTTP_PORT: u16 = 8080;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// This port for Redis instead of a free one
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// This port for the gateway, 0 for any free one (default: 8080, or a free one when that is taken)
    #[arg(long)]
    http_port: Option<u16>,
    /// Start no demonstration nodes and no jobs
    #[arg(long)]
    no_demo: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    run::with_docker_if_needed()?;
    let (stop, stopped) = channel();
    ctrlc::set_handler(move || {
        let _ = stop.send(());
    })
    .context("Ctrl-C could not be listened for")?;
    for (port, flag) in [
        (arguments.port, "--port"),
        (arguments.http_port, "--http-port"),
    ] {
        if let Some(port) = port
            && let Err(error) = TcpListener::bind(("127.0.0.1", port))
        {
            bail!("port {port} can't be used ({error}): name another one with {flag}");
        }
    }
    let program = gateway::build()?;

    let mut builder = Standalone::builder().private();
    if let Some(port) = arguments.port {
        builder = builder.port(port);
    }
    let mut server = builder.start()?;
    deploy::load_quietly(&server.url())?;
    let mut gateway = Gateway::start(&program, &server.url(), http_port(arguments), &[])?;
    let demo = if arguments.no_demo {
        None
    } else {
        Some(Demo::start(gateway.address())?)
    };
    println!(
        "{}",
        how_to_call(server.port(), gateway.address(), demo.is_some())
    );

    let outcome = watch(&stopped, &mut server, &mut gateway);
    // The gateway goes first: it ends the long polls of the demonstration with an empty answer.
    if let Some(demo) = &demo {
        demo.stop();
    }
    gateway.stop();
    drop(demo);
    server.stop();
    if outcome.is_ok() {
        println!("Everything is stopped.");
    }
    outcome
}

/// Returns when the user has had enough, or when something ended by itself.
fn watch(stopped: &Receiver<()>, server: &mut Standalone, gateway: &mut Gateway) -> Result<()> {
    loop {
        match stopped.recv_timeout(POLL) {
            Ok(()) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => bail!("Ctrl-C is no longer listened for"),
        }
        if let Some(status) = server.ended() {
            bail!(
                "the server ended by itself ({status}); the end of its log:\n{}",
                server.log_tail()
            );
        }
        if let Some(status) = gateway.ended() {
            bail!("the gateway ended by itself ({status})");
        }
    }
}

/// The port that was asked for, else the usual one, else any free one.
fn http_port(arguments: &Arguments) -> u16 {
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    arguments
        .http_port
        .or_else(|| Some(HTTP_PORT).filter(is_free))
        .unwrap_or(0)
}

fn how_to_call(redis_port: u16, address: &str, has_demo: bool) -> String {
    let (intro, mut lines) = if has_demo {
        (
            "Three nodes (demo-1 to demo-3) take the jobs of a small load, and yours.",
            Vec::new(),
        )
    } else {
        (
            "There is no node yet; one that sends no heartbeat for 30 s is lost.",
            vec![format!(
                r#"curl -X PUT {address}/v1/nodes/node-1 --json '{{"max_jobs": 4, "pairs": [["en", "zh"]]}}'"#
            )],
        )
    };
    lines.extend([
        format!(
            r#"curl {address}/v1/jobs --json '{{"session": "s1", "src": "en", "tgt": "zh", "payload": {{"text": "hello"}}, "job": "job-1"}}'"#
        ),
        format!("curl '{address}/v1/jobs/job-1?wait_ms=5000'"),
        format!("curl '{address}/v1/explain?session=s1&src=en&tgt=zh&require=gpu'"),
    ]);
    format!(
        "\nLockless {} is up.\n\n  HTTP   {address}  (read it at {address}/docs)\n  Redis  redis://127.0.0.1:{redis_port}\n\n\
         {intro} Try, from another terminal:\n\n  {}\n  redis-cli -p {redis_port} FCALL lockless_stats 1 'scheduler:{{main}}'\n\n\
         Ctrl-C stops it; nothing is kept.",
        lockless_functions::VERSION,
        lines.join("\n  "),
    )
}

#[cfg(test)]
mod tests {
    use super::how_to_call;

    #[test]
    fn every_line_names_its_address() {
        for has_demo in [true, false] {
            let text = how_to_call(4321, "http://127.0.0.1:8080", has_demo);
            let lines: Vec<&str> = text.lines().filter(|line| line.contains("curl ")).collect();
            assert_eq!(lines.len(), if has_demo { 3 } else { 4 });
            assert!(
                lines
                    .iter()
                    .all(|line| line.contains("http://127.0.0.1:8080/v1/"))
            );
            assert!(text.contains("redis-cli -p 4321 FCALL lockless_"));
        }
    }
}
