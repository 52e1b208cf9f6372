//! Secrets, and the hashes that stand for them.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use super::Role;
use super::file::{HASH_PREFIX, NODE_PREFIX, check_name, check_node};

const SECRET_PREFIX: &str = "lockless_";
const SECRET_BYTES: usize = 32;

/// SHA-256 of a secret. It has no `Debug`: a hash is enough to try secrets against.
///
/// Secrets are 256 random bits, so a slow hash would add nothing.
pub(super) struct Hash([u64; 4]);

impl Hash {
    pub(super) fn of(secret: &[u8]) -> Self {
        Self::from_bytes(&Sha256::digest(secret))
    }

    /// The hash that these hex digits are, if they are one.
    pub(super) fn from_hex(digits: &str) -> Option<Self> {
        let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()?;
        (bytes.len() == 32).then(|| Self::from_bytes(&bytes))
    }

    // Words are compared in a quarter of the time that bytes take.
    fn from_bytes(bytes: &[u8]) -> Self {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        Self(words)
    }
}

impl ConstantTimeEq for Hash {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

/// Makes a token: the secret for its holder, and the line for the token file. The error is a sentence.
pub fn generate(role: Role, name: &str, node: Option<&str>) -> Result<(String, String), String> {
    check_name(name)?;
    if let Some(node) = node {
        check_node(role, node)?;
    }
    let mut bits = [0; SECRET_BYTES];
    getrandom::fill(&mut bits)
        .map_err(|error| format!("no random numbers could be read: {error}"))?;
    let secret = format!("{SECRET_PREFIX}{}", BASE64URL_NOPAD.encode(&bits));
    let hash = HEXLOWER.encode(&Sha256::digest(&secret));
    let node = node
        .map(|node| format!("{NODE_PREFIX}{node} "))
        .unwrap_or_default();
    let line = format!("{role} {name} {node}{HASH_PREFIX}{hash}");
    Ok((secret, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_holds_the_hash_of_the_secret() {
        let (secret, line) = generate(Role::Node, "worker-7", Some("w-7")).expect("a token");
        let hash = HEXLOWER.encode(&Sha256::digest(&secret));
        assert_eq!(line, format!("node worker-7 node=w-7 sha256:{hash}"));
        let bits = secret.strip_prefix("lockless_").expect("the prefix");
        let bits = BASE64URL_NOPAD.decode(bits.as_bytes()).expect("base64");
        assert_eq!(bits.len(), 32);
    }

    #[test]
    fn no_two_secrets_are_alike() {
        let made = || generate(Role::Client, "shop", None).expect("a token").0;
        assert_ne!(made(), made());
    }

    #[test]
    fn what_the_file_would_refuse_is_not_made() {
        for (role, name, node, named) in [
            (Role::Client, "a b", None, "name"),
            (Role::Client, "", None, "name"),
            (Role::Client, "shop", Some("w-7"), "node"),
            (Role::Node, "worker", Some("w 7"), "node"),
            (Role::Node, "worker", Some("w;7"), "node"),
        ] {
            let error = generate(role, name, node).expect_err("refused");
            assert!(error.starts_with(named), "{error}");
        }
    }
}
