//! Shutdown, with work under way.

use std::io::Read;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lockless_gateway::transport::TransportSettings;

use super::running::{Running, SHORT, generous, head, wait_until};

#[test]
fn requests_under_way_are_answered_and_idle_connections_closed() {
    let server = Running::start(generous());
    let (mut idle, mut fresh, mut busy) = (server.connect(), server.connect(), server.connect());
    idle.get("/");
    busy.send("GET /gate HTTP/1.1\r\nHost: a\r\n\r\n");
    server.wait_for_requests(2);
    server.request_shutdown();
    assert!(idle.is_closed() && fresh.is_closed());
    wait_until(|| TcpStream::connect(server.address).is_err());
    server.open_gate();
    let answer = busy.answer();
    assert!(answer.body == "through" && answer.closes());
    assert_eq!(server.cut_off(), 0);
}

#[test]
fn what_is_not_done_in_time_is_cut_off_and_counted() {
    let server = Running::start(TransportSettings {
        shutdown_grace: SHORT,
        ..generous()
    });
    let mut clients: Vec<_> = (0..3).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    let mut half = server.connect();
    half.send("GET /");
    server.wait_for_requests(3);
    server.request_shutdown();
    assert_eq!(server.cut_off(), 3);
    assert!(clients.iter_mut().all(super::running::Client::is_closed) && half.is_closed());
}

#[test]
fn streams_end() {
    let server = Running::start(generous());
    let mut client = server.connect();
    client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    head(&mut client.0);
    let mut first = [0; 11];
    client.0.read_exact(&mut first).expect("the first part");
    server.request_shutdown();
    let mut rest = String::new();
    client.0.read_to_string(&mut rest).expect("an end");
    assert_eq!(rest, "0\r\n\r\n", "a sound end");
    assert_eq!(server.cut_off(), 0);
}

#[test]
fn under_load_no_answer_is_broken() {
    let server = Running::start(generous());
    let (answered, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let Ok(socket) = TcpStream::connect(server.address) else {
                        break;
                    };
                    until_closed(socket, &answered);
                }
            });
        }
        server.wait_for_requests(1000);
        server.request_shutdown();
        stop.store(true, Ordering::SeqCst);
    });
    assert!(answered.load(Ordering::SeqCst) >= 1000 - 8);
    assert_eq!(server.cut_off(), 0);
}

/// Asks again and again. A connection may end between answers, never within one.
fn until_closed(mut socket: TcpStream, answered: &AtomicUsize) {
    socket
        .set_read_timeout(Some(super::running::PATIENCE))
        .expect("set");
    loop {
        let sent = std::io::Write::write_all(&mut socket, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let mut first = [0];
        if sent.is_err() || !matches!(socket.read(&mut first), Ok(1)) {
            return;
        }
        let answer = super::running::answer(&mut first.as_slice().chain(&mut socket));
        assert_eq!(answer.body, "hello");
        answered.fetch_add(1, Ordering::SeqCst);
        if answer.closes() {
            return;
        }
    }
}
