//! What the headers of a request say.

use std::cell::Cell;
use std::net::{Ipv4Addr, Ipv6Addr};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use hyper::HeaderMap;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;

use crate::problem::{IDEMPOTENCY_KEY, Problem};
use lockless_client::backend::Durability;

/// Names a request in the log.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Says that a wish was granted.
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// The wish for a replica's confirmation.
pub(super) const DURABILITY_REPLICA: HeaderValue = HeaderValue::from_static("durability=replica");

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const PREFER: HeaderName = HeaderName::from_static("prefer");
const REQUEST_ID_BYTES: usize = 128;
const KEY_BYTES: usize = 256;

/// The caller's id for the request, or a new one.
pub(super) fn request_id(headers: &HeaderMap) -> HeaderValue {
    let given = headers
        .get(REQUEST_ID)
        .filter(|id| !id.is_empty() && id.len() <= REQUEST_ID_BYTES && id.to_str().is_ok());
    match given {
        Some(id) => id.clone(),
        None => HeaderValue::from_maybe_shared(Bytes::from(fresh_key()))
            .unwrap_or(HeaderValue::from_static("-")),
    }
}

thread_local! {
    // Random at the start, then counted: unique, and cheap.
    static LAST: Cell<Option<u128>> = const { Cell::new(None) };
}

/// An id that no one else has: 128 bits, random per thread and counted from there.
pub(crate) fn fresh_key() -> String {
    let next = LAST.get().unwrap_or_else(random).wrapping_add(1);
    LAST.set(Some(next));
    HEXLOWER.encode(&next.to_be_bytes())
}

fn random() -> u128 {
    let mut bytes = [0; 16];
    // Without a source of randomness the address of a local and the time still differ between gateways.
    if getrandom::fill(&mut bytes).is_err() {
        let nanos = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |time| time.as_nanos());
        return nanos ^ (u128::from(std::process::id()) << 96);
    }
    u128::from_le_bytes(bytes)
}

/// Whether a browser says that a page of another site asks.
pub(super) fn is_from_another_site(head: &Parts) -> bool {
    let text = |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text(SEC_FETCH_SITE) {
        return !matches!(site, "same-origin" | "none");
    }
    let Some(origin) = text(ORIGIN) else {
        return false;
    };
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority.is_none() || authority != text(HOST)
}

/// Whether the host that was asked for is an address or `localhost`.
pub(super) fn names_this_machine(head: &Parts) -> bool {
    let given = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    let Some(authority) = given.or(head.uri.authority().map(Authority::as_str)) else {
        return false;
    };
    if let Some(rest) = authority.strip_prefix('[') {
        let address = rest.split(']').next().unwrap_or_default();
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let host = authority.split(':').next().unwrap_or_default();
    host.eq_ignore_ascii_case("localhost") || host.parse::<Ipv4Addr>().is_ok()
}

/// The caller's key for a second try.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut given = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(key) = given.next() else {
        return Ok(None);
    };
    let wrong = || {
        Problem::bad_argument(
            "the header Idempotency-Key takes one value of 1 to 256 printable characters without spaces",
        )
    };
    if given.next().is_some() {
        return Err(wrong());
    }
    // The draft standard writes keys in quotes; both ways are read.
    let key = key.to_str().map_err(|_| wrong())?;
    let bare = key
        .strip_prefix('"')
        .and_then(|key| key.strip_suffix('"'))
        .unwrap_or(key);
    let is_printable = bare.bytes().all(|byte| byte.is_ascii_graphic());
    if bare.is_empty() || bare.len() > KEY_BYTES || !is_printable {
        return Err(wrong());
    }
    Ok(Some(bare))
}

/// How sure the caller wants to be, if it says so with `Prefer`. Other preferences are for others.
pub(super) fn durability(headers: &HeaderMap) -> Result<Option<Durability>, Problem> {
    let wishes = headers
        .get_all(PREFER)
        .iter()
        .filter_map(|value| value.to_str().ok());
    for wish in wishes.flat_map(|value| value.split([',', ';'])) {
        let Some((name, value)) = wish.split_once('=') else {
            continue;
        };
        if !name.trim().eq_ignore_ascii_case("durability") {
            continue;
        }
        return match value.trim().trim_matches('"') {
            "replica" => Ok(Some(Durability::Replica)),
            "primary" => Ok(Some(Durability::Primary)),
            _ => Err(Problem::bad_argument(
                "durability in the header Prefer takes replica or primary",
            )),
        };
    }
    Ok(None)
}

/// Refuses a body that is not JSON.
pub(super) fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = given
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::new(
        "UNSUPPORTED_MEDIA_TYPE",
        "send the body with content-type: application/json (curl --json does)",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn keys_never_repeat() {
        let mut keys: Vec<String> = (0..1000).map(|_| fresh_key()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 1000);
    }

    #[test]
    fn a_key_is_read_with_and_without_quotes() {
        let key = |value| {
            idempotency_key(&headers(IDEMPOTENCY_KEY, value)).map(|key| key.map(str::to_owned))
        };
        assert_eq!(key("abc").ok().flatten().as_deref(), Some("abc"));
        assert_eq!(key("\"abc\"").ok().flatten().as_deref(), Some("abc"));
        assert!(key("").is_err() && key("\"\"").is_err() && key("a b").is_err());
    }

    #[test]
    fn durability_is_one_preference_among_others() {
        let wish = |value| durability(&headers(PREFER, value));
        assert_eq!(
            wish("wait=5, durability=replica").ok(),
            Some(Some(Durability::Replica))
        );
        assert_eq!(wish("return=minimal").ok(), Some(None));
        assert!(wish("durability=everywhere").is_err());
    }

    #[test]
    fn only_json_is_a_body() {
        let kind = |value| check_media_type(&headers(CONTENT_TYPE, value)).is_ok();
        assert!(kind("application/json") && kind("Application/JSON; charset=utf-8"));
        assert!(!kind("text/plain") && !kind("application/x-www-form-urlencoded"));
        assert!(check_media_type(&HeaderMap::new()).is_err());
    }

    #[test]
    fn a_name_that_may_be_anyones_is_not_this_machine() {
        let named = |host: &str| {
            let request = hyper::Request::builder().header(HOST, host).body(());
            names_this_machine(&request.expect("a request").into_parts().0)
        };
        for host in [
            "localhost",
            "LocalHost:8080",
            "127.0.0.1:80",
            "[::1]:8080",
            "10.0.0.1",
        ] {
            assert!(named(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:8080",
            "127.0.0.1.evil.example",
            "",
            ":80",
        ] {
            assert!(!named(host), "{host}");
        }
    }

    #[test]
    fn a_page_of_another_site_is_told_by_its_browser() {
        let asked = |given: &[(&str, &str)]| {
            let mut request = hyper::Request::builder().header(HOST, "127.0.0.1:8080");
            for (name, value) in given {
                request = request.header(*name, *value);
            }
            is_from_another_site(&request.body(()).expect("a request").into_parts().0)
        };
        assert!(!asked(&[]));
        assert!(!asked(&[("origin", "http://127.0.0.1:8080")]));
        assert!(
            !asked(&[("sec-fetch-site", "same-origin")]) && !asked(&[("sec-fetch-site", "none")])
        );
        assert!(asked(&[("origin", "https://evil.example")]) && asked(&[("origin", "null")]));
        assert!(
            asked(&[("sec-fetch-site", "cross-site")]) && asked(&[("sec-fetch-site", "same-site")])
        );
    }

    #[test]
    fn a_request_keeps_its_id() {
        assert_eq!(request_id(&headers(REQUEST_ID, "r-1")), "r-1");
        assert_eq!(request_id(&HeaderMap::new()).len(), 32);
    }
}
