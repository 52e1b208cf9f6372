//! Finds every primary that needs the library.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use redis::{RedisError, cmd};

use super::address::{Address, Login, Way};
use super::link::{Access, Link, explain};
use super::problem::Problem;

const SLOTS: u16 = 16_384;
const OLDEST_MAJOR: u64 = 7;

/// A server that takes writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Primary {
    pub(crate) address: Address,
    slots: Slots,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Slots {
    /// Not a Cluster: any key is welcome.
    All,
    Ranges(Vec<RangeInclusive<u16>>),
}

impl Primary {
    fn has_slots(&self) -> bool {
        match &self.slots {
            Slots::All => true,
            Slots::Ranges(ranges) => !ranges.is_empty(),
        }
    }

    /// A key in one of this primary's own slots, so that a call with it is not sent elsewhere.
    pub(crate) fn own_key(&self) -> Option<String> {
        let ranges = match &self.slots {
            Slots::All => return Some("lockless:{deploy}".to_owned()),
            Slots::Ranges(ranges) => ranges,
        };
        // A primary with a single slot is found after 16,384 tries on average.
        (0..20 * u32::from(SLOTS))
            .map(|number| format!("deploy-{number}"))
            .find_map(|tag| {
                let slot = slot_of(&tag);
                ranges
                    .iter()
                    .any(|range| range.contains(&slot))
                    .then(|| format!("lockless:{{{tag}}}"))
            })
    }
}

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
            Ok(vec![Primary {
                address,
                slots: Slots::All,
            }])
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
        return Ok(vec![Primary {
            address: link.address.clone(),
            slots: Slots::All,
        }]);
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

/// Reads the lines of `CLUSTER NODES`: `id host:port@bus[,hostname] flags primary ping pong epoch state slot...`.
fn cluster_primaries(nodes: &str, asked_host: &str, uses_tls: bool) -> Vec<Primary> {
    nodes
        .lines()
        .filter_map(|line| cluster_primary(line, asked_host, uses_tls))
        .collect()
}

fn cluster_primary(line: &str, asked_host: &str, uses_tls: bool) -> Option<Primary> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (endpoint, flags) = (fields.get(1)?, fields.get(2)?);
    let has = |flag: &str| flags.split(',').any(|one| one == flag);
    let ranges: Vec<_> = fields
        .iter()
        .skip(8)
        .filter_map(|field| slot_range(field))
        .collect();
    // A primary that was replaced after a failure stays listed without slots; nobody will ever ask it again.
    let is_replaced = has("fail") && ranges.is_empty();
    if !has("master") || has("noaddr") || has("handshake") || is_replaced {
        return None;
    }
    let (endpoint, hostname) = endpoint.split_once(',').unwrap_or((endpoint, ""));
    // Later versions put more after the name, as `,shard-id=...`.
    let hostname = hostname.split(',').next().unwrap_or_default();
    let (host, port) = endpoint
        .split_once('@')
        .map_or(endpoint, |(before, _)| before)
        .rsplit_once(':')?;
    let host = if uses_tls && !hostname.is_empty() && !hostname.contains('=') {
        // A certificate is more likely made out to the name.
        hostname
    } else if host.is_empty() {
        // A node that has met no other yet does not know its own address.
        asked_host
    } else {
        host
    };
    let address = Address {
        host: host.to_owned(),
        port: port.parse().ok()?,
    };
    Some(Primary {
        address,
        slots: Slots::Ranges(ranges),
    })
}

/// `5` or `0-5460`; a slot on its way, `[5->-id]`, is also listed on its own.
fn slot_range(field: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = field.split_once('-').unwrap_or((field, field));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

/// The slot of a hash tag: CRC-16 (XMODEM) modulo the number of slots.
fn slot_of(tag: &str) -> u16 {
    let crc = tag.bytes().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            }
        })
    });
    crc % SLOTS
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

/// The lines of `INFO`'s reply.
struct Info(HashMap<String, String>);

impl Info {
    fn read(link: &mut Link) -> Result<Self, Problem> {
        let text: String = link.ask("INFO", &cmd("INFO"))?;
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        Ok(Self(
            lines
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect(),
        ))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn refuse_old(&self, address: &Address) -> Result<(), Problem> {
        let Some(version) = self.get("redis_version") else {
            return Ok(());
        };
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse::<u64>().ok());
        if major.is_some_and(|major| major < OLDEST_MAJOR) {
            return Err(Problem::TooOld {
                address: address.clone(),
                version: version.to_owned(),
            });
        }
        Ok(())
    }

    fn refuse_replica(&self, address: &Address) -> Result<(), Problem> {
        if self.get("role") != Some("slave") {
            return Ok(());
        }
        let primary = match (self.get("master_host"), self.get("master_port")) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            _ => "which it does not name".to_owned(),
        };
        Err(Problem::Replica {
            address: address.clone(),
            primary,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: &str = "\
        aa 10.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-5460 [5461->-bb]\n\
        bb 10.0.0.2:7000@17000,two.example,shard-id=x master - 0 0 2 connected 5461-10922 16383\n\
        cc 10.0.0.3:7000@17000 slave aa 0 0 1 connected\n\
        dd 10.0.0.4:7000@17000 master,fail - 0 0 3 disconnected\n\
        ee 10.0.0.5:7000@17000 master,fail - 0 0 4 disconnected 10923-16382\n\
        ff :0@0 master,noaddr - 0 0 5 disconnected 1\n\
        gg :7006@17006 master - 0 0 6 connected\n";

    fn shown(uses_tls: bool) -> Vec<String> {
        cluster_primaries(NODES, "asked", uses_tls)
            .iter()
            .map(|primary| primary.address.to_string())
            .collect()
    }

    #[test]
    fn primaries_are_listed_with_failed_ones_that_still_hold_slots() {
        assert_eq!(
            shown(false),
            [
                "10.0.0.1:7000",
                "10.0.0.2:7000",
                "10.0.0.5:7000",
                "asked:7006"
            ]
        );
    }

    #[test]
    fn tls_prefers_the_name_a_certificate_is_made_out_to() {
        assert_eq!(shown(true)[1], "two.example:7000");
    }

    #[test]
    fn slots_are_those_of_redis() {
        // Known from the Cluster specification and from CLUSTER KEYSLOT.
        assert_eq!(slot_of("123456789"), 0x31C3);
        assert_eq!(slot_of("foo"), 12_182);
    }

    #[test]
    fn every_primary_with_slots_has_a_key_of_its_own() {
        let primaries = cluster_primaries(NODES, "asked", false);
        let key = primaries[1].own_key().unwrap();
        let tag = key
            .strip_prefix("lockless:{")
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap();
        assert!((5461..=10_922).contains(&slot_of(tag)) || slot_of(tag) == 16_383);
        assert_eq!(primaries[3].own_key(), None);
        for slot in [0, 1, 16_383] {
            let address = Address {
                host: String::new(),
                port: 1,
            };
            assert!(
                Primary {
                    address,
                    slots: Slots::Ranges(vec![slot..=slot])
                }
                .own_key()
                .is_some()
            );
        }
    }
}
