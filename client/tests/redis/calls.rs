//! Calls and batches on one server.

use lockless_client::backend::{Durability, Failure, Redis, RedisSettings, Reply};
use lockless_client::wakes::{Topic, Wakes};
use lockless_client::workers::Workers;

use crate::support::{
    call, cell, dispatch, link, ready, register, send, server, start, version, writing,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_answered() {
    let server = server();
    let redis = start(&server.url());
    let reply = redis
        .call(version(&cell()), Durability::Primary)
        .await
        .expect("a reply");
    let Reply::List(fields) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(fields[0], Reply::Bytes("version".into()));
    assert_eq!(fields[1], Reply::Bytes(lockless_functions::VERSION.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_library_keeps_its_code_and_sentence() {
    let server = server();
    let redis = start(&server.url());
    let Err(Failure::Library { code, sentence }) =
        call(&redis, "lockless_ack", &["no-job", "no-node"]).await
    else {
        panic!("an error was expected")
    };
    assert_eq!(code, "UNKNOWN_NODE");
    assert!(sentence.contains("no-node"), "{sentence}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_keeps_its_order_and_each_call_its_own_outcome() {
    let server = server();
    let redis = start(&server.url());
    register(&redis, &cell(), "n1").await;
    let mut calls = Vec::new();
    for number in 0..300 {
        let job = format!("job-{number}");
        calls.push(dispatch(&cell(), &job));
        calls.push(writing(
            &cell(),
            "lockless_complete",
            &[&job, "nobody", "finished"],
        ));
        calls.push(writing(
            &cell(),
            "lockless_complete",
            &[&job, "n1", "finished"],
        ));
    }
    let outcomes = redis.batch(calls, Durability::Primary).await;
    assert_eq!(outcomes.len(), 900);
    for (number, outcome) in outcomes.chunks(3).enumerate() {
        let job = Reply::Bytes(format!("job-{number}").into());
        assert_eq!(
            outcome[0],
            Ok(Reply::List(vec![Reply::Bytes("n1".into()), job]))
        );
        assert!(
            matches!(&outcome[1], Err(Failure::Library { code, .. }) if code == "UNKNOWN_NODE"),
            "{outcome:?}"
        );
        assert_eq!(outcome[2], Ok(Reply::Bytes("OK".into())));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_redis_refuses_what_takes_capacity_and_takes_what_gives_it_back() {
    let server = server();
    let redis = start(&server.url());
    register(&redis, &cell(), "n1").await;
    redis
        .call(dispatch(&cell(), "j1"), Durability::Primary)
        .await
        .expect("dispatch");
    send(server.port(), "CONFIG SET maxmemory 1");
    let refused = redis
        .call(dispatch(&cell(), "j2"), Durability::Primary)
        .await;
    assert!(matches!(refused, Err(Failure::Full(_))), "{refused:?}");
    assert_eq!(
        call(&redis, "lockless_complete", &["j1", "n1", "finished"]).await,
        Ok(Reply::Bytes("OK".into()))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_rights_is_told_what_redis_says() {
    let server = server();
    redis::cmd("ACL")
        .arg(&["SETUSER", "poor", "on", ">secret", "~*", "+ping"])
        .exec(&mut link(server.port()))
        .expect("ACL SETUSER");
    let redis = start(&server.url().replace("redis://", "redis://poor:secret@"));
    let Err(Failure::Refused(why)) = redis.call(version(&cell()), Durability::Primary).await else {
        panic!("a refusal was expected")
    };
    assert!(why.starts_with("NOPERM"), "{why}");
}

/// What the manual gives a user: the word that begins the list, and all that follow it in the line.
fn rights(manual: &str, first: &str) -> Vec<String> {
    let line = manual.lines().find(|line| line.contains(first));
    let words = line.expect("a list of rights").split([' ', '`']);
    let rights = words.filter(|word| word.starts_with(['+', '~', '&']));
    rights.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rights_in_the_manual_are_enough() {
    let (server, functions) = (server(), include_str!("../../../docs/functions.md"));
    let operations = include_str!("../../../docs/operations.md");
    let mut user = rights(functions, "ACL SETUSER lockless-call");
    user.extend(rights(operations, "+ssubscribe"));
    let mut set = redis::cmd("ACL");
    set.arg(&["SETUSER", "caller", "on", ">secret"]).arg(user);
    set.exec(&mut link(server.port())).expect("ACL SETUSER");
    let redis = start(&server.url().replace("redis://", "redis://caller:secret@"));
    ready(&redis).await;
    register(&redis, &cell(), "n1").await;
    let durable = redis
        .call(dispatch(&cell(), "j1"), Durability::Replica)
        .await;
    assert_eq!(durable, Err(Failure::DurabilityUnknown));
    assert_eq!(
        send(server.port(), "EXISTS scheduler:{main}:durable"),
        redis::Value::Int(1)
    );
    let wakes = Wakes::new(redis);
    wakes
        .watch(&cell(), Topic::Node("n1".into()))
        .await
        .expect("a watch");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gauges_count_connections_and_calls() {
    let server = server();
    let redis = start(&server.url());
    ready(&redis).await;
    crate::support::until("its connection", async || redis.gauges().connections == 1).await;
    assert_eq!(
        (redis.gauges().in_flight, redis.gauges().reconnects),
        (0, 0)
    );
    redis.close().await;
    crate::support::until("no connections", async || redis.gauges().connections == 0).await;
    let late = redis.call(version(&cell()), Durability::Primary).await;
    assert!(matches!(late, Err(Failure::Away(_))), "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_thread_has_connections_of_its_own() {
    let server = server();
    let workers = Workers::start(3).expect("threads");
    let settings = RedisSettings {
        pool_size: 2,
        ..RedisSettings::new(server.url())
    };
    let redis = Redis::start(settings, &workers).expect("settings");
    ready(&redis).await;
    crate::support::until("all", async || redis.gauges().connections == 6).await;
    let (sender, mut outcomes) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..3 {
        let (redis, sender) = (redis.clone(), sender.clone());
        workers.spawn(async move {
            let outcome = redis.call(version(&cell()), Durability::Primary).await;
            let _ = sender.send((Workers::here().is_some(), outcome.is_ok()));
        });
    }
    for _ in 0..3 {
        assert_eq!(outcomes.recv().await, Some((true, true)));
    }
    // Those who are on none of the threads are served as well.
    assert!(
        redis
            .call(version(&cell()), Durability::Primary)
            .await
            .is_ok()
    );
}
