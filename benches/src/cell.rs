//! Cells as they are measured, and batches of calls on them.

use redis::{Cmd, Value};

use crate::link::{Link, Server};
use crate::{Error, rounds::Cost};

/// The root key. Each cell has a database of its own, so all can have the same.
pub const ROOT: &str = "scheduler:{main}";
/// Presence that outlasts any run, in ms.
const PRESENCE_MS: &str = "1800000";
/// Sessions that dispatch in turn.
const SESSIONS: usize = 64;
const WARM_UP_JOBS: usize = 16;
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
    payload: String,
}

/// An FCALL of a function of the library on the cell.
pub fn fcall<A: AsRef<str>>(function: &str, args: &[A]) -> Cmd {
    fcall_on(ROOT, function, args)
}

/// The same on a cell of another name.
pub fn fcall_on<A: AsRef<str>>(root: &str, function: &str, args: &[A]) -> Cmd {
    let mut command = redis::cmd("FCALL");
    command.arg(function).arg(1).arg(root);
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
        let mut cell = Cell {
            link,
            calls: 0,
            payload: PAYLOAD.to_owned(),
        };
        cell.warm_up()?;
        Ok(cell)
    }

    /// The usual cell: all nodes alike, 4 slots each, one pool, one language pair.
    pub fn plain(server: &mut Server, nodes: usize) -> Result<Self, Error> {
        Self::new(server, nodes, |_| plain_node())
    }

    /// From here on every job has this payload.
    #[must_use]
    pub fn with_payload(mut self, payload: &str) -> Self {
        payload.clone_into(&mut self.payload);
        self
    }

    /// Changes a setting.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let command = fcall("lockless_config", &[name, value]);
        self.link.one(&command).map(drop)
    }

    /// Gives nodes their long presence again: at default settings a heartbeat is good for 30 s only.
    pub fn keep_present(&mut self, names: &[String]) -> Result<(), Error> {
        set_presence(&mut self.link)?;
        let beats: Vec<Cmd> = names
            .iter()
            .map(|name| fcall("lockless_heartbeat", &[name]))
            .collect();
        self.link.all(&beats)?;
        set_defaults(&mut self.link)
    }

    /// Takes the records of ended jobs away.
    pub fn forget(&mut self, jobs: &[Granted]) -> Result<(), Error> {
        let keys: Vec<String> = jobs
            .iter()
            .map(|it| format!("{ROOT}:job:{}", it.job))
            .collect();
        self.link
            .one(redis::cmd("DEL").arg("no-such-key").arg(keys))
            .map(drop)
    }

    /// Every session has a pool after this, and every shape its cached match.
    fn warm_up(&mut self) -> Result<(), Error> {
        // Not all at once, because the smallest cell has fewer slots.
        for _ in 0..SESSIONS / WARM_UP_JOBS {
            let granted = self.dispatch(WARM_UP_JOBS, &[])?;
            self.complete(&granted)?;
        }
        Ok(())
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
                let mut command =
                    fcall("lockless_dispatch", &[&session, "en", "zh", &self.payload]);
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

    /// The cost per call of what `work` calls.
    pub fn timed<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<(Cost, T), Error> {
        self.link.begin()?;
        let done = work(self)?;
        Ok((self.link.cost_per_fcall()?, done))
    }

    /// The cost of whole jobs: dispatch, ack and complete.
    pub fn job_cost(&mut self, calls: usize) -> Result<Cost, Error> {
        let (cost, ()) = self.timed(|cell| {
            let jobs = cell.dispatch(calls, &[])?;
            cell.ack(&jobs)?;
            cell.complete(&jobs)
        })?;
        Ok(3.0 * cost)
    }

    /// The cost per call of dispatches and completions.
    pub fn way_cost(&mut self, calls: usize) -> Result<Cost, Error> {
        let (cost, ()) = self.timed(|cell| {
            let jobs = cell.dispatch(calls, &[])?;
            cell.complete(&jobs)
        })?;
        Ok(cost)
    }

    /// The cost of a dispatch; the jobs are completed afterwards, so that load stays even.
    pub fn dispatch_cost(&mut self, calls: usize, options: &[&str]) -> Result<Cost, Error> {
        let (cost, jobs) = self.timed(|cell| cell.dispatch(calls, options))?;
        self.complete(&jobs)?;
        Ok(cost)
    }
}

fn set_presence(link: &mut Link) -> Result<(), Error> {
    link.one(&presence_on(ROOT)).map(drop)
}

fn set_defaults(link: &mut Link) -> Result<(), Error> {
    link.one(&defaults_on(ROOT)).map(drop)
}

/// Nodes that register after this stay present for longer than any run.
pub fn presence_on(root: &str) -> Cmd {
    let setting = ["heartbeat_ttl_ms", PRESENCE_MS];
    fcall_on(root, "lockless_config", &setting)
}

/// Back to defaults. The presence given stays.
pub fn defaults_on(root: &str) -> Cmd {
    let setting = ["heartbeat_ttl_ms", "30000"];
    fcall_on(root, "lockless_config", &setting)
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

/// The same with so many labels, `label-00` and so on.
pub fn labelled_node(labels: usize) -> Vec<String> {
    let mut words = plain_node();
    for label in 0..labels {
        words.push("LABEL".to_owned());
        words.push(format!("label-{label:02}"));
    }
    words
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
