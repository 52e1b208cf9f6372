//! What is said once everything runs: where the pages are, and lines to paste that work as things are.

use super::host::{CLUSTER_CELLS, Host};

/// What there is to call.
pub(super) struct Up<'a> {
    pub(super) address: &'a str,
    pub(super) redis: Redis,
    pub(super) agents: u16,
}

/// How Redis is reached, if it is there.
#[derive(Clone, Copy)]
pub(super) enum Redis {
    None,
    Server { port: u16 },
    Cluster { port: u16 },
}

impl Redis {
    pub(super) fn of(host: &Host) -> Self {
        match host {
            Host::Embedded => Self::None,
            Host::Redis(server) => Self::Server {
                port: server.port(),
            },
            Host::Cluster(cluster) => cluster
                .primaries()
                .next()
                .map_or(Self::None, |node| Self::Cluster { port: node.port() }),
        }
    }
}

impl Up<'_> {
    /// All of it.
    pub(super) fn text(&self) -> String {
        let address = self.address;
        let host = match self.redis {
            Redis::None => {
                "embedded in the gateway; --redis or --cluster starts a private Redis".to_owned()
            }
            Redis::Server { port } => format!("in redis://127.0.0.1:{port}"),
            Redis::Cluster { port } => {
                format!("in a Cluster of three, redis://127.0.0.1:{port} and others")
            }
        };
        let intro = match self.agents {
            0 => "There is no node yet; one that sends no heartbeat for 30 s is lost.".to_owned(),
            agents => format!(
                "{agents} agent(s) run what jobs and deployments name: sleep, sha256sum or echo."
            ),
        };
        format!(
            "\nLockless {} is up.\n\n  Dashboard   {address}/\n  Playground  {address}/playground\n  Reference   {address}/docs\n  \
             Scheduler   {host}\n\n{intro} Try, from another terminal:\n\n  {}\n\nCtrl-C stops it; nothing is kept.",
            lockless_functions::VERSION,
            self.lines().join("\n  "),
        )
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = if self.agents > 0 {
            self.with_agents()
        } else {
            self.without_nodes()
        };
        let address = self.address;
        match self.fcall() {
            None => lines.push(format!("curl {address}/v1/counters")),
            Some(fcall) => lines.push(format!("{fcall} lockless_stats {CELL}")),
        }
        if let Redis::Cluster { .. } = self.redis {
            let other = CLUSTER_CELLS[1];
            lines.push(format!(
                "curl -X PUT {address}/v1/nodes/node-1 -H 'lockless-cell: {other}' --json '{{\"max_jobs\": 4}}'"
            ));
        }
        lines
    }

    fn fcall(&self) -> Option<String> {
        match self.redis {
            Redis::None => None,
            Redis::Server { port } => Some(format!("redis-cli -p {port} FCALL")),
            Redis::Cluster { port } => Some(format!("redis-cli -c -p {port} FCALL")),
        }
    }

    fn with_agents(&self) -> Vec<String> {
        let address = self.address;
        let mut lines = vec![
            format!(
                r#"curl {address}/v1/queue --json '{{"job": "job-1", "payload": {{"argv": ["sha256sum", "/etc/hostname"]}}}}'"#
            ),
            format!("curl '{address}/v1/jobs/job-1?wait_ms=10000'"),
        ];
        let nap = r#"{"argv": ["sleep", "1000"]}"#;
        let sleep = r#"{"argv": ["sleep", "5"], "timeout_ms": 60000}"#;
        lines.extend(match self.fcall() {
            None => [
                format!(r#"curl {address}/v1/queue --json '{{"job": "job-2", "payload": {sleep}, "mem_mb": 10}}'"#),
                format!("curl {address}/v1/jobs/job-2"),
                format!(r#"curl -X PUT {address}/v1/deployments/nap --json '{{"spec": {nap}}}'"#),
                format!("curl {address}/v1/deployments/nap"),
            ],
            Some(fcall) => [
                format!("{fcall} lockless_submit {CELL} job-2 '{sleep}' MEM_MB 10"),
                format!("{fcall} lockless_job {CELL} job-2"),
                format!("{fcall} lockless_deploy {CELL} nap SPEC '{nap}'"),
                format!("{fcall} lockless_deployment {CELL} nap"),
            ],
        });
        lines
    }

    fn without_nodes(&self) -> Vec<String> {
        let address = self.address;
        vec![
            format!(
                r#"curl -X PUT {address}/v1/nodes/node-1 --json '{{"max_jobs": 4, "pairs": [["en", "zh"]]}}'"#
            ),
            format!(
                r#"curl {address}/v1/jobs --json '{{"session": "s1", "src": "en", "tgt": "zh", "payload": {{"text": "hello"}}, "job": "job-1"}}'"#
            ),
            format!("curl '{address}/v1/explain?session=s1&src=en&tgt=zh&require=gpu'"),
        ]
    }
}

const CELL: &str = "1 'scheduler:{main}'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_works_as_things_are() {
        let address = "http://127.0.0.1:8080";
        let all = [
            (Redis::None, "redis-cli", false),
            (
                Redis::Server { port: 4321 },
                "redis-cli -p 4321 FCALL lockless_stats 1 'scheduler:{main}'",
                true,
            ),
            (
                Redis::Cluster { port: 4321 },
                "redis-cli -c -p 4321 FCALL lockless_stats 1 'scheduler:{main}'",
                true,
            ),
        ];
        for (redis, line, is_there) in all {
            for agents in [0, 2] {
                let text = Up {
                    address,
                    redis,
                    agents,
                }
                .text();
                let first = text
                    .lines()
                    .find(|line| line.contains("http"))
                    .unwrap_or_default();
                assert!(first.ends_with("http://127.0.0.1:8080/"), "{text}");
                assert_eq!(text.contains(line), is_there, "{text}");
                let curls = text.lines().filter(|line| line.contains("curl "));
                let own = |line: &str| line.contains("http://127.0.0.1:8080/v1/");
                assert!(
                    curls.clone().count() >= 2 && curls.clone().all(own),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn the_cells_of_a_cluster_are_on_different_primaries() {
        let third = |cell: &&str| lockless_topology::slot_of_key(cell) / 5462;
        let mut thirds: Vec<u16> = CLUSTER_CELLS.iter().map(third).collect();
        thirds.sort_unstable();
        assert_eq!(thirds, [0, 1, 2]);
    }
}
