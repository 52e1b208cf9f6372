//! One caller: a client of Redis, or a client of a gateway.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, IntoConnectionInfo, Value};

use super::Fleet;
use crate::cell::{PAYLOAD, fcall_on};
use crate::http::Connection;
use crate::{Error, failed};

/// Connections that all callers without a gateway share, as a program has them: `redis-clients` finds no better number on two cores.
const CONNECTIONS: usize = 2;
/// On a busy machine a call takes long, and that is what is measured.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a dispatch is refused with when all slots are taken.
const FULL: &str = "NO_AVAILABLE_NODE";

/// Where callers come in.
#[derive(Clone)]
pub enum Door {
    /// FCALLs, over connections that all callers share.
    Direct(Vec<MultiplexedConnection>),
    /// HTTP to a gateway on this port, over a connection of each caller.
    Gateway(u16),
}

/// A job where it was granted.
pub struct Placed {
    /// Its id.
    pub job: String,
    /// Its node.
    pub node: String,
}

/// One caller of one cell.
pub struct Caller {
    entrance: Entrance,
    session: String,
    /// The nodes of the cell it calls.
    pub fleet: Arc<Fleet>,
}

enum Entrance {
    Direct(MultiplexedConnection),
    Gateway {
        connection: Connection,
        body: String,
    },
}

impl Door {
    /// Connections to the server on this port.
    pub async fn direct(port: u16) -> Result<Self, Error> {
        let open = async {
            let prompt = TcpSettings::default().set_nodelay(true);
            let info = format!("redis://127.0.0.1:{port}").into_connection_info()?;
            let client = redis::Client::open(info.set_tcp_settings(prompt))?;
            let mut connections = Vec::with_capacity(CONNECTIONS);
            for _ in 0..CONNECTIONS {
                let patient = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
                let connection = client.get_multiplexed_async_connection_with_config(&patient);
                connections.push(connection.await?);
            }
            Ok(connections)
        };
        open.await
            .map(Door::Direct)
            .map_err(|source| Error::Command {
                what: "a connection".to_owned(),
                source,
            })
    }

    /// The caller of this number.
    pub async fn caller(&self, number: usize, fleet: Arc<Fleet>) -> Result<Caller, Error> {
        let session = format!("session-{number}");
        let entrance = match self {
            Door::Direct(connections) => {
                Entrance::Direct(connections[number % connections.len()].clone())
            }
            Door::Gateway(port) => {
                let connection = Connection::open(*port).await.map_err(failed("a caller"))?;
                let body = format!(
                    r#"{{"session":"{session}","src":"en","tgt":"zh","payload":{PAYLOAD}}}"#
                );
                Entrance::Gateway {
                    connection: connection.with_header("lockless-cell", fleet.root()),
                    body,
                }
            }
        };
        Ok(Caller {
            entrance,
            session,
            fleet,
        })
    }
}

impl Caller {
    /// Places one job; nothing when all slots are taken.
    pub async fn dispatch(&mut self) -> Result<Option<Placed>, Error> {
        let placed = match &mut self.entrance {
            Entrance::Direct(connection) => {
                let words = [&self.session, "en", "zh", PAYLOAD];
                let command = fcall_on(self.fleet.root(), "lockless_dispatch", &words);
                match command.query_async::<(String, String)>(connection).await {
                    Ok((node, job)) => Placed { job, node },
                    Err(refusal) if refusal.code() == Some(FULL) => return Ok(None),
                    Err(source) => return Err(of_command("lockless_dispatch", source)),
                }
            }
            Entrance::Gateway { connection, body } => {
                let answer = connection.exchange("POST", "/v1/jobs", body).await;
                let answer = answer.map_err(failed("POST /v1/jobs"))?;
                let text = std::str::from_utf8(answer.body).map_err(failed("POST /v1/jobs"))?;
                match (answer.status, placed_in(text)) {
                    (200, Some(placed)) => placed,
                    (503, _) if text.contains(FULL) => return Ok(None),
                    _ => return Err(Error::unexpected("POST /v1/jobs", &text)),
                }
            }
        };
        self.fleet.granted(&placed.node)?;
        Ok(Some(placed))
    }

    /// The job's node acknowledges it.
    pub async fn ack(&mut self, placed: &Placed) -> Result<(), Error> {
        match &mut self.entrance {
            Entrance::Direct(connection) => {
                let words = [&placed.job, &placed.node];
                let command = fcall_on(self.fleet.root(), "lockless_ack", &words);
                let done = command.query_async::<Value>(connection).await;
                done.map(drop)
                    .map_err(|source| of_command("lockless_ack", source))
            }
            Entrance::Gateway { connection, .. } => {
                let path = format!("/v1/jobs/{}/ack", placed.job);
                let body = format!(r#"{{"node":"{}"}}"#, placed.node);
                let done = connection.ask("POST", &path, &body).await;
                done.map(drop).map_err(failed("an ack over HTTP"))
            }
        }
    }

    /// The job's node completes it.
    pub async fn complete(&mut self, placed: &Placed) -> Result<(), Error> {
        self.fleet.given_back(&placed.node)?;
        match &mut self.entrance {
            Entrance::Direct(connection) => {
                let words = [&placed.job, placed.node.as_str(), "finished"];
                let command = fcall_on(self.fleet.root(), "lockless_complete", &words);
                let done = command.query_async::<Value>(connection).await;
                done.map(drop)
                    .map_err(|source| of_command("lockless_complete", source))
            }
            Entrance::Gateway { connection, .. } => {
                let path = format!("/v1/jobs/{}/complete", placed.job);
                let body = format!(r#"{{"node":"{}","status":"finished"}}"#, placed.node);
                let done = connection.ask("POST", &path, &body).await;
                done.map(drop).map_err(failed("a complete over HTTP"))
            }
        }
    }
}

/// `{"node_id":"node-000001","job_id":"b1"}`: both are made of characters that JSON takes as they are.
fn placed_in(answer: &str) -> Option<Placed> {
    let mut words = answer.split('"').skip(3).step_by(4);
    let (node, job) = (words.next()?, words.next()?);
    Some(Placed {
        job: job.to_owned(),
        node: node.to_owned(),
    })
}

fn of_command(what: &str, source: redis::RedisError) -> Error {
    Error::Command {
        what: what.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::placed_in;

    #[test]
    fn the_answer_names_the_node_and_the_job() {
        let placed = placed_in(r#"{"node_id":"node-000001","job_id":"b1"}"#).unwrap();
        assert_eq!(
            (placed.node.as_str(), placed.job.as_str()),
            ("node-000001", "b1")
        );
        assert!(placed_in(r#"{"code":"INTERNAL"}"#).is_none());
    }
}
