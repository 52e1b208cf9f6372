//! Who may call what: bearer tokens and roles.
//!
//! A gateway without tokens takes every caller for an operator, and therefore listens on loopback only.

mod exposure;
mod file;
mod live;
mod secret;

use std::fmt;
use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderValue};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

pub use exposure::{check_exposure, plaintext_warning};
pub use live::LiveTokens;
pub use lockless_functions::api::Role;
pub use secret::generate;

use crate::problem::Problem;
use secret::Hash;

const CHALLENGE: &str = "Bearer realm=\"lockless\"";
const CHALLENGE_INVALID_TOKEN: &str = "Bearer realm=\"lockless\", error=\"invalid_token\"";

/// Who makes a request. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Caller(Arc<Identity>);

#[derive(Debug)]
struct Identity {
    role: Role,
    name: String,
    node: Option<String>,
}

impl Caller {
    fn new(role: Role, name: &str, node: Option<&str>) -> Self {
        Self(Arc::new(Identity {
            role,
            name: name.to_owned(),
            node: node.map(str::to_owned),
        }))
    }

    /// Whether it has one of these roles. An operator may do everything.
    pub fn may(&self, roles: &[Role]) -> bool {
        self.0.role == Role::Operator || roles.contains(&self.0.role)
    }

    /// Its role.
    pub fn role(&self) -> Role {
        self.0.role
    }

    /// The only node it may speak for, if its token says so.
    pub fn node(&self) -> Option<&str> {
        self.0.node.as_deref()
    }

    /// Its name, for the log.
    pub fn name(&self) -> &str {
        &self.0.name
    }
}

/// The tokens a gateway accepts at one time.
pub struct Tokens(Access);

enum Access {
    // Everyone is this caller.
    Open(Caller),
    Listed(Vec<Token>),
}

struct Token {
    hash: Hash,
    caller: Caller,
}

impl fmt::Debug for Tokens {
    // A hash is enough to try secrets against.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let callers: Vec<&Caller> = match &self.0 {
            Access::Open(caller) => vec![caller],
            Access::Listed(tokens) => tokens.iter().map(|token| &token.caller).collect(),
        };
        formatter.debug_tuple("Tokens").field(&callers).finish()
    }
}

impl Tokens {
    fn none() -> Self {
        Self(Access::Open(Caller::new(Role::Operator, "anyone", None)))
    }

    /// Whether no token is needed.
    pub fn is_open(&self) -> bool {
        matches!(self.0, Access::Open(_))
    }

    /// The caller whose token the request carries.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let tokens = match &self.0 {
            Access::Open(caller) => return Ok(caller.clone()),
            Access::Listed(tokens) => tokens,
        };
        let hash = Hash::of(bearer(headers)?);
        // Every token is looked at, so that the time says nothing about which one was close.
        let mut found = Choice::from(0);
        let mut at = 0_u64;
        for (index, token) in (0_u64..).zip(tokens) {
            let same = hash.ct_eq(&token.hash);
            at.conditional_assign(&index, same);
            found |= same;
        }
        let token = usize::try_from(at).ok().and_then(|at| tokens.get(at));
        match token.filter(|_| bool::from(found)) {
            Some(token) => Ok(token.caller.clone()),
            None => Err(Problem::unauthenticated(
                "the token is not one that this gateway accepts",
                CHALLENGE_INVALID_TOKEN,
            )),
        }
    }
}

/// The secret in the one Authorization header.
fn bearer(headers: &HeaderMap) -> Result<&[u8], Problem> {
    let refused = |detail: &str| Problem::unauthenticated(detail, CHALLENGE);
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = given.next() else {
        return Err(refused("send a token: Authorization: Bearer <token>"));
    };
    if given.next().is_some() {
        return Err(refused("send one Authorization header, not several"));
    }
    secret_of(value).ok_or_else(|| refused("the header Authorization takes: Bearer <token>"))
}

fn secret_of(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, rest) = value.as_bytes().split_at_checked(b"Bearer".len())?;
    let secret = rest.trim_ascii();
    let is_bearer = scheme.eq_ignore_ascii_case(b"Bearer") && rest.first() == Some(&b' ');
    let is_one_word = !secret.is_empty() && secret.iter().all(u8::is_ascii_graphic);
    (is_bearer && is_one_word).then_some(secret)
}

#[cfg(test)]
mod tests {
    use hyper::Response;
    use hyper::body::Bytes;
    use hyper::header::WWW_AUTHENTICATE;

    use super::*;

    fn tokens(made: &[(Role, &str, Option<&str>)]) -> (Tokens, Vec<String>) {
        let made: Vec<(String, String)> = made
            .iter()
            .map(|(role, name, node)| generate(*role, name, *node).expect("a token"))
            .collect();
        let (secrets, lines): (Vec<_>, Vec<_>) = made.into_iter().unzip();
        (
            file::parse("tokens", &lines.join("\n")).expect("sound lines"),
            secrets,
        )
    }

    fn headers(values: &[&str]) -> HeaderMap {
        let values = values
            .iter()
            .map(|value| HeaderValue::from_str(value).expect("a header"));
        HeaderMap::from_iter(values.map(|value| (AUTHORIZATION, value)))
    }

    fn challenge(tokens: &Tokens, values: &[&str]) -> String {
        let problem = tokens.authenticate(&headers(values)).expect_err("refused");
        assert!(
            !problem.detail().contains("lockless_"),
            "echoes what was sent"
        );
        let response: Response<Bytes> = problem.response();
        assert_eq!(response.status(), 401);
        let challenge = response.headers()[WWW_AUTHENTICATE].to_str();
        challenge.expect("text").to_owned()
    }

    #[test]
    fn each_token_is_its_caller() {
        let (tokens, secrets) = tokens(&[
            (Role::Node, "worker", Some("w-7")),
            (Role::Client, "shop", None),
            (Role::Operator, "ops", None),
        ]);
        let caller = |at: usize, scheme: &str| {
            let sent = format!("{scheme} {}", secrets[at]);
            tokens.authenticate(&headers(&[&sent])).expect("accepted")
        };
        let worker = caller(0, "Bearer");
        assert_eq!(
            (worker.role(), worker.name(), worker.node()),
            (Role::Node, "worker", Some("w-7"))
        );
        let shop = caller(1, "bearer");
        assert_eq!(
            (shop.role(), shop.name(), shop.node()),
            (Role::Client, "shop", None)
        );
        assert_eq!(caller(2, "BEARER ").role(), Role::Operator);
    }

    #[test]
    fn an_operator_may_call_everything_and_others_what_names_them() {
        let caller = |role| Caller::new(role, "a", None);
        assert!(caller(Role::Operator).may(&[]) && caller(Role::Operator).may(&[Role::Node]));
        assert!(caller(Role::Node).may(&[Role::Client, Role::Node]));
        assert!(!caller(Role::Node).may(&[Role::Client]) && !caller(Role::Client).may(&[]));
    }

    #[test]
    fn what_is_no_token_is_challenged() {
        let (tokens, secrets) = tokens(&[(Role::Client, "shop", None)]);
        let good = format!("Bearer {}", secrets[0]);
        let glued = format!("Bearer{}", secrets[0]);
        for malformed in [
            &[][..],
            &["Bearer"],
            &["Bearer "],
            &["Basic dTpw"],
            &["Bearer a b"],
            &[&glued],
            &[&secrets[0]],
            &[&good, &good],
        ] {
            assert_eq!(challenge(&tokens, malformed), CHALLENGE, "{malformed:?}");
        }
        for unknown in [&good[..good.len() - 1], "Bearer lockless_", "Bearer x"] {
            assert_eq!(
                challenge(&tokens, &[unknown]),
                CHALLENGE_INVALID_TOKEN,
                "{unknown}"
            );
        }
    }

    #[test]
    fn without_tokens_everyone_is_an_operator() {
        let caller = Tokens::none()
            .authenticate(&headers(&["Bearer anything"]))
            .expect("open");
        assert_eq!(caller.role(), Role::Operator);
    }

    #[test]
    fn no_hash_is_shown() {
        let (secret, line) = generate(Role::Client, "shop", None).expect("a token");
        let tokens = file::parse("tokens", &line).expect("a sound line");
        let shown = format!("{tokens:?}");
        let (_, hash) = line.split_once("sha256:").expect("a hash");
        assert!(shown.contains("shop") && !shown.contains(hash) && !shown.contains(&secret));
    }
}
