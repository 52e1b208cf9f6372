//! The token file: one token per line, `role name [node=<id>] sha256:<hex>`.

use std::collections::HashSet;

use subtle::ConstantTimeEq;

use super::secret::Hash;
use super::{Access, Caller, Role, Token, Tokens};

pub(super) const NODE_PREFIX: &str = "node=";
pub(super) const HASH_PREFIX: &str = "sha256:";

const FORM: &str = "a line takes: role name [node=<id>] sha256:<64 hex digits>";
// Shorter than a hash: one that stands where the name belongs would end up in the log.
const NAME_BYTES: usize = 63;
const NODE_BYTES: usize = 256;

/// Reads the lines of `source`. The error names the line, and shows nothing of a hash.
pub(super) fn parse(source: &str, text: &str) -> Result<Tokens, String> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut names = HashSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mistake = |what: String| format!("{source}, line {number}: {what}");
        let token = token(line).map_err(mistake)?;
        if !names.insert(token.caller.name().to_owned()) {
            let name = token.caller.name();
            return Err(mistake(format!(
                "the name '{name}' is there twice; give each token its own"
            )));
        }
        if tokens
            .iter()
            .any(|other| bool::from(other.hash.ct_eq(&token.hash)))
        {
            return Err(mistake(
                "the hash is there twice; give each caller a token of its own".to_owned(),
            ));
        }
        tokens.push(token);
    }
    if tokens.is_empty() {
        return Err(format!(
            "{source} has no token in it; make one with: lockless-gateway token --role operator --name <name>"
        ));
    }
    Ok(Tokens(Access::Listed(tokens)))
}

fn token(line: &str) -> Result<Token, String> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (role, name, node, hash) = match words[..] {
        [role, name, hash] => (role, name, None, hash),
        [role, name, node, hash] => (role, name, Some(node), hash),
        _ => return Err(FORM.to_owned()),
    };
    // A word in the wrong place may be a hash or a secret, so it is not repeated.
    let role = Role::from_word(role)
        .ok_or("the role takes node, client or operator, as the first word")?;
    check_name(name)?;
    let node = match node.map(|node| node.strip_prefix(NODE_PREFIX)) {
        None => None,
        Some(Some(node)) => {
            check_node(role, node)?;
            Some(node)
        }
        Some(None) => return Err(FORM.to_owned()),
    };
    let hash = hash.strip_prefix(HASH_PREFIX).and_then(Hash::from_hex);
    let hash = hash.ok_or("the hash takes sha256: and 64 hex digits, as the last word")?;
    Ok(Token {
        hash,
        caller: Caller::new(role, name, node),
    })
}

pub(super) fn check_name(name: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    if (1..=NAME_BYTES).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(());
    }
    Err(format!(
        "name takes 1 to {NAME_BYTES} letters, digits, '.', '_', '-' or '@'"
    ))
}

pub(super) fn check_node(role: Role, node: &str) -> Result<(), String> {
    if role != Role::Node {
        return Err(format!(
            "node is for tokens of the role node; the role here is {role}"
        ));
    }
    let fits =
        |character: char| !character.is_whitespace() && !character.is_control() && character != ';';
    if (1..=NODE_BYTES).contains(&node.len()) && node.chars().all(fits) {
        return Ok(());
    }
    Err(format!(
        "node takes 1 to {NODE_BYTES} printable characters without spaces or ';'"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    const OTHER: &str = "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9";

    fn error(text: &str) -> String {
        parse("tokens.txt", text).expect_err("refused")
    }

    #[test]
    fn comments_and_blank_lines_are_allowed() {
        let text =
            format!("# who\n\n  client shop sha256:{HASH}\r\n\tnode w node=w-7 sha256:{OTHER}  \n");
        assert!(parse("tokens.txt", &text).is_ok());
        assert!(
            parse(
                "tokens.txt",
                &format!("client a sha256:{}", HASH.to_uppercase())
            )
            .is_ok()
        );
    }

    #[test]
    fn a_mistake_names_its_line_and_no_hash() {
        for (line, expected) in [
            (format!("boss a sha256:{HASH}"), "node, client or operator"),
            (format!("client sha256:{HASH}"), "role name"),
            (format!("client a b c sha256:{HASH}"), "role name"),
            (format!("client {HASH} sha256:{OTHER}"), "name takes"),
            (format!("client a node=n sha256:{HASH}"), "role node"),
            (format!("node a nodes=n sha256:{HASH}"), "role name"),
            (format!("node a node= sha256:{HASH}"), "node takes"),
            (format!("client a {HASH}"), "64 hex digits"),
            (format!("client a sha256:{}", &HASH[1..]), "64 hex digits"),
            (format!("client a sha256:{HASH}0"), "64 hex digits"),
            (format!("{HASH} client a"), "node, client or operator"),
        ] {
            let error = error(&format!("# first\n{line}"));
            assert!(error.starts_with("tokens.txt, line 2: "), "{error}");
            assert!(error.contains(expected), "{line}: {error}");
            assert!(!error.contains(&HASH[1..20]), "{error}");
        }
    }

    #[test]
    fn a_name_or_a_hash_is_there_once() {
        let names = format!("client a sha256:{HASH}\nnode a sha256:{OTHER}");
        assert_eq!(
            error(&names),
            "tokens.txt, line 2: the name 'a' is there twice; give each token its own"
        );
        let hashes = format!("client a sha256:{HASH}\nnode b sha256:{HASH}");
        assert!(error(&hashes).starts_with("tokens.txt, line 2: the hash is there twice"));
    }

    #[test]
    fn a_file_without_tokens_is_a_mistake() {
        for text in ["", "\n", "# none\n"] {
            assert!(error(text).starts_with("tokens.txt has no token in it"));
        }
    }
}
