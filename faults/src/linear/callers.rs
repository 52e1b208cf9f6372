//! Callers on a server and on a Cluster.

use std::time::Duration;

use fastrand::Rng;
use redis::Connection;
use redis::cluster::{ClusterClient, ClusterConnection};

use super::call::Call;
use super::record::Caller;
use crate::Error;
use crate::wire::{Said, Wire, connect, fcall};

/// Longer than any reply takes on a busy machine: only what is cut has none.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

fn command(root: &str, call: &Call) -> redis::Cmd {
    fcall(root, call.function(), &call.args())
}

/// Speaks with one server at a time. On a Cluster it goes to the one that it is told has the cell.
pub(super) struct Straight {
    url: String,
    connection: Option<Connection>,
}

impl Straight {
    /// To the server at `url`.
    pub(super) fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            connection: None,
        }
    }

    fn open(&mut self) -> Result<&mut Connection, Said> {
        match &mut self.connection {
            Some(connection) => Ok(connection),
            none => match connect(&self.url, PATIENCE) {
                Ok(connection) => Ok(none.insert(connection)),
                Err(error) => Err(Said::Unsent(error.to_string())),
            },
        }
    }

    fn send(&mut self, root: &str, call: &Call) -> Said {
        let said = match self.open() {
            Ok(connection) => Said::from_redis(command(root, call).query(connection)),
            Err(unsent) => unsent,
        };
        if matches!(said, Said::Maybe(_)) {
            self.connection = None;
        }
        said
    }
}

/// The address of the server that has the cell, when this one has not.
fn moved_to(said: &Said) -> Option<String> {
    match said {
        Said::Refused(line) => {
            let address = line.strip_prefix("MOVED ")?.split(' ').nth(1)?;
            Some(format!("redis://{address}"))
        }
        _ => None,
    }
}

impl Caller for Straight {
    fn call(&mut self, root: &str, call: &Call) -> Said {
        let said = self.send(root, call);
        match moved_to(&said) {
            // It was not made.
            Some(url) => {
                self.url = url;
                self.connection = None;
                self.send(root, call)
            }
            None => said,
        }
    }

    fn cut(&mut self, root: &str, call: &Call, random: &mut Rng) -> Said {
        let packed = command(root, call).get_packed_command();
        // Whole, the server makes it, now or after calls that are sent later; in part, it never does. The caller can't tell.
        let sent = if random.u32(..4) == 0 {
            random.usize(..packed.len())
        } else {
            packed.len()
        };
        let said = match self.open() {
            Ok(connection) => match connection.send_packed_command(&packed[..sent]) {
                Ok(()) => Said::Maybe("the connection was cut".to_owned()),
                Err(error) => Said::Maybe(error.to_string()),
            },
            Err(unsent) => unsent,
        };
        self.connection = None;
        said
    }
}

/// Speaks with a Cluster, and is sent on to the primary that has the cell.
pub(super) struct Routed {
    connection: ClusterConnection,
}

impl Routed {
    /// To the Cluster that these servers are of.
    pub(super) fn new(urls: &[String]) -> Result<Self, Error> {
        let open = || {
            ClusterClient::builder(urls.iter().map(String::as_str))
                .connection_timeout(PATIENCE)
                .response_timeout(PATIENCE)
                // A call that is sent again by the client would be two.
                .retries(0)
                .build()?
                .get_connection()
        };
        match open() {
            Ok(connection) => Ok(Self { connection }),
            Err(source) => Err(Error::Command {
                command: "connecting to the Cluster".to_owned(),
                source,
            }),
        }
    }
}

impl Caller for Routed {
    fn call(&mut self, root: &str, call: &Call) -> Said {
        Said::from_redis(command(root, call).query(&mut self.connection))
    }

    /// Its connections are its own: it makes the call instead.
    fn cut(&mut self, root: &str, call: &Call, _: &mut Rng) -> Said {
        Caller::call(self, root, call)
    }
}

/// For the test's own calls.
impl Wire for Routed {
    fn call(&mut self, root: &str, function: &str, args: &[String]) -> Said {
        Said::from_redis(fcall(root, function, args).query(&mut self.connection))
    }
}
