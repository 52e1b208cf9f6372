//! Whether each primary has the right library, and loading it.

use lockless_client::backend::{Durability, Failure, Redis, RedisSettings};
use lockless_client::workers::Workers;
use lockless_functions::{LIBRARY, VERSION};
use lockless_servers::{Cluster, Standalone};

use crate::support::{cell, load, not_ready, ready, send, start, version};

/// The library as if it were of another version.
fn of_version(other: &str) -> String {
    let changed = LIBRARY.replace(
        &format!("version = '{VERSION}'"),
        &format!("version = '{other}'"),
    );
    assert_ne!(changed, LIBRARY);
    changed
}

fn deploying(url: &str) -> std::sync::Arc<Redis> {
    let settings = RedisSettings {
        deploy: true,
        ..RedisSettings::new(url)
    };
    Redis::start(settings, &Workers::none()).expect("settings")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_library_is_named_with_the_command_that_deploys_it() {
    let server = Standalone::builder().private().start().expect("a server");
    let redis = start(&server.url().replace("redis://", "redis://default:nopass@"));
    let command = format!("cargo xtask deploy-functions --url {}", server.url());
    not_ready(&redis, &["does not have the library", &command, "--deploy"]).await;
    let missing = redis.call(version(&cell()), Durability::Primary).await;
    assert_eq!(missing, Err(Failure::LibraryMissing));
    load(server.port(), LIBRARY);
    ready(&redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_is_not_ready_until_it_is_replaced() {
    let server = Standalone::builder().private().start().expect("a server");
    load(server.port(), &of_version("0.0.1"));
    let redis = start(&server.url());
    not_ready(&redis, &["0.0.1", VERSION, "--deploy"]).await;
    ready(&deploying(&server.url())).await;
    ready(&redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_library_is_never_replaced() {
    let server = Standalone::builder().private().start().expect("a server");
    load(server.port(), &of_version("99.0.0"));
    let redis = deploying(&server.url());
    not_ready(&redis, &["99.0.0", VERSION, "upgrade this program"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_build_of_the_same_version_is_told_apart() {
    let server = Standalone::builder().private().start().expect("a server");
    let digest = lockless_functions::digest().expect("a digest");
    load(
        server.port(),
        &LIBRARY.replace(digest, &"0".repeat(digest.len())),
    );
    not_ready(&start(&server.url()), &["another build", VERSION]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_library_of_someone_else_is_left_alone() {
    let server = Standalone::builder().private().start().expect("a server");
    load(
        server.port(),
        "#!lua name=lockless\nredis.register_function('other', function() return 1 end)",
    );
    not_ready(
        &deploying(&server.url()),
        &["could not be loaded", "already exists"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deploying_reaches_every_primary_and_one_that_comes_back_empty() {
    let cluster = Cluster::start(3).expect("a cluster");
    let redis = deploying(&cluster.urls()[1]);
    ready(&redis).await;
    let port = cluster.nodes()[2].port();
    send(port, "FUNCTION FLUSH");
    crate::support::until("the library on the third primary", async || {
        matches!(send(port, "FUNCTION LIST"), redis::Value::Array(libraries) if libraries.len() == 1)
    })
    .await;
    ready(&redis).await;
}
