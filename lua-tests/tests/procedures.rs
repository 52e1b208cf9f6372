//! What docs/operations.md describes, done on real servers: replacing the library under load, backing up and restoring, adding a primary
//! and moving a cell to it.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod cell;

use std::{
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread::{scope, sleep},
    time::{Duration, Instant},
};

use cell::{ROOT, command, keyspace, library, must, rich::BEFORE, text, violations};
use lockless_lua_tests::Real;
use lockless_servers::{Cluster, Standalone};
use redis::{Client, Connection, Value, cmd};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
/// How often the library is replaced under load.
const LOADS: usize = 20;
const WORKERS: usize = 3;

fn connect(url: &str) -> Connection {
    Client::open(url).unwrap().get_connection().unwrap()
}

fn load(url: &str, library: &str) {
    cmd("FUNCTION")
        .arg(&["LOAD", "REPLACE", library])
        .exec(&mut connect(url))
        .unwrap();
}

/// Waits for something that is about to be so.
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(20));
    }
}

/// Calls in the cell `root` until it is answered by what is no redirect and no refusal of a cell that moves.
fn call(caller: &mut dyn redis::ConnectionLike, root: &str, line: &str) -> Value {
    let mut words = line.split(' ');
    let mut fcall = cmd("FCALL");
    fcall
        .arg(format!("lockless_{}", words.next().unwrap()))
        .arg(1)
        .arg(root)
        .arg(words.collect::<Vec<_>>());
    let begin = Instant::now();
    loop {
        let error = match fcall.query::<Value>(caller) {
            Ok(reply) => return reply,
            Err(error) => error,
        };
        let is_moving = ["CELL_MOVING", "TRYAGAIN", "ASK", "MOVED", "CLUSTERDOWN"]
            .contains(&error.code().unwrap_or_default());
        assert!(
            is_moving && begin.elapsed() < PATIENCE,
            "{root} {line}: {error}"
        );
        sleep(Duration::from_millis(5));
    }
}

/// Takes jobs through their lives until it is told to stop; every call must succeed. How many jobs.
fn work(
    caller: &mut dyn redis::ConnectionLike,
    root: &str,
    name: usize,
    is_over: &AtomicBool,
    done: &AtomicUsize,
) {
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        number += 1;
        let job = format!("w{name}-{number}");
        call(
            caller,
            root,
            &format!("dispatch s{name} - - p JOB {job} ACK 60000"),
        );
        call(caller, root, &format!("ack {job} n"));
        call(caller, root, &format!("complete {job} n finished"));
        done.fetch_add(1, Ordering::Relaxed);
    }
}

fn assert_all_finished(caller: &mut dyn redis::ConnectionLike, root: &str, done: usize) {
    let Value::Array(found) = call(caller, root, "check") else {
        panic!("check gave no list");
    };
    assert!(found.is_empty(), "{found:?}");
    let stats: Vec<String> = redis::from_redis_value(call(caller, root, "stats")).unwrap();
    let finished = stats.chunks(2).find(|pair| pair[0] == "finished").unwrap();
    assert_eq!(finished[1], done.to_string());
}

#[test]
fn the_library_is_replaced_under_load_without_an_error() {
    let server = Standalone::builder().private().start().unwrap();
    load(&server.url(), &library());
    let root = ROOT;
    call(&mut connect(&server.url()), root, "register n 100");
    let (is_over, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    scope(|scope| {
        for name in 0..WORKERS {
            let (is_over, done) = (&is_over, &done);
            let mut caller = connect(&server.url());
            scope.spawn(move || work(&mut caller, root, name, is_over, done));
        }
        for number in 1..=LOADS {
            let before = done.load(Ordering::Relaxed);
            wait_for("jobs are done between two loads", || {
                done.load(Ordering::Relaxed) > before + WORKERS
            });
            load(
                &server.url(),
                &format!("{}\n-- build {number}\n", library()),
            );
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let done = done.into_inner();
    assert_all_finished(&mut connect(&server.url()), root, done);
    println!("{done} jobs, {LOADS} loads");
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Fills a cell, copies what `copy` says while the server runs, goes on there, and starts another server on the copy: it has the library and
/// the cell as it was, sound, and its nodes are there.
fn backed_up_and_restored(settings: &[&str], copy: impl Fn(&mut Real, &Path, &Path)) {
    let (first, second) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let start = |dir: &TempDir| {
        let builder = Standalone::builder().private().dir(dir.path());
        builder.args(settings.iter().copied()).start().unwrap()
    };
    let server = start(&first);
    let mut host = Real::standalone(&server.url()).unwrap();
    host.load_library(&library()).unwrap();
    for line in BEFORE {
        must(&mut host, line);
    }
    let before = keyspace(&mut host);
    copy(&mut host, first.path(), second.path());
    must(&mut host, "register later 4");
    server.stop();

    let restored = start(&second);
    let mut host = Real::standalone(&restored.url()).unwrap();
    let after = keyspace(&mut host);
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );
    assert_eq!(violations(&mut host), Vec::<String>::new());
    must(&mut host, "heartbeat n1");
    must(&mut host, "dispatch restored - - p JOB restored");
    assert_eq!(violations(&mut host), Vec::<String>::new());
}

#[test]
fn a_snapshot_that_is_copied_is_a_backup() {
    backed_up_and_restored(&[], |host, from, to| {
        command(host, "BGSAVE");
        wait_for("the snapshot is written", || {
            let info = text(&command(host, "INFO persistence"));
            info.contains("rdb_bgsave_in_progress:0") && from.join("dump.rdb").exists()
        });
        fs::copy(from.join("dump.rdb"), to.join("dump.rdb")).unwrap();
    });
}

#[test]
fn an_append_only_file_that_is_copied_is_a_backup() {
    backed_up_and_restored(&["--appendonly", "yes"], |host, from, to| {
        // While it is copied it must not be rewritten; what is written meanwhile is at its end, and may be cut.
        command(host, "CONFIG SET auto-aof-rewrite-percentage 0");
        wait_for("no rewrite is under way", || {
            text(&command(host, "INFO persistence")).contains("aof_rewrite_in_progress:0")
        });
        copy_folder(&from.join("appendonlydir"), &to.join("appendonlydir"));
    });
}

fn redis_cli(arguments: &[&str]) -> String {
    let output = Command::new("redis-cli").args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = said.lines().rev().take(5).collect::<Vec<_>>();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "redis-cli {arguments:?}: {last:?} {errors}"
    );
    said
}

/// A cell whose slot is among the first hundred, which are moved first.
fn cell_in_first_slots(connection: &mut Connection) -> String {
    let roots = (0..).map(|number| format!("moved:{{{number}}}"));
    let mut found = roots.filter(|root| {
        let slot: u16 = cmd("CLUSTER")
            .arg(&["KEYSLOT", root])
            .query(connection)
            .unwrap();
        slot < 100
    });
    found.next().unwrap()
}

#[test]
fn a_primary_is_added_and_a_cell_moves_to_it_under_load() {
    let cluster = Cluster::start(3).unwrap();
    for url in cluster.urls() {
        load(&url, &library());
    }
    let first = &cluster.nodes()[0];
    let mut source = connect(&first.url());
    let root = &cell_in_first_slots(&mut source);
    call(&mut source, root, "register n 100");
    let added = Standalone::builder()
        .args(["--cluster-enabled", "yes"])
        .start()
        .unwrap();
    let mut target = connect(&added.url());
    let known = format!("127.0.0.1:{}", first.port());

    let (is_over, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    scope(|scope| {
        for name in 0..WORKERS {
            let (is_over, done, urls) = (&is_over, &done, cluster.urls());
            scope.spawn(move || {
                let client = redis::cluster::ClusterClient::new(urls).unwrap();
                let mut caller = client.get_connection().unwrap();
                work(&mut caller, root, name, is_over, done);
            });
        }
        let address = format!("127.0.0.1:{}", added.port());
        redis_cli(&["--cluster", "add-node", &address, &known]);
        let libraries: Value = cmd("FUNCTION").arg("LIST").query(&mut target).unwrap();
        assert!(
            format!("{libraries:?}").contains("lockless_dispatch"),
            "{libraries:?}"
        );
        let id: String = cmd("CLUSTER").arg("MYID").query(&mut target).unwrap();
        // Before it has heard of all slots it refuses what is moved to it, and the move stops half way.
        wait_for("the new primary takes part", || {
            let info: String = cmd("CLUSTER").arg("INFO").query(&mut target).unwrap();
            info.contains("cluster_state:ok")
        });
        wait_for("all know the new primary", || {
            cluster.urls().iter().all(|url| {
                let nodes: String = cmd("CLUSTER")
                    .arg("NODES")
                    .query(&mut connect(url))
                    .unwrap();
                nodes.contains(&id)
            })
        });
        redis_cli(&[
            "--cluster",
            "reshard",
            &known,
            "--cluster-from",
            first.id(),
            "--cluster-to",
            &id,
            "--cluster-slots",
            "100",
            "--cluster-yes",
        ]);
        let moved = done.load(Ordering::Relaxed);
        wait_for("jobs are done after the move", || {
            done.load(Ordering::Relaxed) > moved + WORKERS
        });
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(cmd("EXISTS").arg(root).query::<bool>(&mut target).unwrap());
    let done = done.into_inner();
    assert_all_finished(&mut target, root, done);
    println!("{done} jobs");
}
