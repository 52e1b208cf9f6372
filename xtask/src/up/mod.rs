//! `cargo xtask up`: a private server with the library loaded, a gateway, and agents that run jobs, for trying things out.

mod agents;

use std::net::TcpListener;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lockless_servers::Standalone;

use crate::gateway::{self, Gateway};
use crate::{deploy, run};
use agents::Agents;

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
    /// How many agents to start as nodes, whose jobs may run sleep, sha256sum and echo
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(0..=100), value_name = "N")]
    agents: u16,
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
    let agent_program = (arguments.agents > 0).then(agents::build).transpose()?;

    let mut builder = Standalone::builder().private();
    if let Some(port) = arguments.port {
        builder = builder.port(port);
    }
    let mut server = builder.start()?;
    deploy::load_quietly(&server.url())?;
    let mut gateway = Gateway::start(&program, &server.url(), http_port(arguments), &[])?;
    let mut agents = match agent_program {
        None => None,
        Some(program) => {
            let (count, url) = (arguments.agents, server.url());
            Some(Agents::start(&program, count, &url, gateway.address())?)
        }
    };
    println!(
        "{}",
        how_to_call(server.port(), gateway.address(), arguments.agents)
    );

    let outcome = watch(&stopped, &mut server, &mut gateway, agents.as_mut());
    // The agents go first: they give back what they have, and one of them does so by the gateway.
    if let Some(agents) = &mut agents {
        agents.stop();
    }
    gateway.stop();
    server.stop();
    if outcome.is_ok() {
        println!("Everything is stopped.");
    }
    outcome
}

/// Returns when the user has had enough, or when something ended by itself.
fn watch(
    stopped: &Receiver<()>,
    server: &mut Standalone,
    gateway: &mut Gateway,
    mut agents: Option<&mut Agents>,
) -> Result<()> {
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
        if let Some(status) = agents.as_mut().and_then(|agents| agents.ended()) {
            bail!("an agent ended by itself ({status})");
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

fn how_to_call(redis_port: u16, address: &str, agents: u16) -> String {
    let fcall = format!("redis-cli -p {redis_port} FCALL");
    let cell = "1 'scheduler:{main}'";
    let (intro, lines) = if agents > 0 {
        let intro = format!(
            "{agents} agent(s) run what jobs and deployments name: sleep, sha256sum or echo."
        );
        let lines = vec![
            format!(
                r#"curl {address}/v1/queue --json '{{"job": "job-1", "payload": {{"argv": ["sha256sum", "/etc/hostname"]}}}}'"#
            ),
            format!("curl '{address}/v1/jobs/job-1?wait_ms=10000'"),
            format!(
                r#"{fcall} lockless_submit {cell} job-2 '{{"argv": ["sleep", "5"], "timeout_ms": 60000}}' MEM_MB 10"#
            ),
            format!("{fcall} lockless_job {cell} job-2"),
            format!(r#"{fcall} lockless_deploy {cell} nap SPEC '{{"argv": ["sleep", "1000"]}}'"#),
            format!("{fcall} lockless_deployment {cell} nap"),
        ];
        (intro, lines)
    } else {
        let intro =
            "There is no node yet; one that sends no heartbeat for 30 s is lost.".to_owned();
        let lines = vec![
            format!(
                r#"curl -X PUT {address}/v1/nodes/node-1 --json '{{"max_jobs": 4, "pairs": [["en", "zh"]]}}'"#
            ),
            format!(
                r#"curl {address}/v1/jobs --json '{{"session": "s1", "src": "en", "tgt": "zh", "payload": {{"text": "hello"}}, "job": "job-1"}}'"#
            ),
            format!("curl '{address}/v1/explain?session=s1&src=en&tgt=zh&require=gpu'"),
        ];
        (intro, lines)
    };
    format!(
        "\nLockless {} is up.\n\n  HTTP   {address}  (read it at {address}/docs)\n  Redis  redis://127.0.0.1:{redis_port}\n\n\
         {intro} Try, from another terminal:\n\n  {}\n  {fcall} lockless_stats {cell}\n\n\
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
        for agents in [0, 2] {
            let text = how_to_call(4321, "http://127.0.0.1:8080", agents);
            let lines: Vec<&str> = text.lines().filter(|line| line.contains("curl ")).collect();
            assert_eq!(lines.len(), if agents > 0 { 2 } else { 3 });
            assert!(
                lines
                    .iter()
                    .all(|line| line.contains("http://127.0.0.1:8080/v1/"))
            );
            assert!(text.contains("redis-cli -p 4321 FCALL lockless_stats 1 'scheduler:{main}'"));
        }
    }
}
