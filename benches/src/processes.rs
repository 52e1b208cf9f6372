//! The gateway as a process, and what all processes have in common.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Parser;
use tokio::runtime::Runtime;

use crate::Error;
use crate::error::failed;
use crate::http::Connection;

/// The first word on the command line of a bench that is to be a gateway.
pub const AS_GATEWAY: &str = "as-gateway";

/// What this program does when it is asked to be a gateway: it is the same program from here on, with the same settings, so that it is
/// built in the same way as what measures it, and nothing else has to be.
pub fn be_gateway(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let name = OsString::from("lockless-gateway");
    let cli = lockless_gateway::settings::Cli::parse_from(std::iter::once(name).chain(arguments));
    lockless_gateway::program::run(&cli)
}

/// A port of this machine that nobody listens on.
pub fn free_port() -> Result<u16, Error> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(failed("a free port"))
}

/// A process that ends when it is dropped.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A gateway with default settings.
pub struct Gateway {
    process: Process,
    /// Its port on this machine.
    pub port: u16,
}

impl Gateway {
    /// Starts it for the server, or the Cluster, on this port and for these cells, and waits until it is ready.
    pub fn start(redis_port: u16, cells: &[&str]) -> Result<Self, Error> {
        let own = std::env::current_exe().map_err(failed("this program's place"))?;
        let mut command = Command::new(own);
        command
            .arg(AS_GATEWAY)
            .args(["--redis", &format!("redis://127.0.0.1:{redis_port}")])
            .args(["--listen", "127.0.0.1:0", "--cell", &cells.join(",")])
            // On a busy machine a call takes long, and that is what is measured.
            .args(["--redis-timeout-ms", "60000", "--log", "error"])
            .stdout(Stdio::piped());
        let child = lockless_servers::launch(command).map_err(failed("the gateway"))?;
        let mut process = Process(child);
        let mut said = String::new();
        if let Some(output) = process.0.stdout.take() {
            BufReader::new(output)
                .read_line(&mut said)
                .map_err(failed("the gateway"))?;
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
        let runtime = Runtime::new().map_err(failed("a runtime"))?;
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

    /// The memory it has in use.
    pub fn resident_mib(&self) -> Result<f64, Error> {
        let path = format!("/proc/{}/status", self.process.0.id());
        let status = fs::read_to_string(&path).map_err(failed("the gateway's memory"))?;
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0)
            .ok_or_else(|| Error::unexpected(path, &status))
    }
}
