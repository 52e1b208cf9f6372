//! What the search must be able to see: a scheduler that reads and then writes, and libraries with one mistake each.

use fastrand::Rng;
use redis::{Connection, RedisError, RedisResult};

use super::call::{Call, Word};
use super::names::{JobId, NodeId, SessionId};
use super::record::Caller;
use super::scene::Scene;
use crate::Error;
use crate::mistake::library_in_which;
use crate::wire::{Answer, Said};

/// A scheduler of separate commands, as one writes it without functions: it looks whether a node has room, and then takes it.
pub(super) struct ReadThenWrite {
    connection: Connection,
}

impl ReadThenWrite {
    /// Over this connection.
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection }
    }

    fn get(&mut self, key: &str, field: &str) -> RedisResult<Option<String>> {
        redis::cmd("HGET")
            .arg(key)
            .arg(field)
            .query(&mut self.connection)
    }

    fn set(&mut self, key: &str, fields: &[(&str, String)]) -> RedisResult<()> {
        redis::cmd("HSET")
            .arg(key)
            .arg(fields)
            .exec(&mut self.connection)
    }

    fn add(&mut self, key: &str, field: &str, number: i64) -> RedisResult<i64> {
        let command = redis::cmd("HINCRBY").arg(key).arg(field).arg(number).take();
        command.query(&mut self.connection)
    }

    fn load(&mut self, key: &str) -> RedisResult<Option<(i64, i64)>> {
        let Some(max) = self.get(key, "max")? else {
            return Ok(None);
        };
        let held = self.get(key, "held")?.unwrap_or_default();
        let number = |text: String| text.parse().unwrap_or_default();
        Ok(Some((number(held), number(max))))
    }

    fn register(&mut self, root: &str, node: NodeId, max_jobs: u32) -> RedisResult<Said> {
        let key = format!("{root}:{node}");
        let incarnation = self.add(root, "incarnation", 1)?;
        let fields = [
            ("max", max_jobs.to_string()),
            ("held", "0".to_owned()),
            ("incarnation", incarnation.to_string()),
        ];
        self.set(&key, &fields)?;
        Ok(fields_reply(&[("incarnation", incarnation), ("held", 0)]))
    }

    fn dispatch(&mut self, root: &str, job: JobId, session: SessionId) -> RedisResult<Said> {
        let job_key = format!("{root}:{job}");
        if let Some(node) = self.get(&job_key, "node")? {
            return Ok(list_reply(&[node, job.to_string()]));
        }
        for number in 0..2 {
            let node = NodeId(number);
            let key = format!("{root}:{node}");
            if let Some((held, max)) = self.load(&key)?
                && held < max
            {
                self.add(&key, "held", 1)?;
                let fields = [("node", node.to_string()), ("session", session.to_string())];
                self.set(&job_key, &fields)?;
                return Ok(list_reply(&[node.to_string(), job.to_string()]));
            }
        }
        Ok(Said::Refused("NO_AVAILABLE_NODE".to_owned()))
    }

    fn complete(&mut self, root: &str, job: JobId, node: NodeId) -> RedisResult<Said> {
        let job_key = format!("{root}:{job}");
        if self.get(&job_key, "status")?.is_none() {
            self.set(&job_key, &[("status", "finished".to_owned())])?;
            self.add(&format!("{root}:{node}"), "held", -1)?;
        }
        Ok(Said::Reply(Answer::Text("OK".to_owned())))
    }

    fn look(&mut self, root: &str, node: NodeId) -> RedisResult<Said> {
        let key = format!("{root}:{node}");
        let Some((held, max)) = self.load(&key)? else {
            return Ok(Said::Refused("UNKNOWN_NODE".to_owned()));
        };
        let incarnation = self.get(&key, "incarnation")?.unwrap_or_default();
        let state = if held < max { "ready" } else { "full" };
        let mut texts = Vec::new();
        for (name, value) in [
            ("state", state.to_owned()),
            ("max_jobs", max.to_string()),
            ("current_jobs", held.to_string()),
            ("foreign", "0".to_owned()),
            ("effective", held.to_string()),
            ("draining", "false".to_owned()),
            ("online", "true".to_owned()),
            ("incarnation", incarnation),
        ] {
            texts.extend([name.to_owned(), value]);
        }
        Ok(list_reply(&texts))
    }
}

fn list_reply(texts: &[String]) -> Said {
    Said::Reply(Answer::List(
        texts.iter().cloned().map(Answer::Text).collect(),
    ))
}

fn fields_reply(fields: &[(&str, i64)]) -> Said {
    let pair =
        |(name, value): &(&str, i64)| [Answer::Text((*name).to_owned()), Answer::Int(*value)];
    Said::Reply(Answer::List(fields.iter().flat_map(pair).collect()))
}

impl Caller for ReadThenWrite {
    fn call(&mut self, root: &str, call: &Call) -> Said {
        let made = match *call {
            Call::Register { node, max_jobs, .. } => self.register(root, node, max_jobs),
            Call::Dispatch { job, session, .. } => self.dispatch(root, job, session),
            Call::Word {
                word: Word::Finished(_),
                job,
                node,
                ..
            } => self.complete(root, job, node),
            Call::Node { node } => self.look(root, node),
            _ => Ok(Said::Refused("ERR it knows no such call".to_owned())),
        };
        made.unwrap_or_else(|error: RedisError| Said::Maybe(error.to_string()))
    }

    fn cut(&mut self, root: &str, call: &Call, _: &mut Rng) -> Said {
        self.call(root, call)
    }
}

/// A mistake in the library.
pub(super) struct Mistake {
    /// What the cells are called that it is seen in.
    pub(super) name: &'static str,
    /// What is wrong.
    pub(super) summary: &'static str,
    /// Where it shows.
    pub(super) scene: Scene,
    right: &'static str,
    wrong: &'static str,
}

/// Some that a reader could overlook. Each must be seen by its effects.
pub(super) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "twice-freed",
        summary: "a completion that is said again frees another slot",
        scene: Scene::Pushed,
        right: "  if not nodes.place(c, node, rt) and status ~= arg.status then errors.wrong_state(job, status) end\n",
        wrong: "  if status ~= arg.status then errors.wrong_state(job, status) end\n  \
                ready.place(c, rt.class, node, rt.flags, nodes.held(c, node) - 1 + rt.foreign)\n",
    },
    Mistake {
        name: "early-freed",
        summary: "a job that may be running gives its slot back when it is cancelled",
        scene: Scene::Pushed,
        right: "  if state == 'reserved' then\n    jobs.let_go(c, job)\n    leases.free(c, node, rt, job, rec)\n",
        wrong: "  if true then\n    jobs.let_go(c, job)\n    leases.free(c, node, rt, job, rec)\n",
    },
    Mistake {
        name: "oversold",
        summary: "one more slot than there is may be reserved",
        scene: Scene::Reserved,
        right: "place >= classes.max_jobs(rt.class) * ready.UNIT then return 0",
        wrong: "place >= (classes.max_jobs(rt.class) + 1) * ready.UNIT then return 0",
    },
    Mistake {
        name: "undrained",
        summary: "a node that drains is given work",
        scene: Scene::Coming,
        right: "    ready.place(c, rt.class, node, flags, held + rt.foreign)\n    claims.place(c, node, flags)\n",
        wrong: "    claims.place(c, node, flags)\n",
    },
    Mistake {
        name: "unfenced",
        summary: "words of an older incarnation are heard",
        scene: Scene::Coming,
        right: "  if nodes.is_lost(rt) or (incarnation and incarnation ~= tonumber(rt.incarnation)) then errors.stale_node(node) end\n  return rt\n",
        wrong: "  if nodes.is_lost(rt) then errors.stale_node(node) end\n  return rt\n",
    },
    Mistake {
        name: "rebound",
        summary: "a request that was superseded binds again",
        scene: Scene::Bound,
        right: "  if rec and sessions.is_superseded(rec, request) then\n",
        wrong: "  if false then\n",
    },
    Mistake {
        name: "unlocked",
        summary: "a lock is given up for whoever asks",
        scene: Scene::Guards,
        right: "held.until_ms <= c.now or held.owner ~= arg.owner then return 0",
        wrong: "held.until_ms <= c.now then return 0",
    },
    Mistake {
        name: "unlimited",
        summary: "a rate limit allows one call too many",
        scene: Scene::Guards,
        right: "  elseif used < arg.limit then\n    reply = { 1, arg.limit - used - 1, 0 }",
        wrong: "  elseif used <= arg.limit then\n    reply = { 1, math.max(0, arg.limit - used - 1), 0 }",
    },
];

impl Mistake {
    /// The library with this mistake.
    pub(super) fn library(&self) -> Result<String, Error> {
        library_in_which(self.summary, self.right, self.wrong)
    }
}
