//! What is answered, and what is refused as a request.

use std::io::Read;

use super::running::{Running, SHORT, generous};

fn post(length: usize, body: &str) -> String {
    format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}")
}

#[test]
fn a_connection_serves_many_requests() {
    let server = Running::start(generous());
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.get("/").body, "hello");
        assert_eq!(client.send(post(3, "abc")).answer().body, "abc");
    }
    assert_eq!(server.stats.accepted(), 1);
    assert_eq!(server.stats.open(), 1);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Running::start(generous());
    let mut client = server.connect();
    let chunked =
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n";
    client.send(post(3, "abc") + chunked + &post(1, "f") + "GET / HTTP/1.1\r\nHo");
    for expected in ["abc", "de", "f"] {
        let answer = client.answer();
        assert_eq!((answer.body.as_str(), answer.closes()), (expected, false));
    }
    assert_eq!(client.send("st: a\r\n\r\n").answer().body, "hello");
}

#[test]
fn a_body_may_come_in_pieces() {
    let server = Running::start(generous());
    let mut client = server.connect();
    client.send(post(6, "ab"));
    server.wait_for_requests(1);
    client.send("cd");
    client.send("ef");
    assert_eq!(client.answer().body, "abcdef");
}

#[test]
fn a_client_that_expects_to_go_on_is_told_to() {
    let server = Running::start(generous());
    let mut client = server.connect();
    client.send(
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!(client.answer().status, 100);
    assert_eq!(client.send("abc").answer().body, "abc");
}

#[test]
fn a_length_that_is_given_twice_is_refused() {
    let (length, chunked) = ("Content-Length: 4", "Transfer-Encoding: chunked");
    for (first, second) in [
        (length, chunked),
        (chunked, length),
        (length, length),
        (length, "Content-Length: 5"),
    ] {
        let server = Running::start(generous());
        let mut client = server.connect();
        // What a reader who trusts the other length would take for a request must not be answered.
        let request =
            format!("POST /echo HTTP/1.1\r\nHost: a\r\n{first}\r\n{second}\r\n\r\n0\r\n\r\n");
        client.send(
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()
                + &request
                + "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        );
        assert_eq!(client.answer().body, "hello");
        let refused = client.answer();
        assert_eq!(
            (refused.status, refused.closes()),
            (400, true),
            "{first}, {second}"
        );
        assert!(client.is_closed(), "{first}, {second}");
        server.wait_for_requests(1);
    }
}

#[test]
fn malformed_requests_are_refused() {
    for request in [
        "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length : 1\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
        "nonsense\r\n\r\n",
    ] {
        let server = Running::start(generous());
        let mut client = server.connect();
        assert_eq!(client.send(request).answer().status, 400, "{request:?}");
        assert!(client.is_closed());
    }
}

#[test]
fn malformed_chunks_are_refused() {
    let server = Running::start(generous());
    let mut client = server.connect();
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    let answer = client.answer();
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (400, "BAD_ARGUMENT")
    );
    assert!(client.is_closed());
}

#[test]
fn a_panic_is_one_requests_failure() {
    let server = Running::start(generous());
    let mut other = server.connect();
    assert_eq!(other.get("/").status, 200);
    let answer = server.connect().get("/panic");
    assert_eq!((answer.status, answer.code().as_str()), (500, "INTERNAL"));
    assert_eq!(other.get("/").status, 200);
}

#[test]
fn a_client_that_leaves_ends_its_request() {
    let server = Running::start(generous());
    let mut client = server.connect();
    client.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    server.wait_for_requests(1);
    drop(client);
    server.wait_for_ends(1);
}

#[test]
fn what_is_sent_during_a_request_is_answered_after_it() {
    let server = Running::start(generous());
    let mut client = server.connect();
    client.send("GET /gate HTTP/1.1\r\nHost: a\r\n\r\n");
    server.wait_for_requests(1);
    client.send(post(3, "abc"));
    std::thread::sleep(SHORT);
    server.open_gate();
    assert_eq!(client.answer().body, "through");
    assert_eq!(client.answer().body, "abc");
}

#[test]
fn a_stream_comes_as_it_is_made() {
    let server = Running::start(generous());
    let mut client = server.connect();
    client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(super::running::head(&mut client.0).contains("transfer-encoding: chunked"));
    let mut first = [0; 11];
    client.0.read_exact(&mut first).expect("the first part");
    assert_eq!(&first, b"6\r\nfirst\n\r\n");
}
