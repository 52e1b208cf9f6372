//! A primary, the slots it answers for, and how a Cluster lists its own.

use std::ops::RangeInclusive;

use crate::Address;

const SLOTS: u16 = 16_384;

/// A server that takes writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Primary {
    /// Where it listens.
    pub address: Address,
    slots: Slots,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Slots {
    /// Not a Cluster: any key is welcome.
    All,
    Ranges(Vec<RangeInclusive<u16>>),
}

impl Primary {
    /// A server that is not part of a Cluster.
    pub fn alone(address: Address) -> Self {
        Self {
            address,
            slots: Slots::All,
        }
    }

    /// Whether it answers for any key.
    pub fn has_slots(&self) -> bool {
        match &self.slots {
            Slots::All => true,
            Slots::Ranges(ranges) => !ranges.is_empty(),
        }
    }

    /// Whether it answers for a slot.
    pub fn has_slot(&self, slot: u16) -> bool {
        match &self.slots {
            Slots::All => true,
            Slots::Ranges(ranges) => ranges.iter().any(|range| range.contains(&slot)),
        }
    }

    /// A key in one of this primary's own slots, so that a call with it is not sent elsewhere.
    pub fn own_key(&self) -> Option<String> {
        if self.slots == Slots::All {
            return Some("lockless:{deploy}".to_owned());
        }
        // A primary with a single slot is found after 16,384 tries on average.
        (0..20 * u32::from(SLOTS))
            .map(|number| format!("deploy-{number}"))
            .find(|tag| self.has_slot(slot_of(tag)))
            .map(|tag| format!("lockless:{{{tag}}}"))
    }
}

/// Reads the lines of `CLUSTER NODES`: `id host:port@bus[,hostname] flags primary ping pong epoch state slot...`.
pub fn cluster_primaries(nodes: &str, asked_host: &str, uses_tls: bool) -> Vec<Primary> {
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

/// How recent a Cluster node's view is: the highest epoch it lists.
pub fn latest_epoch(nodes: &str) -> u64 {
    let epochs = nodes
        .lines()
        .filter_map(|line| line.split(' ').nth(6)?.parse().ok());
    epochs.max().unwrap_or_default()
}

/// The slot of a key: that of its hash tag, if it has one.
pub fn slot_of_key(key: &str) -> u16 {
    let tag = key
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'));
    match tag {
        Some((tag, _)) if !tag.is_empty() => slot_of(tag),
        _ => slot_of(key),
    }
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
    fn a_key_has_the_slot_of_its_hash_tag() {
        assert_eq!(slot_of_key("scheduler:{foo}:x"), 12_182);
        assert_eq!(slot_of_key("foo"), 12_182);
        assert_eq!(slot_of_key("foo{}{bar}"), slot_of("foo{}{bar}"));
    }

    #[test]
    fn the_latest_epoch_is_the_highest_one_listed() {
        assert_eq!(latest_epoch(NODES), 6);
        assert_eq!(latest_epoch(""), 0);
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
