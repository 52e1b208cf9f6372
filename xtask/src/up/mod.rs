//! `cargo xtask up`: a gateway with its embedded scheduler, or with a private Redis, and agents that run jobs, for trying
//! things out.

mod agents;
mod host;
mod text;

use std::net::TcpListener;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::gateway::{self, Gateway};
use agents::Agents;
use host::Host;
use text::{Redis, Up};

const POLL: Duration = Duration::from_millis(200);
const HTTP_PORT: u16 = 8080;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Use a private Redis server instead of the embedded scheduler
    #[arg(long, conflicts_with = "cluster")]
    redis: bool,
    /// Use a private Redis Cluster of three primaries, with a cell on each
    #[arg(long)]
    cluster: bool,
    /// This port for the Redis server instead of a free one
    #[arg(long, requires = "redis", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// This port for the gateway, 0 for any free one (default: 8080, or a free one when that is taken)
    #[arg(long)]
    http_port: Option<u16>,
    /// How many agents to start as nodes, whose jobs may run sleep, sha256sum and echo
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(0..=100), value_name = "N")]
    agents: u16,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    Host::prepare(arguments)?;
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

    let mut host = Host::start(arguments)?;
    let url = host.url();
    let port = http_port(arguments);
    let mut gateway = Gateway::start(&program, url.as_deref(), port, &host.gateway_arguments())?;
    let mut agents = match agent_program {
        None => None,
        Some(program) => {
            let count = arguments.agents;
            Some(Agents::start(
                &program,
                count,
                url.as_deref(),
                gateway.address(),
            )?)
        }
    };
    let up = Up {
        address: gateway.address(),
        redis: Redis::of(&host),
        agents: arguments.agents,
    };
    println!("{}", up.text());

    let outcome = watch(&stopped, &mut host, &mut gateway, agents.as_mut());
    // The agents go first: they give back what they have, also by the gateway.
    if let Some(agents) = &mut agents {
        agents.stop();
    }
    gateway.stop();
    host.stop();
    if outcome.is_ok() {
        println!("Everything is stopped.");
    }
    outcome
}

/// Returns when the user has had enough, or when something ended by itself.
fn watch(
    stopped: &Receiver<()>,
    host: &mut Host,
    gateway: &mut Gateway,
    mut agents: Option<&mut Agents>,
) -> Result<()> {
    loop {
        match stopped.recv_timeout(POLL) {
            Ok(()) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => bail!("Ctrl-C is no longer listened for"),
        }
        host.check()?;
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
