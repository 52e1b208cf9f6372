//! The pages for people: what they are, what they may load, and how they are kept by a browser.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use lockless_gateway::assets::ASSETS;
use lockless_gateway::auth::{Role, generate};
use serde_json::{Value, json};
use support::{Gateway, redis};

/// Tokens are asked for, and the pages are there all the same: they contain nothing.
const TOKEN: &str =
    "operator ops sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn every_page_and_what_it_loads_is_there_without_a_token() {
    let server = redis();
    let gateway = Gateway::start(&server.url(), &["--tokens-text", TOKEN]);
    gateway.get("/v1/stats").refused(401, "UNAUTHENTICATED");
    for asset in ASSETS {
        let answer = gateway.get(asset.path);
        assert_eq!(answer.status, 200, "{}", asset.path);
        assert_eq!(answer.header("content-type"), asset.media_type());
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("cache-control"), "no-cache");
        let scripts = if asset.path.contains("playground") {
            "'self' 'wasm-unsafe-eval'"
        } else {
            "'self'"
        };
        assert_eq!(
            answer.header("content-security-policy"),
            format!(
                "default-src 'none'; script-src {scripts}; style-src 'self'; connect-src 'self'; img-src 'self'; \
                 base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            ),
            "{}",
            asset.path
        );
        let head = gateway.send("HEAD", asset.path, &[], None);
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        let post = gateway.send("POST", asset.path, &[], Some("{}"));
        post.refused(405, "METHOD_NOT_ALLOWED");
    }
    gateway.get("/assets/none.js").refused(404, "NOT_FOUND");
    gateway
        .get("/assets/../Cargo.toml")
        .refused(404, "NOT_FOUND");
}

#[test]
fn a_copy_that_is_still_good_is_not_sent_again() {
    let server = redis();
    let gateway = Gateway::start(&server.url(), &[]);
    let first = gateway.get("/assets/style.css");
    let tag = first.header("etag");
    let again = gateway.send("GET", "/assets/style.css", &[("if-none-match", tag)], None);
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    assert_eq!(again.header("etag"), tag);
    let other = [("if-none-match", "\"other\"")];
    let other = gateway.send("GET", "/assets/style.css", &other, None);
    assert_eq!((other.status, other.text), (200, first.text));
}

#[test]
fn a_page_learns_which_cells_there_are_and_what_its_reader_may_do() {
    let server = redis();
    let open = Gateway::start(&server.url(), &[]);
    let about = open.get("/v1/gateway").ok();
    assert_eq!(about["cells"], json!(["scheduler:{main}"]));
    assert_eq!(about["cell_patterns"], json!(["t:{*}"]));
    assert_eq!(
        (&about["role"], &about["node"]),
        (&json!("operator"), &Value::Null)
    );
    assert_eq!(about["needs_token"], false);
    let foreign = [("sec-fetch-site", "cross-site")];
    let foreign = open.send("GET", "/v1/gateway", &foreign, None);
    foreign.refused(403, "FORBIDDEN");

    let (secret, line) = generate(Role::Node, "worker", Some("n7")).unwrap();
    let closed = Gateway::start(&server.url(), &["--tokens-text", &line]);
    closed.get("/v1/gateway").refused(401, "UNAUTHENTICATED");
    let bearer = format!("Bearer {secret}");
    let about = closed.send("GET", "/v1/gateway", &[("authorization", &bearer)], None);
    let about = about.ok();
    assert_eq!(
        (&about["role"], &about["name"]),
        (&json!("node"), &json!("worker"))
    );
    assert_eq!(
        (&about["node"], &about["needs_token"]),
        (&json!("n7"), &json!(true))
    );
}

#[test]
fn pages_are_counted_by_kind() {
    let server = redis();
    let gateway = Gateway::start(&server.url(), &[]);
    for path in ["/", "/playground", "/assets/style.css", "/assets/icon.svg"] {
        gateway.get(path);
    }
    let page = gateway.get("/metrics").text;
    for (name, count) in [("dashboard", 1), ("playground", 1), ("assets", 2)] {
        let line = format!("lockless_requests_total{{function=\"{name}\",code=\"OK\"}} {count}");
        assert!(page.lines().any(|own| own == line), "{line} not in {page}");
    }
}

#[test]
fn whoever_works_on_the_pages_sees_each_change_at_once() {
    let server = redis();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("style.css");
    std::fs::write(&file, "a{}").unwrap();
    let pages = dir.path().to_str().unwrap();
    let gateway = Gateway::start(&server.url(), &["--pages", pages]);
    let first = gateway.get("/assets/style.css");
    assert_eq!(first.text, "a{}");
    std::fs::write(&file, "b{}").unwrap();
    let tag = [("if-none-match", first.header("etag"))];
    let second = gateway.send("GET", "/assets/style.css", &tag, None);
    assert_eq!((second.status, second.text.as_str()), (200, "b{}"));
    // What the table does not name is not served, whatever is in the directory.
    std::fs::write(dir.path().join("secret.txt"), "x").unwrap();
    gateway.get("/assets/secret.txt").refused(404, "NOT_FOUND");
    gateway.get("/assets/icon.svg").refused(500, "INTERNAL");
}
