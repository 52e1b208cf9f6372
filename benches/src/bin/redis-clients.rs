//! Compares client libraries for Redis: calls per second of each way to send an FCALL, measured in turn.
//!
//! `cargo run -p lockless-benches --release --bin redis-clients [-- --quick]`

use std::future::Future;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use fred::prelude::{Builder, ClientLike, Config, FunctionInterface, Pool};
use fred::types::{ClusterHash, CustomCommand, Value};
use lockless_benches::cell::{PAYLOAD, ROOT, fcall};
use lockless_benches::link::Server;
use lockless_benches::rounds::median;
use lockless_functions::LIBRARY;
use redis::IntoConnectionInfo;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;

const CALLERS: [usize; 4] = [1, 8, 50, 256];
const NODES: usize = 64;

/// Calls per second of each way to send an FCALL, on a private server.
#[derive(Parser)]
struct Arguments {
    /// Fewer and shorter rounds
    #[arg(long)]
    quick: bool,
}

/// What every caller does, over and over.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    Version,
    DispatchAndComplete,
}

/// One way to send calls.
#[derive(Clone)]
enum Side {
    Fred {
        pool: Pool,
        is_blocking: bool,
    },
    Redis {
        connections: Vec<MultiplexedConnection>,
    },
}

type Reason = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Reason> {
    let (rounds, time) = if arguments.quick {
        (3, Duration::from_millis(150))
    } else {
        (9, Duration::from_millis(200))
    };
    let server = Server::start(&[LIBRARY]).map_err(|error| error.to_string())?;
    register(server.port())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let sides = sides(server.port()).await?;
        for (load, name) in [
            (Load::Version, "lockless_version"),
            (Load::DispatchAndComplete, "dispatch + complete"),
        ] {
            println!("\n{name}: calls per second, and the ratio to the first column");
            print!("{:>8}", "callers");
            for (side, _) in &sides {
                print!("{side:>24}");
            }
            println!();
            for callers in CALLERS {
                table_row(&sides, load, callers, rounds, time).await?;
            }
        }
        Ok(())
    })
}

fn register(port: u16) -> Result<(), Reason> {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}"))?;
    let mut connection = client.get_connection()?;
    let stay = ["heartbeat_ttl_ms", "1800000"];
    fcall("lockless_config", &stay).exec(&mut connection)?;
    for node in 0..NODES {
        let node = format!("node-{node}");
        let words = [node.as_str(), "1000", "PAIR", "en", "zh"];
        fcall("lockless_register", &words).exec(&mut connection)?;
    }
    Ok(())
}

async fn sides(port: u16) -> Result<Vec<(String, Side)>, Reason> {
    let url = format!("redis://127.0.0.1:{port}");
    let mut sides = Vec::new();
    for size in [1, 2, 4] {
        let prompt = TcpSettings::default().set_nodelay(true);
        let client = redis::Client::open(
            url.as_str()
                .into_connection_info()?
                .set_tcp_settings(prompt),
        )?;
        let mut connections = Vec::with_capacity(size);
        for _ in 0..size {
            connections.push(client.get_multiplexed_async_connection().await?);
        }
        sides.push((format!("redis x{size}"), Side::Redis { connections }));
        for is_blocking in [true, false] {
            let pool = Builder::from_config(Config::from_url(&url)?).build_pool(size)?;
            pool.init().await?;
            let kind = if is_blocking { "fcall" } else { "custom" };
            sides.push((
                format!("fred {kind} x{size}"),
                Side::Fred { pool, is_blocking },
            ));
        }
    }
    Ok(sides)
}

/// Measures every side in every round, starting with another one each time.
async fn table_row(
    sides: &[(String, Side)],
    load: Load,
    callers: usize,
    rounds: usize,
    time: Duration,
) -> Result<(), Reason> {
    let mut rates = vec![Vec::with_capacity(rounds); sides.len()];
    for round in 0..=rounds {
        for step in 0..sides.len() {
            let at = (round + step) % sides.len();
            let rate = measure(&sides[at].1, load, callers, time).await?;
            // The first round warms up.
            if round > 0 {
                rates[at].push(rate);
            }
        }
    }
    let first = rates[0].clone();
    print!("{callers:>8}");
    for side in &rates {
        let ratios: Vec<f64> = side
            .iter()
            .zip(&first)
            .map(|(one, other)| one / other)
            .collect();
        print!("{:>16.0} ({:.2})", median(side), median(&ratios));
    }
    println!();
    Ok(())
}

async fn measure(side: &Side, load: Load, callers: usize, time: Duration) -> Result<f64, Reason> {
    let begin = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let side = side.clone();
            tokio::spawn(async move {
                let mut calls = 0_usize;
                while begin.elapsed() < time {
                    calls += side.once(load, caller).await?;
                }
                Ok::<usize, Reason>(calls)
            })
        })
        .collect();
    let mut calls = 0;
    for task in tasks {
        calls += task.await??;
    }
    Ok(calls as f64 / begin.elapsed().as_secs_f64())
}

impl Side {
    async fn once(&self, load: Load, caller: usize) -> Result<usize, Reason> {
        if load == Load::Version {
            self.call(caller, "lockless_version", vec![]).await?;
            return Ok(1);
        }
        let session = format!("session-{caller}");
        let arguments = vec![
            session,
            "en".to_owned(),
            "zh".to_owned(),
            PAYLOAD.to_owned(),
        ];
        let granted = self.call(caller, "lockless_dispatch", arguments).await?;
        let [node, job] = <[String; 2]>::try_from(granted)
            .map_err(|reply| format!("dispatch replied {reply:?}"))?;
        self.call(
            caller,
            "lockless_complete",
            vec![job, node, "finished".to_owned()],
        )
        .await?;
        Ok(2)
    }

    async fn call(
        &self,
        caller: usize,
        function: &'static str,
        arguments: Vec<String>,
    ) -> Result<Vec<String>, Reason> {
        match self {
            Self::Redis { connections } => {
                let mut connection = connections[caller % connections.len()].clone();
                let mut command = redis::cmd("FCALL");
                command.arg(function).arg(1).arg(ROOT).arg(arguments);
                let reply: redis::Value = command.query_async(&mut connection).await?;
                Ok(match redis::from_redis_value(reply.clone()) {
                    Ok(list) => list,
                    Err(_) => vec![redis::from_redis_value(reply)?],
                })
            }
            Self::Fred {
                pool,
                is_blocking: true,
            } => words(pool.fcall(function, vec![ROOT], arguments)).await,
            Self::Fred {
                pool,
                is_blocking: false,
            } => {
                let mut all: Vec<Value> = vec![function.into(), 1.into(), ROOT.into()];
                all.extend(arguments.into_iter().map(Value::from));
                let command = CustomCommand::new_static("FCALL", ClusterHash::Offset(2), false);
                words(pool.custom(command, all)).await
            }
        }
    }
}

async fn words(
    reply: impl Future<Output = Result<Value, fred::error::Error>>,
) -> Result<Vec<String>, Reason> {
    Ok(reply.await?.convert()?)
}
