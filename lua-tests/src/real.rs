use std::{thread, time::Duration};

use redis::{Cmd, Connection, ConnectionLike, cluster::ClusterClient};

use crate::{Error, Host, Reply};

/// Longer than any reply takes, also on a busy machine; the crate's default of half a second is not.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// A real server, or a Cluster, over one connection.
pub struct Real {
    name: &'static str,
    connection: Box<dyn ConnectionLike>,
    urls: Vec<String>,
    ear: Option<Ear>,
}

/// A connection that is subscribed to a sharded channel.
struct Ear {
    connection: Connection,
    channel: Vec<u8>,
}

/// Said after everything else, so that whoever hears it has heard all before it. No function says it.
const LAST_WORD: &[u8] = b"that was all";

fn connect(url: &str) -> Result<Connection, Error> {
    let connection = redis::Client::open(url)?.get_connection()?;
    connection.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
    connection.set_write_timeout(Some(RESPONSE_TIMEOUT))?;
    Ok(connection)
}

impl Ear {
    /// Subscribes on this server; none when another one serves the channel's slot.
    fn on(url: &str, channel: &[u8]) -> Result<Option<Ear>, Error> {
        let mut connection = connect(url)?;
        let subscribe = redis::cmd("SSUBSCRIBE").arg(channel).get_packed_command();
        connection.send_packed_command(&subscribe)?;
        match connection.recv_response() {
            Ok(redis::Value::Array(_)) => Ok(Some(Ear {
                connection,
                channel: channel.to_owned(),
            })),
            Ok(redis::Value::ServerError(error)) if error.code() == "MOVED" => Ok(None),
            Ok(other) => Err(Error::UnexpectedReply(format!("{other:?}"))),
            Err(error) if error.code() == Some("MOVED") => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn next(&mut self) -> Result<Vec<u8>, Error> {
        let unexpected = |value: &redis::Value| Error::UnexpectedReply(format!("{value:?}"));
        let said = self.connection.recv_response()?;
        match &said {
            redis::Value::Array(parts) => match parts.as_slice() {
                [_, _, redis::Value::BulkString(message)] => Ok(message.clone()),
                _ => Err(unexpected(&said)),
            },
            other => Err(unexpected(other)),
        }
    }
}

impl Real {
    /// Connects to a standalone server.
    pub fn standalone(url: &str) -> Result<Real, Error> {
        Ok(Real {
            name: "standalone",
            connection: Box::new(connect(url)?),
            urls: vec![url.to_owned()],
            ear: None,
        })
    }

    /// Connects to a Cluster through some of its nodes. Commands go to the node that serves their key.
    pub fn cluster(urls: &[String]) -> Result<Real, Error> {
        let client = ClusterClient::builder(urls.iter().map(String::as_str))
            .connection_timeout(RESPONSE_TIMEOUT)
            .response_timeout(RESPONSE_TIMEOUT)
            .build()?;
        let connection = client.get_connection()?;
        Ok(Real {
            name: "cluster",
            connection: Box::new(connection),
            urls: urls.to_vec(),
            ear: None,
        })
    }

    /// Loads a library on every primary, in place of one with the same name.
    pub fn load_library(&mut self, source: &str) -> Result<(), Error> {
        match self.send(
            redis::cmd("FUNCTION")
                .arg("LOAD")
                .arg("REPLACE")
                .arg(source),
        )? {
            Reply::Error(line) => Err(Error::Library(line)),
            _ => Ok(()),
        }
    }

    fn send(&mut self, command: &Cmd) -> Result<Reply, Error> {
        match self.connection.req_command(command) {
            Ok(value) => Reply::from_redis(value),
            Err(error) => Reply::from_redis_error(error),
        }
    }

    fn call_function(
        &mut self,
        command: &str,
        function: &str,
        keys: &[&[u8]],
        args: &[Vec<u8>],
    ) -> Result<Reply, Error> {
        self.send(
            redis::cmd(command)
                .arg(function)
                .arg(keys.len())
                .arg(keys)
                .arg(args),
        )
    }
}

impl Host for Real {
    fn name(&self) -> &str {
        self.name
    }

    fn fcall(&mut self, function: &str, keys: &[&[u8]], args: &[Vec<u8>]) -> Result<Reply, Error> {
        self.call_function("FCALL", function, keys, args)
    }

    fn fcall_ro(
        &mut self,
        function: &str,
        keys: &[&[u8]],
        args: &[Vec<u8>],
    ) -> Result<Reply, Error> {
        self.call_function("FCALL_RO", function, keys, args)
    }

    fn command(&mut self, args: &[Vec<u8>]) -> Result<Reply, Error> {
        let mut command = Cmd::new();
        command.arg(args);
        self.send(&command)
    }

    fn pass_time(&mut self, ms: u64) -> Result<(), Error> {
        thread::sleep(Duration::from_millis(ms));
        Ok(())
    }

    fn hear(&mut self, channel: &[u8]) -> Result<(), Error> {
        for url in &self.urls {
            self.ear = Ear::on(url, channel)?;
            if self.ear.is_some() {
                return Ok(());
            }
        }
        Err(Error::UnexpectedReply("no server has the slot".to_owned()))
    }

    fn heard(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        let Some(mut ear) = self.ear.take() else {
            return Ok(Vec::new());
        };
        let last_word = redis::cmd("SPUBLISH")
            .arg(&ear.channel)
            .arg(LAST_WORD)
            .take();
        self.send(&last_word)?;
        let mut said = Vec::new();
        loop {
            match ear.next()? {
                message if message == LAST_WORD => break,
                message => said.push(message),
            }
        }
        self.ear = Some(ear);
        Ok(said)
    }
}
