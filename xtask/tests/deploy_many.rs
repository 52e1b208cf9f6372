//! `deploy-functions` to a Cluster and through a Sentinel.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lockless_servers::{Cluster, ClusterNode, Sentinel};
use support::*;

fn signal(node: &ClusterNode, name: &str) {
    let pid = node.pid().unwrap().to_string();
    assert!(
        Command::new("kill")
            .args([name, &pid])
            .status()
            .unwrap()
            .success()
    );
}

/// Waits until every node calls the cluster whole again.
fn wait_until_whole(cluster: &Cluster) {
    let begin = Instant::now();
    for url in cluster.urls() {
        loop {
            let info: String = redis::cmd("CLUSTER")
                .arg("INFO")
                .query(&mut connect(&url))
                .unwrap();
            if info.contains("cluster_state:ok") {
                break;
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "{info}");
            sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn any_node_of_a_cluster_leads_to_all_primaries() {
    let cluster = Cluster::builder(3).replicas_per_primary(1).start().unwrap();
    let deployer = Deployer::new();
    let replica = cluster
        .nodes()
        .iter()
        .find(|node| !node.is_primary())
        .unwrap();
    let said = deployer.succeeds(&replica.url(), &[]);
    assert!(
        said.contains("Cluster of 3 primaries") && said.contains("3 of 3 primaries changed"),
        "{said}"
    );
    assert!(cluster.urls().iter().all(|url| has_own_library(url)));
    let again = deployer.succeeds(&cluster.urls()[1], &[]);
    assert!(again.contains("0 of 3 primaries changed"), "{again}");
    deployer.succeeds(&cluster.urls()[2], &["--rollback"]);
    assert!(
        cluster
            .urls()
            .iter()
            .all(|url| code_of(url, "lockless").is_none())
    );
}

#[test]
fn a_refusal_by_one_primary_leaves_all_as_they_were() {
    let cluster = Cluster::start(3).unwrap();
    load(&cluster.urls()[2], &library_of("99.0.0"));
    let sentence = Deployer::new().fails(&cluster.urls()[0], &[]);
    assert!(sentence.contains("newer version 99.0.0"), "{sentence}");
    assert_eq!(code_of(&cluster.urls()[0], "lockless"), None);
}

#[test]
fn a_primary_that_failed_is_named_and_a_second_run_completes() {
    let cluster = Cluster::start(3).unwrap();
    let deployer = Deployer::new();
    let stopped = &cluster.nodes()[1];
    signal(stopped, "-STOP");
    let sentence = deployer.fails(&cluster.urls()[0], &[]);
    signal(stopped, "-CONT");
    let (done, failed) = sentence.split_once("but failed on").unwrap();
    for node in [&cluster.nodes()[0], &cluster.nodes()[2]] {
        assert!(
            done.contains(&format!("127.0.0.1:{}", node.port())),
            "{sentence}"
        );
        assert!(has_own_library(&node.url()));
    }
    assert!(
        failed.contains(&format!("127.0.0.1:{} did not answer", stopped.port())),
        "{sentence}"
    );
    wait_until_whole(&cluster);
    assert!(code_of(&stopped.url(), "lockless").is_none());
    let said = deployer.succeeds(&cluster.urls()[0], &[]);
    assert!(said.contains("1 of 3 primaries changed"), "{said}");
    assert!(cluster.urls().iter().all(|url| has_own_library(url)));
    // The backups are of two runs, but of one deployment.
    let said = deployer.succeeds(&cluster.urls()[0], &["--rollback"]);
    assert!(said.contains("3 of 3 primaries changed"), "{said}");
}

#[test]
fn a_rollback_leaves_a_primary_that_the_last_deployment_missed() {
    let cluster = Cluster::start(2).unwrap();
    let deployer = Deployer::new();
    // As an earlier deployment of another version would have left it.
    for node in cluster.nodes() {
        load(&node.url(), &library_of("0.0.1"));
        let base = format!(
            ".lockless/backups/127.0.0.1-{}-20200101T000000.000Z",
            node.port()
        );
        let path = |extension: &str| deployer.dir.path().join(format!("{base}.{extension}"));
        std::fs::create_dir_all(path("dump").parent().unwrap()).unwrap();
        std::fs::write(path("meta"), "before: nothing\nloaded: digest-of-0.0.1\n").unwrap();
        std::fs::write(path("dump"), "").unwrap();
    }
    signal(&cluster.nodes()[1], "-STOP");
    let sentence = deployer.fails(&cluster.urls()[0], &[]);
    signal(&cluster.nodes()[1], "-CONT");
    assert!(sentence.contains("It is done on"), "{sentence}");
    wait_until_whole(&cluster);
    let said = deployer.succeeds(&cluster.urls()[0], &["--rollback"]);
    assert!(
        said.contains("the last deployment did not change it"),
        "{said}"
    );
    for url in cluster.urls() {
        assert_eq!(code_of(&url, "lockless"), Some(library_of("0.0.1")));
    }
}

#[test]
fn a_killed_primary_is_named_even_after_the_cluster_called_itself_down() {
    let cluster = Cluster::start(3).unwrap();
    signal(&cluster.nodes()[2], "-KILL");
    sleep(Duration::from_secs(4));
    let sentence = Deployer::new().fails(&cluster.urls()[0], &[]);
    assert!(
        sentence.contains(&format!(
            "There is no server at 127.0.0.1:{}",
            cluster.nodes()[2].port()
        )),
        "{sentence}"
    );
    assert!(has_own_library(&cluster.urls()[0]) && has_own_library(&cluster.urls()[1]));
}

#[test]
fn a_sentinel_leads_to_the_primary() {
    let watched = Sentinel::start().unwrap();
    let deployer = Deployer::new();
    let said = deployer.succeeds(&watched.url(), &[]);
    assert!(
        said.contains(&format!(
            "name 127.0.0.1:{} as the primary",
            watched.primary().port()
        )),
        "{said}"
    );
    assert!(has_own_library(&watched.primary().url()));
    // One that is not there does not matter while another answers.
    let with_a_dead_one = format!(
        "redis+sentinel://127.0.0.1:1,127.0.0.1:{}/mymaster",
        watched.port()
    );
    assert!(
        deployer
            .succeeds(&with_a_dead_one, &[])
            .contains("up to date")
    );
    let unknown = deployer.fails(&watched.url().replace("mymaster", "nobody"), &[]);
    assert!(
        unknown.contains("know no primary called nobody"),
        "{unknown}"
    );
    let direct = deployer.fails(&format!("redis://127.0.0.1:{}", watched.port()), &[]);
    assert!(direct.contains("is a Sentinel"), "{direct}");
    let dead = deployer.fails("redis+sentinel://127.0.0.1:1/mymaster", &[]);
    assert!(dead.contains("No Sentinel answered"), "{dead}");
}
