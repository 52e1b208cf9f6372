//! TLS: served, refused, and with a certificate that changes.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use lockless_gateway::transport::{TlsFiles, TransportSettings};
use rcgen::generate_simple_self_signed;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::running::{Answer, PATIENCE, Running, SHORT, answer, generous, wait_until};

/// Puts a new certificate into the directory.
fn renew(dir: &Path) -> CertificateDer<'static> {
    let made = generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    fs::write(dir.join("cert.pem"), made.cert.pem()).expect("written");
    fs::write(dir.join("key.pem"), made.signing_key.serialize_pem()).expect("written");
    made.cert.der().clone()
}

fn start(dir: &Path, settings: TransportSettings) -> Running {
    Running::start(TransportSettings {
        tls: Some(TlsFiles {
            cert: dir.join("cert.pem"),
            key: dir.join("key.pem"),
        }),
        ..settings
    })
}

type Secure = StreamOwned<ClientConnection, TcpStream>;

fn connect(server: &Running, trusted: &CertificateDer<'static>) -> Secure {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let name = ServerName::try_from("localhost").expect("a name");
    let session = ClientConnection::new(Arc::new(config), name).expect("a session");
    StreamOwned::new(session, server.connect().0)
}

fn ask(stream: &mut Secure) -> std::io::Result<Answer> {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")?;
    Ok(answer(stream))
}

#[test]
fn requests_are_served_over_http_1() {
    let dir = tempfile::tempdir().expect("a directory");
    let certificate = renew(dir.path());
    let server = start(dir.path(), generous());
    let mut stream = connect(&server, &certificate);
    assert_eq!(ask(&mut stream).expect("served").body, "hello");
    assert_eq!(ask(&mut stream).expect("served").body, "hello");
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
}

#[test]
fn a_new_certificate_is_for_new_connections() {
    let dir = tempfile::tempdir().expect("a directory");
    let old = renew(dir.path());
    let server = start(dir.path(), generous());
    let reloader = server.tls.clone().expect("TLS");
    let mut before = connect(&server, &old);
    ask(&mut before).expect("served");

    let new = renew(dir.path());
    reloader.reload().expect("sound files");
    assert_eq!(
        ask(&mut connect(&server, &new)).expect("served").status,
        200
    );
    assert!(
        ask(&mut connect(&server, &old)).is_err(),
        "the old one is not shown any more"
    );
    assert_eq!(ask(&mut before).expect("still served").status, 200);

    fs::write(dir.path().join("key.pem"), "nothing").expect("written");
    assert!(reloader.reload().expect_err("no key").contains("no key in"));
    assert_eq!(
        ask(&mut connect(&server, &new)).expect("served").status,
        200
    );
}

#[test]
fn a_client_that_leaves_ends_its_request() {
    let dir = tempfile::tempdir().expect("a directory");
    let certificate = renew(dir.path());
    let server = start(dir.path(), generous());
    let mut stream = connect(&server, &certificate);
    stream
        .write_all(b"GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
        .expect("sent");
    server.wait_for_requests(1);
    stream.conn.send_close_notify();
    stream.flush().expect("sent");
    drop(stream);
    server.wait_for_ends(1);
}

#[test]
fn a_handshake_that_fails_or_does_not_come_is_counted() {
    let dir = tempfile::tempdir().expect("a directory");
    renew(dir.path());
    let server = start(
        dir.path(),
        TransportSettings {
            tls_handshake_timeout: SHORT,
            ..generous()
        },
    );
    let mut plain = server.connect();
    plain.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until(|| server.stats.tls_failures() == 1);
    let mut silent = server.connect();
    wait_until(|| server.stats.tls_failures() == 2);
    assert!(silent.is_closed());
    assert_eq!(server.stats.open(), 0);
}

#[test]
fn a_handshake_does_not_hold_up_a_shutdown() {
    let dir = tempfile::tempdir().expect("a directory");
    renew(dir.path());
    let server = start(dir.path(), generous());
    let _silent = server.connect();
    wait_until(|| server.stats.open() == 1);
    let begun = std::time::Instant::now();
    server.request_shutdown();
    assert_eq!(server.cut_off(), 0);
    assert!(begun.elapsed() < PATIENCE);
}
