//! A hundred thousand jobs through the queue leave nothing behind.

use std::collections::BTreeMap;

use redis::{Connection, Value};

use crate::{BATCH, all, keys, memory, must, start, wait_until_gone};

/// The ids and attempts of what a pull hands over.
fn pulled(connection: &mut Connection) -> Vec<(String, i64)> {
    let reply = must(connection, "pull n1 COUNT 256");
    let (items, _): (Vec<Vec<Value>>, Vec<String>) = redis::from_redis_value(reply).unwrap();
    let read = |item: &Vec<Value>| {
        let job = redis::from_redis_value(item[1].clone()).unwrap();
        (job, redis::from_redis_value(item[11].clone()).unwrap())
    };
    items.iter().map(read).collect()
}

fn pending(connection: &mut Connection) -> i64 {
    let stats: BTreeMap<String, i64> = redis::from_redis_value(must(connection, "stats")).unwrap();
    stats["pending"]
}

/// Jobs of seven queues that finish, fail for good, fail once, are given up once, wait for their time, or are cancelled.
fn queue(connection: &mut Connection, first: usize, jobs: usize) {
    for batch in (first..first + jobs).step_by(BATCH) {
        let numbers = batch..batch + BATCH;
        let submit = |job: usize| {
            let options = match job % 10 {
                1 => " RETRIES 0",
                3 => " DELAY 1",
                4 => " PRIORITY 1",
                _ => "",
            };
            format!("submit q{job} payload POOL p{}{options}", job % 7)
        };
        all(connection, numbers.clone().map(submit));
        let cancel = |job: usize| (job % 10 == 2).then(|| format!("cancel q{job}"));
        all(connection, numbers.filter_map(cancel));
        while pending(connection) > 0 {
            let tries = pulled(connection);
            let word = |(job, attempt): &(String, i64)| match (job.as_bytes().last(), attempt) {
                (Some(b'1'), _) | (Some(b'4'), 1) => format!("complete {job} n1 failed"),
                (Some(b'5'), 1) => format!("stopped {job} n1 ok"),
                _ => format!("complete {job} n1 finished RESULT r"),
            };
            all(connection, tries.iter().map(word));
            must(connection, "sweep LIMIT 10000");
        }
    }
}

#[test]
fn nothing_is_left_of_a_hundred_thousand_jobs_from_the_queue() {
    const JOBS: usize = 100_000;
    const SLACK_BYTES: u64 = 512 * 1024;
    /// What is cached of queues that went: no more than so many.
    const FITS: u64 = 100;
    let (_server, mut connection) = start();
    let connection = &mut connection;
    must(
        connection,
        "config keep_finished_ms 3000 heartbeat_ttl_ms 1800000 events_max 100 retry_backoff_ms 1",
    );
    must(
        connection,
        "register n1 10000 POOL p0 POOL p1 POOL p2 POOL p3 POOL p4 POOL p5 POOL p6",
    );
    queue(connection, 0, 4000);
    wait_until_gone(connection, 40, u64::MAX);
    let (keys_before, memory_before) = (keys(connection), memory(connection));
    queue(connection, 4000, JOBS);
    let peak = memory(connection);
    assert!(
        peak > memory_before + SLACK_BYTES,
        "the jobs took no memory"
    );
    let left = wait_until_gone(connection, keys_before, memory_before + SLACK_BYTES);
    println!("{memory_before} bytes before {JOBS} jobs, {peak} right after, {left} at the end");
    let of_queues = [
        "queue:*",
        "queues",
        "heads",
        "delayed",
        "node:work:*",
        "job:*",
    ];
    for pattern in of_queues {
        let names: Vec<String> = redis::cmd("KEYS")
            .arg(format!("scheduler:{{main}}:{pattern}"))
            .query(connection)
            .unwrap();
        assert_eq!(names, Vec::<String>::new());
    }
    let fits: Vec<String> = redis::cmd("KEYS")
        .arg("scheduler:{main}:fits:*")
        .query(connection)
        .unwrap();
    for key in fits {
        let size: u64 = redis::cmd("ZCARD").arg(&key).query(connection).unwrap();
        assert!(size < FITS, "{key} has {size} entries");
    }
    let due: u64 = redis::cmd("ZCARD")
        .arg("scheduler:{main}:due")
        .query(connection)
        .unwrap();
    assert!(due <= 3, "{due} deadlines are left");
    assert_eq!(must(connection, "check"), Value::Array(vec![]));
}
