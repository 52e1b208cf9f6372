//! Long polls on a real Redis: who is woken by what, over how many connections, and after which failures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockless_client::backend::{Cell, Durability, Failure, Redis};
use lockless_client::wakes::{Topic, Wakes, Watch};
use lockless_functions::LIBRARY;
use lockless_servers::Cluster;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::support::{
    PATIENCE, cell, dispatch, load, ready, register, register_for_good, restartable, send, server,
    start, text, until, writing,
};

fn node(name: &str) -> Topic {
    Topic::Node(name.to_owned().into())
}

async fn woken_within(watch: &mut Watch, time: Duration) -> bool {
    timeout(time, watch.woken()).await.is_ok()
}

/// Leaves out what is told when a subscription begins.
async fn settled(watch: &mut Watch) {
    while woken_within(watch, Duration::from_millis(100)).await {}
}

async fn waiting(redis: &Arc<Redis>, cell: &Cell) -> (Wakes, Watch) {
    register(redis, cell, "n1").await;
    let wakes = Wakes::new(Arc::clone(redis));
    let watch = wakes.watch(cell, node("n1")).await.expect("a watch");
    (wakes, watch)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispatch_wakes_those_who_wait_for_its_node_and_no_others() {
    let server = server();
    let redis = start(&server.url());
    let (wakes, mut first) = waiting(&redis, &cell()).await;
    let mut second = wakes.watch(&cell(), node("n1")).await.expect("a watch");
    let mut other = wakes.watch(&cell(), node("n2")).await.expect("a watch");
    let mut end = wakes
        .watch(&cell(), Topic::Job("j1".into()))
        .await
        .expect("a watch");
    redis
        .call(dispatch(&cell(), "j1"), Durability::Primary)
        .await
        .expect("dispatch");
    assert!(woken_within(&mut first, PATIENCE).await && woken_within(&mut second, PATIENCE).await);
    assert!(!woken_within(&mut other, Duration::from_millis(50)).await);
    assert!(!woken_within(&mut end, Duration::from_millis(50)).await);
    let complete = writing(&cell(), "lockless_complete", &["j1", "n1", "finished"]);
    redis
        .call(complete, Durability::Primary)
        .await
        .expect("complete");
    assert!(woken_within(&mut end, PATIENCE).await);
    assert!(!woken_within(&mut other, Duration::from_millis(50)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn waking_takes_well_under_50_ms() {
    let server = server();
    let redis = start(&server.url());
    let (_wakes, mut watch) = waiting(&redis, &cell()).await;
    let mut times = Vec::new();
    for number in 0..50 {
        let begin = Instant::now();
        redis
            .call(
                dispatch(&cell(), &format!("j{number}")),
                Durability::Primary,
            )
            .await
            .expect("dispatch");
        assert!(woken_within(&mut watch, PATIENCE).await);
        times.push(begin.elapsed());
    }
    times.sort();
    println!(
        "from dispatch to woken: median {:?}, slowest {:?}",
        times[25], times[49]
    );
    assert!(times[25] < Duration::from_millis(25), "{times:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_who_wait_share_one_subscription_one_connection_and_one_call() {
    let server = server();
    let redis = start(&server.url());
    register(&redis, &cell(), "n1").await;
    ready(&redis).await;
    let wakes = Arc::new(Wakes::new(Arc::clone(&redis)));
    let calls = fcalls(server.port());
    let waiters: Vec<_> = (0..3000)
        .map(|number| {
            let wakes = Arc::clone(&wakes);
            tokio::spawn(async move {
                wakes
                    .watch(&cell(), node(&format!("n{}", number % 1000)))
                    .await
            })
        })
        .collect();
    let mut watches = Vec::new();
    for waiter in waiters {
        watches.push(waiter.await.expect("a waiter").expect("a watch"));
    }
    // The watcher of the library calls now and then.
    assert!(fcalls(server.port()) - calls < 10);
    let redis::Value::Array(count) =
        send(server.port(), "PUBSUB SHARDNUMSUB scheduler:{main}:wake")
    else {
        panic!("a count was expected")
    };
    assert_eq!(count[1], redis::Value::Int(1));
    assert_eq!(redis.gauges().connections, 2);
    for watch in &mut watches {
        while woken_within(watch, Duration::ZERO).await {}
    }
    redis
        .call(dispatch(&cell(), "j1"), Durability::Primary)
        .await
        .expect("dispatch");
    for at in [1, 1001, 2001] {
        assert!(woken_within(&mut watches[at], PATIENCE).await);
    }
    assert!(!woken_within(&mut watches[2], Duration::ZERO).await);
}

fn fcalls(port: u16) -> u64 {
    let info = text(&send(port, "INFO commandstats"));
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("cmdstat_fcall:calls="))
        .expect("FCALLs");
    line.split(',')
        .next()
        .and_then(|count| count.parse().ok())
        .expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_subscription_ends_when_nobody_has_waited_for_a_while() {
    let server = server();
    let redis = start(&server.url());
    register(&redis, &cell(), "n1").await;
    let wakes = Wakes::with_idle(Arc::clone(&redis), Duration::from_millis(300));
    let channels = || match send(server.port(), "PUBSUB SHARDCHANNELS") {
        redis::Value::Array(channels) => channels.len(),
        other => panic!("{other:?}"),
    };
    for _ in 0..2 {
        let watch = wakes.watch(&cell(), node("n1")).await.expect("a watch");
        assert_eq!(channels(), 1);
        drop(watch);
        until("the end of the subscription", async || channels() == 0).await;
        until("the end of its connection", async || {
            redis.gauges().connections == 1
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_redis_wakes_everyone_and_announcements_go_on() {
    let dir = TempDir::new().expect("a directory");
    let (mut first, again) = restartable(dir.path());
    let redis = start(&first.url());
    let (wakes, mut watch) = waiting(&redis, &cell()).await;
    first.kill();
    let _second = again.start().expect("a server");
    assert!(woken_within(&mut watch, PATIENCE).await);
    until("listening again", async || {
        wakes.listen(&cell()).await.is_ok()
    })
    .await;
    settled(&mut watch).await;
    redis
        .call(dispatch(&cell(), "j1"), Durability::Primary)
        .await
        .expect("dispatch");
    assert!(woken_within(&mut watch, PATIENCE).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_redis_is_away_nobody_begins_to_wait() {
    let mut server = server();
    let redis = start(&server.url());
    let (wakes, _watch) = waiting(&redis, &cell()).await;
    server.kill();
    // Whoever came before the loss was seen waits, and is woken when Redis is back.
    until("the loss", async || {
        wakes.watch(&cell(), node("n1")).await.is_err()
    })
    .await;
    let begin = Instant::now();
    let away = wakes.watch(&cell(), node("n1")).await.map(drop);
    assert!(matches!(away, Err(Failure::Away(_))), "{away:?}");
    assert!(
        begin.elapsed() < Duration::from_millis(500),
        "{:?}",
        begin.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_that_does_not_exist_yet_is_listened_to_once_it_does() {
    let server = server();
    let redis = start(&server.url());
    let wakes = Wakes::new(Arc::clone(&redis));
    let mut watch = wakes.watch(&cell(), node("n1")).await.expect("a watch");
    register(&redis, &cell(), "n1").await;
    wakes.listen(&cell()).await.expect("listening");
    settled(&mut watch).await;
    redis
        .call(dispatch(&cell(), "j1"), Durability::Primary)
        .await
        .expect("dispatch");
    assert!(woken_within(&mut watch, PATIENCE).await);
}

/// A cluster with the library, and where the slot of the cell is.
fn cluster(replicas: usize) -> (Cluster, usize, i64) {
    let cluster = Cluster::builder(3)
        .replicas_per_primary(replicas)
        .start()
        .expect("a cluster");
    for node in cluster.primaries() {
        load(node.port(), LIBRARY);
    }
    let redis::Value::Int(slot) = send(cluster.nodes()[0].port(), "CLUSTER KEYSLOT main") else {
        panic!("a slot was expected")
    };
    let has_slot = |node: &lockless_servers::ClusterNode| {
        node.slots()
            .is_some_and(|slots| slots.contains(&(slot as u16)))
    };
    let at = cluster
        .nodes()
        .iter()
        .position(has_slot)
        .expect("a primary of the slot");
    (cluster, at, slot)
}

async fn wakes_again(redis: &Redis, wakes: &Wakes, watch: &mut Watch) {
    assert!(woken_within(watch, PATIENCE).await);
    until("listening again", async || {
        wakes.listen(&cell()).await.is_ok()
    })
    .await;
    settled(watch).await;
    until("a dispatch", async || {
        redis
            .call(dispatch(&cell(), "j1"), Durability::Primary)
            .await
            .is_ok()
    })
    .await;
    assert!(woken_within(watch, PATIENCE).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_failover_wakes_everyone_and_announcements_go_on() {
    let (mut cluster, at, _) = cluster(1);
    let redis = start(&cluster.urls()[0]);
    let (wakes, mut watch) = waiting(&redis, &cell()).await;
    register_for_good(&redis, &cell(), "n1").await;
    cluster.node_mut(at).expect("a node").kill();
    wakes_again(&redis, &wakes, &mut watch).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_wakes_everyone_and_is_followed() {
    let (cluster, at, slot) = cluster(0);
    let redis = start(&cluster.urls()[0]);
    ready(&redis).await;
    // An empty cell can be moved without its keys.
    let wakes = Wakes::new(Arc::clone(&redis));
    let mut watch = wakes.watch(&cell(), node("n1")).await.expect("a watch");
    let to = &cluster.nodes()[(at + 1) % 3];
    for node in [to, &cluster.nodes()[at]] {
        send(
            node.port(),
            &format!("CLUSTER SETSLOT {slot} NODE {}", to.id()),
        );
    }
    assert!(woken_within(&mut watch, PATIENCE).await);
    until("the subscription", async || {
        matches!(send(to.port(), "PUBSUB SHARDCHANNELS"), redis::Value::Array(all) if all.len() == 1)
    })
    .await;
    register(&redis, &cell(), "n1").await;
    wakes.listen(&cell()).await.expect("listening");
    settled(&mut watch).await;
    redis
        .call(dispatch(&cell(), "j1"), Durability::Primary)
        .await
        .expect("dispatch");
    assert!(woken_within(&mut watch, PATIENCE).await);
}
