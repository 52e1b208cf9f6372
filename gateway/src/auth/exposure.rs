//! Where a gateway may listen, given its tokens.

use std::net::SocketAddr;

use super::Tokens;

/// Refuses to serve the network without tokens. The error is a sentence for the user.
pub fn check_exposure(listen: SocketAddr, tokens: &Tokens) -> Result<(), String> {
    if !tokens.is_open() || is_loopback(listen) {
        return Ok(());
    }
    Err(format!(
        "without tokens every caller is an operator, so --listen takes a loopback address, given {listen}; make a token with: \
         lockless-gateway token --role operator --name <name>, put its line into a file, and start with --tokens <file>"
    ))
}

/// A line to print when tokens cross the network unencrypted, unless TLS ends in front of the gateway.
pub fn plaintext_warning(listen: SocketAddr, tokens: &Tokens, tls: bool) -> Option<String> {
    let warns = !tls && !tokens.is_open() && !is_loopback(listen);
    warns.then(|| {
        format!(
            "Tokens come to {listen} unencrypted unless TLS ends in front of this gateway (--tls-cert FILE --tls-key FILE)."
        )
    })
}

// An IPv4 address may be written as an IPv6 one.
fn is_loopback(listen: SocketAddr) -> bool {
    listen.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::super::{Role, file, generate};
    use super::*;

    fn listed() -> Tokens {
        let (_, line) = generate(Role::Operator, "ops", None).expect("a token");
        file::parse("tokens", &line).expect("a sound line")
    }

    fn at(address: &str) -> SocketAddr {
        address.parse().expect("an address")
    }

    #[test]
    fn without_tokens_only_loopback_is_served() {
        for address in [
            "127.0.0.1:1",
            "127.1.2.3:1",
            "[::1]:1",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(
                check_exposure(at(address), &Tokens::none()).is_ok(),
                "{address}"
            );
        }
        for address in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:10.0.0.1]:1"] {
            let error = check_exposure(at(address), &Tokens::none()).expect_err("refused");
            assert!(
                error.contains("--tokens") && error.contains(address),
                "{error}"
            );
            assert!(check_exposure(at(address), &listed()).is_ok(), "{address}");
        }
    }

    #[test]
    fn tokens_without_tls_on_the_network_are_warned_about() {
        let warns = |address, tls| plaintext_warning(at(address), &listed(), tls).is_some();
        assert!(warns("0.0.0.0:1", false));
        assert!(!warns("0.0.0.0:1", true) && !warns("127.0.0.1:1", false));
        assert!(plaintext_warning(at("127.0.0.1:1"), &Tokens::none(), false).is_none());
    }
}
