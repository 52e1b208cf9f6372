//! Finds the primaries, again and again, and says whether calls can be made.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use lockless_topology::{Address, Primary, Way, cluster_primaries, latest_epoch};
use redis::Cmd;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::View;
use super::access::Access;
use super::library::Keeper;
use super::link::Link;
use super::map::Map;
use super::server::{Manner, Server};
use crate::backend::{Failure, Reply, Status};

/// How long it is until the next look, if nothing changes before.
const WHEN_READY: Duration = Duration::from_secs(3);
const WHEN_NOT: Duration = Duration::from_millis(250);
/// Connections that break one after the other, and calls that meet a moved cell, are one change.
const SETTLE: Duration = Duration::from_millis(20);
/// How long a server may take to say who the primaries are, and which library it has.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// The task that looks.
pub(super) struct Watcher {
    way: Way,
    sentinels: Vec<(Address, Link)>,
    manner: Arc<Manner>,
    library: Keeper,
    view: Arc<watch::Sender<View>>,
    uses_tls: bool,
    /// The server that the URL names, while it is needed to find the others.
    seed: Option<Arc<Server>>,
    was_ready: bool,
}

impl Watcher {
    pub(super) fn new(
        way: Way,
        access: Arc<Access>,
        manner: Arc<Manner>,
        library: Keeper,
        view: Arc<watch::Sender<View>>,
    ) -> Self {
        let uses_tls = access.uses_tls();
        let sentinels = match &way {
            Way::Server(_) => Vec::new(),
            Way::Sentinels { sentinels, .. } => sentinels
                .iter()
                .map(|address| {
                    let (access, stats) = (Arc::clone(&access), Arc::clone(&manner.stats));
                    (
                        address.clone(),
                        Link::start(
                            &Handle::current(),
                            access,
                            address.clone(),
                            ANSWER_WITHIN,
                            stats,
                            None,
                        ),
                    )
                })
                .collect(),
        };
        Self {
            way,
            sentinels,
            manner,
            library,
            view,
            uses_tls,
            seed: None,
            was_ready: false,
        }
    }

    pub(super) async fn watch(mut self) {
        loop {
            let status = self.look().await;
            self.tell(&status);
            let pause = if status == Status::Ready {
                WHEN_READY
            } else {
                WHEN_NOT
            };
            self.view.send_modify(|view| view.status = status);
            tokio::select! {
                () = sleep(pause) => {}
                () = self.manner.stats.changed.notified() => sleep(SETTLE).await,
            }
        }
    }

    fn tell(&mut self, status: &Status) {
        let is_ready = *status == Status::Ready;
        match status {
            Status::Ready if !self.was_ready => tracing::info!("Redis is ready"),
            Status::NotReady(why) if *status != self.view.borrow().status => {
                tracing::warn!(why, "Redis is not ready");
            }
            _ => {}
        }
        self.was_ready = is_ready;
    }

    async fn look(&mut self) -> Status {
        let known = self.view.borrow().map.clone();
        let found = match &self.way {
            Way::Server(seed) => {
                let seed = seed.clone();
                self.ask_servers(known.as_deref(), &seed).await
            }
            Way::Sentinels { name, .. } => {
                let name = name.clone();
                self.ask_sentinels(known.as_deref(), &name).await
            }
        };
        let primaries = match found {
            Ok(primaries) => primaries,
            Err(why) => {
                let status = Status::NotReady(why);
                self.tell(&status);
                self.view.send_modify(|view| {
                    view.status = status.clone();
                    view.looks += 1;
                });
                return status;
            }
        };
        let map = Arc::new(self.map(primaries, known.as_deref()));
        self.view.send_modify(|view| {
            view.map = Some(Arc::clone(&map));
            view.looks += 1;
        });
        let library = &self.library;
        let checks = map.primaries().iter().map(|(primary, server)| async move {
            let ensured = timeout(ANSWER_WITHIN, library.ensure(primary, server)).await;
            ensured.unwrap_or_else(|_| Err(format!("{} does not answer", server.address)))
        });
        let mut problems = join_all(checks).await.into_iter().filter_map(Result::err);
        problems.next().map_or(Status::Ready, Status::NotReady)
    }

    /// Keeps the connections to servers that are still there.
    fn map(&mut self, primaries: Vec<Primary>, known: Option<&Map>) -> Map {
        let seed = self.seed.take();
        let with_server = primaries.into_iter().map(|primary| {
            let known = known.and_then(|map| map.server_at(&primary.address));
            let seed = seed.as_ref().filter(|seed| seed.address == primary.address);
            let server = match known.or(seed) {
                Some(server) => Arc::clone(server),
                None => Arc::new(Server::start(
                    primary.address.clone(),
                    Arc::clone(&self.manner),
                )),
            };
            (primary, server)
        });
        Map::new(with_server.collect())
    }

    /// Asks all servers that are known, and the one of the URL when none of them answers.
    async fn ask_servers(
        &mut self,
        known: Option<&Map>,
        seed: &Address,
    ) -> Result<Vec<Primary>, String> {
        if let Some(map) = known {
            let asked = join_all(map.servers().map(|server| self.ask(server))).await;
            let (answers, problems): (Vec<_>, Vec<_>) = asked.into_iter().partition(Result::is_ok);
            // The others have outvoted a server that was cut off from them.
            if let Some(latest) = answers
                .into_iter()
                .flatten()
                .max_by_key(|answer| answer.epoch)
            {
                return latest.primaries;
            }
            if map.server_at(seed).is_some() {
                let problem = problems.into_iter().find_map(Result::err);
                return Err(problem.unwrap_or_else(|| format!("{seed} does not answer")));
            }
        }
        let start = || Arc::new(Server::start(seed.clone(), Arc::clone(&self.manner)));
        let server = self.seed.take().unwrap_or_else(start);
        let answer = self.ask(&server).await;
        self.seed = Some(server);
        answer?.primaries
    }

    /// Asks one server who the primaries are.
    async fn ask(&self, server: &Server) -> Result<Answer, String> {
        let address = &server.address;
        let question = async {
            let about = server.ask(redis::cmd("HELLO")).await?;
            if about.field("mode").as_deref() != Some("cluster") {
                return Ok((about, None));
            }
            let nodes = server
                .ask(redis::cmd("CLUSTER").arg("NODES").take())
                .await?;
            Ok((about, Some(nodes)))
        };
        let (about, nodes) = match timeout(ANSWER_WITHIN, question).await {
            Ok(Ok(answer)) => answer,
            // The reason names the server.
            Ok(Err(Failure::Away(why))) => return Err(why),
            Ok(Err(failure)) => return Err(format!("{address}: {failure}")),
            Err(_) => return Err(format!("{address} does not answer")),
        };
        if let Some(Reply::Bytes(nodes)) = nodes {
            let nodes = String::from_utf8_lossy(&nodes);
            let mut primaries = cluster_primaries(&nodes, &address.host, self.uses_tls);
            primaries.retain(Primary::has_slots);
            let found = if primaries.is_empty() {
                Err(format!("{address} is part of a Cluster without slots"))
            } else {
                Ok(primaries)
            };
            return Ok(Answer {
                epoch: latest_epoch(&nodes),
                primaries: found,
            });
        }
        let mode = about.field("mode").unwrap_or_default();
        let role = about.field("role").unwrap_or_default();
        let found = match (mode.as_str(), role.as_str()) {
            ("sentinel", _) => Err(format!(
                "{address} is a Sentinel: the URL must begin with redis+sentinel://"
            )),
            (_, "master") => Ok(vec![Primary::alone(address.clone())]),
            _ => Err(format!(
                "{address} is a replica: the URL must name its primary, or the Sentinels"
            )),
        };
        Ok(Answer {
            epoch: 0,
            primaries: found,
        })
    }

    /// Asks the Sentinels in turn. One that was away may name a server that is a replica by now.
    async fn ask_sentinels(
        &mut self,
        known: Option<&Map>,
        name: &str,
    ) -> Result<Vec<Primary>, String> {
        let mut question = redis::cmd("SENTINEL");
        question.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
        let mut problems = Vec::new();
        for (address, link) in &self.sentinels {
            let primary = match timeout(ANSWER_WITHIN, ask_link(link, &question)).await {
                Ok(Ok(Some(primary))) => primary,
                Ok(Ok(None)) => {
                    problems.push(format!("{address} knows no primary called {name}"));
                    continue;
                }
                Ok(Err(why)) => {
                    problems.push(why);
                    continue;
                }
                Err(_) => {
                    problems.push(format!("{address} does not answer"));
                    continue;
                }
            };
            let server = match known.and_then(|map| map.server_at(&primary)) {
                Some(server) => Arc::clone(server),
                None => Arc::new(Server::start(primary.clone(), Arc::clone(&self.manner))),
            };
            match self.ask(&server).await {
                Ok(answer) if answer.primaries.is_ok() => {
                    self.seed = Some(server);
                    return answer.primaries;
                }
                Ok(_) => problems.push(format!("{address} names {primary}, which is a replica")),
                Err(why) => problems.push(why),
            }
        }
        Err(format!(
            "no Sentinel names the primary: {}",
            problems.join("; ")
        ))
    }
}

/// What one server says.
struct Answer {
    epoch: u64,
    primaries: Result<Vec<Primary>, String>,
}

async fn ask_link(link: &Link, question: &Cmd) -> Result<Option<Address>, String> {
    let mut opened = link.opened().await?;
    let answer: redis::RedisResult<Option<(String, u16)>> =
        question.query_async(&mut opened.connection).await;
    let named = answer.map_err(|error| error.to_string())?;
    Ok(named.map(|(host, port)| Address { host, port }))
}
