use std::{thread, time::Duration};

use redis::{Cmd, ConnectionLike, cluster::ClusterClient};

use crate::{Error, Host, Reply};

/// Longer than any reply takes, also on a busy machine; the crate's default of half a second is not.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// A real server, or a Cluster, over one connection.
pub struct Real {
    name: &'static str,
    connection: Box<dyn ConnectionLike>,
}

impl Real {
    /// Connects to a standalone server.
    pub fn standalone(url: &str) -> Result<Real, Error> {
        let connection = redis::Client::open(url)?.get_connection()?;
        connection.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
        connection.set_write_timeout(Some(RESPONSE_TIMEOUT))?;
        Ok(Real {
            name: "standalone",
            connection: Box::new(connection),
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
}
