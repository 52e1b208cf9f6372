//! `cargo xtask up`: a private server with the library loaded, for trying things out.

use std::net::TcpListener;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lockless_servers::Standalone;

use crate::{deploy, run};

const POLL: Duration = Duration::from_millis(200);
const CELL: &str = "'scheduler:{main}'";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// This port instead of a free one
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    run::with_docker_if_needed()?;
    let (stop, stopped) = channel();
    ctrlc::set_handler(move || {
        let _ = stop.send(());
    })
    .context("Ctrl-C could not be listened for")?;

    let mut builder = Standalone::builder().private();
    if let Some(port) = arguments.port {
        if let Err(error) = TcpListener::bind(("127.0.0.1", port)) {
            bail!("port {port} can't be used ({error}): name another one with --port");
        }
        builder = builder.port(port);
    }
    let mut server = builder.start()?;
    deploy::load_quietly(&server.url())?;
    println!("{}", how_to_call(server.port()));
    loop {
        match stopped.recv_timeout(POLL) {
            Ok(()) => {
                server.stop();
                println!("The server is stopped.");
                return Ok(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => bail!("Ctrl-C is no longer listened for"),
        }
        if let Some(status) = server.ended() {
            bail!(
                "the server ended by itself ({status}); the end of its log:\n{}",
                server.log_tail()
            );
        }
    }
}

fn how_to_call(port: u16) -> String {
    let calls = [
        ("lockless_register", "node-1 4 POOL general PAIR en zh"),
        ("lockless_heartbeat", "node-1 CPU 20 MEM 40"),
        (
            "lockless_dispatch",
            r#"session-1 en zh '{"text":"hello"}' JOB job-1"#,
        ),
        ("lockless_ack", "job-1 node-1"),
        (
            "lockless_complete",
            r#"job-1 node-1 finished RESULT '{"ok":true}'"#,
        ),
        ("lockless_explain", "session-1 en zh"),
    ];
    let lines: Vec<String> = calls
        .iter()
        .map(|(name, rest)| format!("  redis-cli -p {port} FCALL {name} 1 {CELL} {rest}"))
        .collect();
    format!(
        "Redis with lockless {} listens on redis://127.0.0.1:{port}. Call it from another terminal:\n\n{}\n\n\
         A node that sends no heartbeat for 30 s is lost: register it again.\n\
         Ctrl-C stops it; nothing is kept.",
        lockless_functions::VERSION,
        lines.join("\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::how_to_call;

    #[test]
    fn every_line_names_the_port_and_the_cell() {
        let text = how_to_call(4321);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("redis-cli"))
            .collect();
        assert_eq!(lines.len(), 6);
        assert!(
            lines
                .iter()
                .all(|line| line.contains("-p 4321 FCALL lockless_")
                    && line.contains("1 'scheduler:{main}' "))
        );
    }
}
