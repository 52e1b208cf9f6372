//! Writes that a replica must confirm.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockless_client::backend::{Durability, Failure, Redis, RedisSettings, Reply};
use lockless_client::workers::Workers;
use lockless_servers::{Cluster, Standalone};

use crate::support::{
    cell, dispatch, load, ready, register, says, send, server, text, until, version, writing,
};

fn impatient(url: &str) -> Arc<Redis> {
    let settings = RedisSettings {
        wait_timeout: Duration::from_millis(300),
        ..RedisSettings::new(url)
    };
    Redis::start(settings, &Workers::none()).expect("settings")
}

fn replica_of(server: &Standalone) -> Standalone {
    let replica = Standalone::builder()
        .replica_of(server.port())
        .start()
        .expect("a replica");
    let begin = Instant::now();
    while !says(replica.port(), "INFO replication", "master_link_status:up") {
        assert!(
            begin.elapsed() < crate::support::PATIENCE,
            "the replica has no link to its primary"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    replica
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_replica_a_write_is_done_but_not_confirmed() {
    let server = server();
    let redis = impatient(&server.url());
    register(&redis, &cell(), "n1").await;
    let outcome = redis
        .call(dispatch(&cell(), "j1"), Durability::Replica)
        .await;
    assert_eq!(outcome, Err(Failure::DurabilityUnknown));
    let Ok(Reply::List(fields)) = redis
        .call(
            writing(&cell(), "lockless_job", &["j1"]),
            Durability::Primary,
        )
        .await
    else {
        panic!("the job was to be there")
    };
    assert!(!fields.is_empty());
    assert!(
        redis
            .call(version(&cell()), Durability::Replica)
            .await
            .is_ok(),
        "reads need no confirmation"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_write_is_confirmed_only_when_the_replica_has_it() {
    let server = server();
    let replica = replica_of(&server);
    let redis = impatient(&server.url());
    register(&redis, &cell(), "n1").await;
    let confirmed = redis
        .call(dispatch(&cell(), "j0"), Durability::Replica)
        .await;
    assert!(confirmed.is_ok(), "{confirmed:?}");
    // From Redis 7.2 on WAIT asks for what its own connection wrote, so there must be such a write.
    assert_eq!(
        send(server.port(), "EXISTS scheduler:{main}:durable"),
        redis::Value::Int(1)
    );

    replica.freeze();
    for _ in 0..6 {
        // A connection that never wrote anything, or did so before, must not take the repetition for confirmed.
        let outcome = redis
            .call(dispatch(&cell(), "j1"), Durability::Replica)
            .await;
        assert_eq!(outcome, Err(Failure::DurabilityUnknown));
    }
    let fresh = impatient(&server.url());
    let outcome = fresh
        .call(dispatch(&cell(), "j1"), Durability::Replica)
        .await;
    assert_eq!(outcome, Err(Failure::DurabilityUnknown));

    replica.thaw();
    until("a confirmation", async || {
        redis
            .call(dispatch(&cell(), "j1"), Durability::Replica)
            .await
            .is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_needs_no_confirmation() {
    let server = server();
    let redis = impatient(&server.url());
    let refused = redis
        .call(dispatch(&cell(), "j1"), Durability::Replica)
        .await;
    assert!(
        matches!(refused, Err(Failure::Library { .. })),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_redis_still_confirms_what_gives_capacity_back() {
    let server = server();
    let _replica = replica_of(&server);
    let redis = impatient(&server.url());
    register(&redis, &cell(), "n1").await;
    redis
        .call(dispatch(&cell(), "j1"), Durability::Replica)
        .await
        .expect("dispatch");
    send(server.port(), "CONFIG SET maxmemory 1");
    let complete = writing(&cell(), "lockless_complete", &["j1", "n1", "finished"]);
    assert_eq!(
        redis.call(complete, Durability::Replica).await,
        Ok(Reply::Bytes("OK".into()))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_durable_writes_share_their_confirmations() {
    let server = server();
    let _replica = replica_of(&server);
    let redis = Redis::start(RedisSettings::new(server.url()), &Workers::none()).expect("settings");
    register(&redis, &cell(), "n1").await;
    send(server.port(), "CONFIG RESETSTAT");
    let callers: Vec<_> = (0..500)
        .map(|number| {
            let redis = redis.clone();
            tokio::spawn(async move {
                redis
                    .call(
                        dispatch(&cell(), &format!("j{number}")),
                        Durability::Replica,
                    )
                    .await
            })
        })
        .collect();
    for caller in callers {
        caller
            .await
            .expect("a caller")
            .expect("a confirmed dispatch");
    }
    let info = text(&send(server.port(), "INFO commandstats"));
    let waits = info
        .lines()
        .find_map(|line| line.strip_prefix("cmdstat_wait:calls="))
        .expect("WAIT");
    let waits: usize = waits
        .split(',')
        .next()
        .and_then(|count| count.parse().ok())
        .expect("a number");
    assert!(waits < 250, "{waits} WAITs for 500 calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_cluster_each_primary_confirms_its_own_part_of_a_batch() {
    let cluster = Cluster::builder(2)
        .replicas_per_primary(1)
        .start()
        .expect("a cluster");
    for node in cluster.primaries() {
        load(node.port(), lockless_functions::LIBRARY);
    }
    let redis = Redis::start(
        RedisSettings::new(cluster.urls()[0].clone()),
        &Workers::none(),
    )
    .expect("settings");
    ready(&redis).await;
    let cells: Vec<_> = (0..8)
        .map(|number| lockless_client::backend::Cell::new(&format!("c:{{{number}}}")))
        .collect();
    for cell in &cells {
        register(&redis, cell, "n1").await;
    }
    let calls = cells.iter().map(|cell| dispatch(cell, "j1")).collect();
    for outcome in redis.batch(calls, Durability::Replica).await {
        assert!(outcome.is_ok(), "{outcome:?}");
    }
}
