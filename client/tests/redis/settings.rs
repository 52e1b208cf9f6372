//! URLs, passwords and TLS.

use std::path::{Path, PathBuf};

use lockless_client::backend::{Durability, Redis, RedisSettings};
use lockless_client::workers::Workers;
use lockless_servers::Standalone;

use crate::support::{cell, not_ready, ready, start, version};

fn refused(settings: RedisSettings) -> String {
    match Redis::start(settings, &Workers::none()) {
        Ok(_) => panic!("it was taken"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn settings_that_cannot_be_right_are_refused_with_a_sentence() {
    let plain = || RedisSettings::new("redis://localhost");
    let secure = || RedisSettings::new("rediss://localhost");
    let here = || Some(PathBuf::from("Cargo.toml"));
    let table = [
        (RedisSettings::new("hunter2"), "has no scheme"),
        (RedisSettings::new("http://:hunter2@host"), "unknown scheme"),
        (
            RedisSettings {
                tls_ca: here(),
                ..plain()
            },
            "--redis-tls-ca needs TLS",
        ),
        (
            RedisSettings {
                insecure: true,
                ..plain()
            },
            "--redis-insecure needs TLS",
        ),
        (
            RedisSettings {
                tls_ca: Some("no/such/file".into()),
                ..secure()
            },
            "no/such/file",
        ),
        (
            RedisSettings {
                tls_cert: here(),
                ..secure()
            },
            "--redis-tls-key",
        ),
        (
            RedisSettings {
                tls_cert: here(),
                tls_key: here(),
                ..secure()
            },
            "can't be used",
        ),
    ];
    for (settings, words) in table {
        let sentence = refused(settings);
        assert!(
            sentence.contains(words) && !sentence.contains("hunter2"),
            "{sentence}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_may_stand_in_the_url_or_beside_it() {
    let server = Standalone::builder()
        .args(["--requirepass", "s3cret/@"])
        .start()
        .expect("a server");
    let url = server.url();
    let in_url = RedisSettings {
        deploy: true,
        ..RedisSettings::new(url.replace("redis://", "redis://:s3cret%2F%40@"))
    };
    let beside = RedisSettings {
        password: Some("s3cret/@".to_owned()),
        ..RedisSettings::new(url)
    };
    for settings in [in_url, beside] {
        ready(&Redis::start(settings, &Workers::none()).expect("settings")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_said_without_repeating_it() {
    let server = Standalone::builder()
        .args(["--requirepass", "right"])
        .start()
        .expect("a server");
    let redis = start(&server.url().replace("redis://", "redis://:hunter2@"));
    let why = not_ready(&redis, &["refused the user and password"]).await;
    assert!(!why.contains("hunter2"), "{why}");
    let redis = start(&server.url());
    not_ready(&redis, &["asks for a password"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_shows_its_certificate_when_it_has_to() {
    let server = Standalone::builder().tls().start().expect("a server");
    let ca = server.ca_file().map(PathBuf::from);
    let (cert, key) = server.client_files().expect("a certificate");
    let settings = |cert: Option<&Path>, key: Option<&Path>| RedisSettings {
        tls_ca: ca.clone(),
        tls_cert: cert.map(Path::to_owned),
        tls_key: key.map(Path::to_owned),
        deploy: true,
        ..RedisSettings::new(server.url())
    };
    let without = Redis::start(settings(None, None), &Workers::none()).expect("settings");
    ready(&without).await;
    let root_cert = ca
        .as_ref()
        .map(|ca| std::fs::read(ca).expect("a certificate"));
    let trust = redis::TlsCertificates {
        client_tls: None,
        root_cert,
    };
    let client = redis::Client::build_with_tls(server.url(), trust).expect("a client");
    redis::cmd("CONFIG")
        .arg(&["SET", "tls-auth-clients", "yes"])
        .exec(&mut client.get_connection().expect("a connection"))
        .expect("CONFIG SET");
    ready(&Redis::start(settings(Some(cert), Some(key)), &Workers::none()).expect("settings"))
        .await;
    let refused = Redis::start(settings(None, None), &Workers::none()).expect("settings");
    not_ready(&refused, &["CertificateRequired"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_trusts_the_authority_it_is_given_and_no_other() {
    let server = Standalone::builder().tls().start().expect("a server");
    let ca = server.ca_file().map(PathBuf::from);
    let by_name = server.url().replace("127.0.0.1", "localhost");
    for url in [server.url(), by_name] {
        let settings = RedisSettings {
            tls_ca: ca.clone(),
            deploy: true,
            ..RedisSettings::new(url)
        };
        let redis = Redis::start(settings, &Workers::none()).expect("settings");
        ready(&redis).await;
        redis
            .call(version(&cell()), Durability::Primary)
            .await
            .expect("a reply");
    }
    not_ready(&start(&server.url()), &["certificate"]).await;
    let trusting = RedisSettings {
        insecure: true,
        ..RedisSettings::new(server.url())
    };
    ready(&Redis::start(trusting, &Workers::none()).expect("settings")).await;
}
