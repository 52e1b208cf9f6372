//! Cells as they are measured, and batches of calls on them.

use redis::{Cmd, Value};

use crate::link::{Link, Server};
use crate::{Error, rounds::Micros};

/// The root key. Each cell has a database of its own, so all can have the same.
pub const ROOT: &str = "scheduler:{main}";
/// Presence that outlasts any run, in ms.
const PRESENCE_MS: &str = "1800000";
/// Sessions that dispatch in turn.
const SESSIONS: usize = 64;
/// A payload of ordinary size.
pub const PAYLOAD: &str = r#"{"text":"hello, world","voice":"b2","speed":1.0}"#;

/// What a node says it can do, of ordinary size.
pub const CAPS: &str = r#"{"languages":["en","zh","ja"],"services":["asr","nmt","tts"],"gpu":"24 GB","version":"2.3.1"}"#;

/// A job where it was granted.
#[derive(Clone, Debug)]
pub struct Granted {
    /// Its node.
    pub node: String,
    /// Its id.
    pub job: String,
}

/// One cell at default settings, with nodes that stay present.
pub struct Cell {
    link: Link,
    calls: usize,
}

/// An FCALL of a function of the library on the cell.
pub fn fcall<A: AsRef<str>>(function: &str, args: &[A]) -> Cmd {
    let mut command = redis::cmd("FCALL");
    command.arg(function).arg(1).arg(ROOT);
    for arg in args {
        command.arg(arg.as_ref());
    }
    command
}

/// The name of the n-th node.
pub fn node(number: usize) -> String {
    format!("node-{number:06}")
}

impl Cell {
    /// A cell whose n-th node registers as `describe(n)` says: max_jobs, then options.
    pub fn new(
        server: &mut Server,
        nodes: usize,
        describe: impl Fn(usize) -> Vec<String>,
    ) -> Result<Self, Error> {
        let mut link = server.link()?;
        set_presence(&mut link)?;
        let register: Vec<Cmd> = (0..nodes)
            .map(|number| {
                let mut command = fcall("lockless_register", &[node(number)]);
                command.arg(describe(number));
                command
            })
            .collect();
        link.all(&register)?;
        set_defaults(&mut link)?;
        let mut cell = Cell { link, calls: 0 };
        cell.warm_up()?;
        Ok(cell)
    }

    /// The usual cell: all nodes alike, 4 slots each, one pool, one language pair.
    pub fn plain(server: &mut Server, nodes: usize) -> Result<Self, Error> {
        Self::new(server, nodes, |_| plain_node())
    }

    /// Changes a setting.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let command = fcall("lockless_config", &[name, value]);
        self.link.one(&command).map(drop)
    }

    /// Gives the first nodes their long presence again.
    pub fn stay_present(&mut self, nodes: usize) -> Result<(), Error> {
        set_presence(&mut self.link)?;
        let beats: Vec<Cmd> = (0..nodes)
            .map(|number| fcall("lockless_heartbeat", &[node(number)]))
            .collect();
        self.link.all(&beats)?;
        set_defaults(&mut self.link)
    }

    /// Takes the records of all jobs away.
    pub fn forget_jobs(&mut self) -> Result<(), Error> {
        let pattern = format!("{ROOT}:job:*");
        let keys = self.link.one(redis::cmd("KEYS").arg(pattern))?;
        self.link
            .one(redis::cmd("DEL").arg("no-such-key").arg(strings(keys)?))
            .map(drop)
    }

    /// Every session has a pool after this, and every shape its cached match.
    fn warm_up(&mut self) -> Result<(), Error> {
        let granted = self.dispatch(SESSIONS, &[])?;
        self.complete(&granted)
    }

    /// Sends calls that must not fail.
    pub fn all(&mut self, commands: &[Cmd]) -> Result<Vec<Value>, Error> {
        self.link.all(commands)
    }

    /// The cell's connection.
    pub fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    /// Dispatch commands of sessions in turn, each with these options; `#` in one stands for a number never used before.
    pub fn dispatches(&mut self, count: usize, options: &[&str]) -> Vec<Cmd> {
        (0..count)
            .map(|_| {
                self.calls += 1;
                let session = format!("session-{:02}", self.calls % SESSIONS);
                let mut command = fcall("lockless_dispatch", &[&session, "en", "zh", PAYLOAD]);
                for option in options {
                    command.arg(option.replace('#', &self.calls.to_string()));
                }
                command
            })
            .collect()
    }

    /// Dispatches so many jobs.
    pub fn dispatch(&mut self, count: usize, options: &[&str]) -> Result<Vec<Granted>, Error> {
        let commands = self.dispatches(count, options);
        granted(self.link.all(&commands)?)
    }

    /// The node of each acknowledges it.
    pub fn ack(&mut self, jobs: &[Granted]) -> Result<(), Error> {
        let commands: Vec<Cmd> = jobs
            .iter()
            .map(|it| fcall("lockless_ack", &[&it.job, &it.node]))
            .collect();
        self.link.all(&commands).map(drop)
    }

    /// The node of each completes it.
    pub fn complete(&mut self, jobs: &[Granted]) -> Result<(), Error> {
        let commands: Vec<Cmd> = jobs
            .iter()
            .map(|it| fcall("lockless_complete", &[&it.job, &it.node, "finished"]))
            .collect();
        self.link.all(&commands).map(drop)
    }

    /// Server time per call of what `work` calls.
    pub fn timed<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<(Micros, T), Error> {
        self.link.reset_statistics()?;
        let done = work(self)?;
        Ok((self.link.usec_per_fcall()?, done))
    }

    /// Server time per call of dispatches and completions.
    pub fn way_cost(&mut self, calls: usize) -> Result<Micros, Error> {
        let (micros, ()) = self.timed(|cell| {
            let jobs = cell.dispatch(calls, &[])?;
            cell.complete(&jobs)
        })?;
        Ok(micros)
    }

    /// Server time per dispatch; the jobs are completed afterwards, so that load stays even.
    pub fn dispatch_cost(&mut self, calls: usize, options: &[&str]) -> Result<Micros, Error> {
        let (micros, jobs) = self.timed(|cell| cell.dispatch(calls, options))?;
        self.complete(&jobs)?;
        Ok(micros)
    }
}

fn set_presence(link: &mut Link) -> Result<(), Error> {
    let setting = ["heartbeat_ttl_ms", PRESENCE_MS];
    link.one(&fcall("lockless_config", &setting)).map(drop)
}

/// Back to defaults, because a cell with a setting of its own reads it in every call. The presence given stays.
fn set_defaults(link: &mut Link) -> Result<(), Error> {
    link.one(redis::cmd("DEL").arg(format!("{ROOT}:config")))?;
    link.one(redis::cmd("HSET").arg(ROOT).arg("configured").arg("0"))
        .map(drop)
}

/// A reply that is a list of strings.
pub(crate) fn strings(reply: Value) -> Result<Vec<String>, Error> {
    redis::from_redis_value(reply).map_err(|source| Error::Command {
        what: "a list".to_owned(),
        source: source.into(),
    })
}

/// The description of a usual node.
pub fn plain_node() -> Vec<String> {
    let words = ["4", "POOL", "general", "PAIR", "en", "zh", "CAPS", CAPS];
    words.map(str::to_owned).to_vec()
}

/// The jobs that dispatches granted.
pub fn granted(replies: Vec<Value>) -> Result<Vec<Granted>, Error> {
    replies
        .into_iter()
        .map(|reply| {
            let (node, job) = redis::from_redis_value(reply).map_err(|source| Error::Command {
                what: "a dispatch".to_owned(),
                source: source.into(),
            })?;
            Ok(Granted { node, job })
        })
        .collect()
}
