//! Sentinels and Clusters.

use std::time::Duration;

use lockless_client::backend::{Cell, Durability, Failure, Reply};
use lockless_functions::LIBRARY;
use lockless_servers::{Cluster, Sentinel};

use crate::support::{
    cell, dispatch, load, not_ready, ready, register, register_for_good, says, send, start, text,
    until, version, writing,
};

#[tokio::test(flavor = "multi_thread")]
async fn after_a_sentinel_failover_calls_go_to_the_new_primary() {
    let mut sentinel = Sentinel::start().expect("a sentinel");
    load(sentinel.primary().port(), LIBRARY);
    let redis = start(&sentinel.url());
    ready(&redis).await;
    register_for_good(&redis, &cell(), "n1").await;
    let replica = sentinel.replica().port();
    sentinel.primary_mut().kill();
    until("the promotion", async || {
        says(replica, "INFO replication", "role:master")
    })
    .await;
    let taken = until("a dispatch", async || {
        redis
            .call(dispatch(&cell(), "j1"), Durability::Primary)
            .await
            .is_ok()
    })
    .await;
    assert!(taken < Duration::from_secs(2), "{taken:?}");
    ready(&redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_that_do_not_know_the_name_say_so() {
    let sentinel = Sentinel::start().expect("a sentinel");
    let redis = start(&sentinel.url().replace("mymaster", "other"));
    not_ready(&redis, &["no primary called other"]).await;
    let plain = format!("redis://127.0.0.1:{}", sentinel.port());
    not_ready(&start(&plain), &["is a Sentinel", "redis+sentinel://"]).await;
    let replica = format!("redis://127.0.0.1:{}", sentinel.replica().port());
    not_ready(&start(&replica), &["is a replica"]).await;
}

fn cells() -> Vec<Cell> {
    (0..12)
        .map(|number| Cell::new(&format!("scheduler:{{cell-{number}}}")))
        .collect()
}

fn loaded(primaries: usize, replicas: usize) -> Cluster {
    let cluster = Cluster::builder(primaries)
        .replicas_per_primary(replicas)
        .start()
        .expect("a cluster");
    for node in cluster.primaries() {
        load(node.port(), LIBRARY);
    }
    cluster
}

#[tokio::test(flavor = "multi_thread")]
async fn any_node_of_a_cluster_leads_to_all_primaries() {
    let cluster = loaded(3, 1);
    let replica = cluster.nodes().last().expect("a node");
    for url in [cluster.urls()[0].clone(), replica.url()] {
        let redis = start(&url);
        ready(&redis).await;
        let calls: Vec<_> = cells().iter().map(version).collect();
        for outcome in redis.batch(calls, Durability::Primary).await {
            assert!(matches!(outcome, Ok(Reply::List(_))), "{outcome:?}");
        }
    }
    for node in cluster.primaries() {
        let info = text(&send(node.port(), "INFO commandstats"));
        assert!(
            info.contains("cmdstat_fcall:") && !info.contains("MOVED"),
            "{info}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_cluster_failover_calls_go_to_the_promoted_replica() {
    let mut cluster = loaded(3, 1);
    let redis = start(&cluster.urls()[0]);
    ready(&redis).await;
    for cell in cells() {
        register_for_good(&redis, &cell, "n1").await;
    }
    let (replica, survivor) = (cluster.nodes()[3].port(), cluster.nodes()[1].port());
    cluster.node_mut(0).expect("a node").kill();
    // Cells elsewhere are served all the time.
    let served = async || {
        let calls = cells().iter().map(|cell| dispatch(cell, "j1")).collect();
        let outcomes = redis.batch(calls, Durability::Primary).await;
        outcomes.iter().filter(|outcome| outcome.is_ok()).count()
    };
    assert!(served().await >= 4);
    until("the promotion", async || {
        says(replica, "INFO replication", "role:master")
    })
    .await;
    // A primary takes calls when it knows that the cluster is complete again.
    until("a complete cluster", async || {
        [replica, survivor]
            .iter()
            .all(|port| says(*port, "CLUSTER INFO", "cluster_state:ok"))
    })
    .await;
    let taken = until("all cells", async || served().await == 12).await;
    assert!(taken < Duration::from_secs(2), "{taken:?}");
    ready(&redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_primary_is_left_for_the_promoted_replica() {
    let cluster = loaded(3, 1);
    let redis = start(&cluster.urls()[0]);
    ready(&redis).await;
    for cell in cells() {
        register_for_good(&redis, &cell, "n1").await;
    }
    let (frozen, replica) = (&cluster.nodes()[0], cluster.nodes()[3].port());
    let cell = cells().into_iter().find(|cell| {
        frozen
            .slots()
            .is_some_and(|slots| slots.contains(&slot_of(cell)))
    });
    let cell = cell.expect("a cell on the first primary");
    frozen.freeze();
    let begin = std::time::Instant::now();
    let slow = redis.call(dispatch(&cell, "j1"), Durability::Primary).await;
    assert_eq!(slow, Err(Failure::Slow));
    assert!(
        begin.elapsed() < Duration::from_millis(2500),
        "{:?}",
        begin.elapsed()
    );
    until("the promotion", async || {
        says(replica, "CLUSTER INFO", "cluster_state:ok")
            && says(replica, "INFO replication", "role:master")
    })
    .await;
    let taken = until("a dispatch", async || {
        redis
            .call(dispatch(&cell, "j1"), Durability::Primary)
            .await
            .is_ok()
    })
    .await;
    println!("{taken:?} after the promotion");
    assert!(taken < Duration::from_secs(4), "{taken:?}");
    frozen.thaw();
    let again = redis.call(dispatch(&cell, "j1"), Durability::Primary).await;
    assert!(again.is_ok(), "{again:?}");
}

fn slot_of(cell: &Cell) -> u16 {
    lockless_topology::slot_of_key(cell.root())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_is_followed_when_its_slot_moves() {
    let cluster = loaded(2, 0);
    let redis = start(&cluster.urls()[0]);
    ready(&redis).await;
    let cell = Cell::new("scheduler:{a}");
    let redis::Value::Int(slot) = send(cluster.nodes()[0].port(), "CLUSTER KEYSLOT a") else {
        panic!("a slot was expected")
    };
    let owns = |at: usize| {
        cluster.nodes()[at]
            .slots()
            .is_some_and(|slots| slots.contains(&(slot as u16)))
    };
    let (from, to) = if owns(0) { (0, 1) } else { (1, 0) };
    let (from, to) = (&cluster.nodes()[from], &cluster.nodes()[to]);
    send(
        to.port(),
        &format!("CLUSTER SETSLOT {slot} IMPORTING {}", from.id()),
    );
    send(
        from.port(),
        &format!("CLUSTER SETSLOT {slot} MIGRATING {}", to.id()),
    );
    // The cell has no key yet, so the old primary sends the call on.
    assert!(
        redis
            .call(version(&cell), Durability::Primary)
            .await
            .is_ok()
    );
    // No WAIT follows it there, so nothing says that a replica has it.
    let durable = redis
        .call(writing(&cell, "lockless_version", &[]), Durability::Replica)
        .await;
    assert_eq!(durable, Err(Failure::DurabilityUnknown));
    let moving = redis
        .call(
            writing(&cell, "lockless_register", &["n1", "4"]),
            Durability::Primary,
        )
        .await;
    assert!(
        matches!(&moving, Err(Failure::Library { code, .. }) if code == "CELL_MOVING"),
        "{moving:?}"
    );
    for node in [to, from] {
        send(
            node.port(),
            &format!("CLUSTER SETSLOT {slot} NODE {}", to.id()),
        );
    }
    register(&redis, &cell, "n1").await;
    assert_eq!(
        send(to.port(), "EXISTS scheduler:{a}"),
        redis::Value::Int(1)
    );
}
