//! Clusters and sentinels come up whole.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::time::{Duration, Instant};

use lockless_servers::{Cluster, ClusterNode, Sentinel, Standalone};

fn connect(url: &str) -> redis::Connection {
    redis::Client::open(url).unwrap().get_connection().unwrap()
}

#[test]
fn every_key_of_a_cluster_has_a_node_that_takes_it() {
    let cluster = Cluster::start(3).unwrap();
    assert_eq!(cluster.urls().len(), 3);
    let client = redis::cluster::ClusterClient::new(cluster.urls()).unwrap();
    let mut connection = client.get_connection().unwrap();
    for number in 0..100 {
        redis::cmd("SET")
            .arg(format!("key-{number}"))
            .arg(number)
            .exec(&mut connection)
            .unwrap();
    }
    let covered: usize = cluster
        .nodes()
        .iter()
        .filter_map(ClusterNode::slots)
        .map(Iterator::count)
        .sum();
    assert_eq!(covered, 16_384);
}

#[test]
fn the_replicas_of_a_cluster_follow_their_primaries() {
    let cluster = Cluster::builder(2).replicas_per_primary(1).start().unwrap();
    assert_eq!((cluster.nodes().len(), cluster.primaries().count()), (4, 2));
    for replica in cluster.nodes().iter().filter(|node| !node.is_primary()) {
        let info: String = redis::cmd("INFO")
            .arg("replication")
            .query(&mut connect(&replica.url()))
            .unwrap();
        assert!(
            info.contains("role:slave") && info.contains("master_link_status:up"),
            "{info}"
        );
    }
}

#[test]
fn no_node_of_a_cluster_survives_it() {
    let cluster = Cluster::start(2).unwrap();
    let pids: Vec<u32> = cluster
        .nodes()
        .iter()
        .filter_map(ClusterNode::pid)
        .collect();
    cluster.stop();
    assert!(
        pids.iter()
            .all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
    );
}

#[test]
fn a_cluster_without_primaries_is_refused() {
    assert!(Cluster::start(0).is_err());
}

#[test]
fn a_sentinel_names_the_primary() {
    let watched = Sentinel::start().unwrap();
    let mut connection = connect(&format!("redis://127.0.0.1:{}", watched.port()));
    let (host, port): (String, u16) = redis::cmd("SENTINEL")
        .arg("GET-MASTER-ADDR-BY-NAME")
        .arg(watched.name())
        .query(&mut connection)
        .unwrap();
    assert_eq!(
        (host.as_str(), port),
        ("127.0.0.1", watched.primary().port())
    );
}

#[test]
fn a_replica_refuses_writes() {
    let primary = Standalone::builder().private().start().unwrap();
    let replica = Standalone::builder()
        .replica_of(primary.port())
        .start()
        .unwrap();
    let mut connection = connect(&replica.url());
    let begin = Instant::now();
    loop {
        let error = redis::cmd("SET")
            .arg("key")
            .arg(1)
            .exec(&mut connection)
            .unwrap_err();
        if error.code() == Some("READONLY") {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "{error}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
