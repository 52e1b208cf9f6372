//! Finds every primary that needs the library.

use lockless_topology::{Address, Login, Primary, Way, cluster_primaries};
use redis::{RedisError, cmd};

use super::info::Info;
use super::link::{Access, Link, explain};
use super::problem::Problem;

/// All primaries behind a URL.
pub(crate) fn find(way: &Way, access: &Access) -> Result<Vec<Primary>, Problem> {
    match way {
        Way::Server(address) => from_server(&mut access.connect(address)?, access),
        Way::Sentinels {
            sentinels,
            name,
            login,
        } => {
            let address = ask_sentinels(sentinels, name, login, access)?;
            println!("The Sentinels name {address} as the primary of {name}.");
            Ok(vec![Primary::alone(address)])
        }
    }
}

/// Refuses a server that can't take the library: too old, or a replica.
pub(crate) fn check(link: &mut Link) -> Result<(), Problem> {
    let info = Info::read(link)?;
    info.refuse_old(&link.address)?;
    info.refuse_replica(&link.address)
}

fn from_server(link: &mut Link, access: &Access) -> Result<Vec<Primary>, Problem> {
    let info = Info::read(link)?;
    info.refuse_old(&link.address)?;
    if info.get("redis_mode") == Some("sentinel") {
        return Err(Problem::IsSentinel {
            address: link.address.clone(),
        });
    }
    if info.get("cluster_enabled") != Some("1") {
        info.refuse_replica(&link.address)?;
        return Ok(vec![Primary::alone(link.address.clone())]);
    }
    let nodes: String = link.ask("CLUSTER NODES", cmd("CLUSTER").arg("NODES"))?;
    let mut primaries = cluster_primaries(&nodes, &link.address.host, access.tls.is_some());
    primaries.retain(|primary| primary.has_slots() || !is_replica_by_now(primary, access));
    if primaries.is_empty() {
        return Err(Problem::NoPrimaries {
            address: link.address.clone(),
        });
    }
    println!(
        "{} is part of a Cluster of {} primaries.",
        link.address,
        primaries.len()
    );
    Ok(primaries)
}

/// News travels slowly in a Cluster: a node without slots may have become a replica that others still list as a primary.
fn is_replica_by_now(primary: &Primary, access: &Access) -> bool {
    let checked = access
        .connect(&primary.address)
        .and_then(|mut link| check(&mut link));
    matches!(checked, Err(Problem::Replica { .. }))
}

fn ask_sentinels(
    sentinels: &[Address],
    name: &str,
    login: &Login,
    access: &Access,
) -> Result<Address, Problem> {
    let own_access = Access {
        login: login.clone(),
        tls: access.tls.clone(),
    };
    let mut problems = Vec::new();
    for sentinel in sentinels {
        let asked = own_access.connect(sentinel).and_then(|mut link| {
            let question = cmd("SENTINEL")
                .arg("GET-MASTER-ADDR-BY-NAME")
                .arg(name)
                .to_owned();
            link.try_ask::<Option<(String, u16)>>(&question)
                .map_err(|error| sentinel_refusal(&error, sentinel))
        });
        match asked {
            Ok(Some((host, port))) => return Ok(Address { host, port }),
            Ok(None) => return Err(Problem::UnknownPrimary(name.to_owned())),
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    Err(Problem::NoSentinel(problems.join(" ")))
}

fn sentinel_refusal(error: &RedisError, sentinel: &Address) -> Problem {
    match error.code() {
        Some("NOAUTH") => Problem::SentinelPasswordNeeded {
            address: sentinel.clone(),
        },
        _ => explain(error, sentinel, "SENTINEL GET-MASTER-ADDR-BY-NAME"),
    }
}
