//! A user with just the commands of the reference page can call every function.

use lockless_functions::{LIBRARY, reference::commands};
use lockless_servers::Standalone;

#[test]
fn a_user_with_just_the_listed_commands_can_call_every_function() {
    let server = Standalone::builder().private().start().unwrap();
    let client = redis::Client::open(server.url()).unwrap();
    let mut admin = client.get_connection().unwrap();
    let _: String = redis::cmd("FUNCTION")
        .arg(&["LOAD", LIBRARY])
        .query(&mut admin)
        .unwrap();
    let rights: Vec<String> = commands(LIBRARY)
        .iter()
        .map(|command| format!("+{command}"))
        .collect();
    let _: () = redis::cmd("ACL")
        .arg(&["SETUSER", "caller", "on", ">secret"])
        .arg(&[
            "resetkeys",
            "~cell:*",
            "resetchannels",
            "&cell:*",
            "+fcall",
            "+fcall_ro",
        ])
        .arg(rights)
        .query(&mut admin)
        .unwrap();
    let mut caller =
        redis::Client::open(format!("redis://caller:secret@127.0.0.1:{}", server.port()))
            .unwrap()
            .get_connection()
            .unwrap();

    for line in [
        "register n1 4 POOL a PAIR en zh LABEL x",
        "register n1 4 POOL b PAIR en zh LABEL x",
        "register n2 4 PAIR en zh INSTANCE i",
        "heartbeat n1 LABEL y CPU 5 JOBS 1",
        "drain n1 on",
        "drain n1 off",
        "config forget_node_ms 100 heartbeat_ttl_ms 100 keep_finished_ms 100",
        "listen",
        "take n1 REQUEST r0",
        "dispatch s en zh p JOB a POOL b",
        "dispatch s en zh p JOB b POOL b ACK 5000",
        "ack a n1",
        "extend a n1 1000 PROGRESS half",
        "take n1 REQUEST r1",
        "complete a n1 failed REASON why",
        "cancel b",
        "complete b n1 finished",
        "reserve n1 c 1000",
        "release c n1",
        "dispatch s en zh p JOB d POOL b",
        "register n1 4 POOL b INSTANCE new",
        "bind b r1 POOL b",
        "dispatch b - - p JOB e",
        "bind b r2 POOL b PREEMPT",
        "unbind b 1-1",
        "config preempt_count_per_tick 2",
        "register n3 4 POOL q",
        "submit q1 p POOL q",
        "submit q2 p POOL q RETRIES 0",
        "submit q3 p POOL q DELAY 1",
        "submit q4 p POOL r",
        "cancel q4",
        "pull n3 COUNT 1 REQUEST q",
        "pull n3 COUNT 1 REQUEST q",
        "tick n3 MEM 20 USED 2000 TOTAL 10000 AVAIL 8000 SWAP 0 CPU 10 REQUEST q",
        "tick n3 MEM 99 USED 9900 TOTAL 10000 AVAIL 100 SWAP 0 CPU 10 GPU_USED 1 GPU_TOTAL 2",
        "stopped q1 n3 failed",
        "stopped q1 n3 ok",
        "complete q2 n3 failed",
        "retry q2",
        "jobs pending 0 10",
        "pull n3",
        "register n3 4 POOL q LABEL l INSTANCE new",
        "register n4 4 POOL d POOL e",
        "deploy d1 POOL d SPEC s",
        "deploy d2 POOL d",
        "deploy d3 POOL e",
        "deploy d4 POOL d",
        "claim n4 REQUEST q",
        "claim n4 REQUEST q",
        "claim n4 POLICY resource_usage",
        "claim n4",
        "deploy d1 ENABLED false",
        "claim n4 RUNNING d1",
        "claim n4",
        "claim n4",
        "config cpu_weight 0.25",
        "register n4 4 POOL d",
        "drain n4 on",
        "deployment d2",
        "deployments 0 10",
        "undeploy d1",
        "undeploy d3",
        "model_unavailable n1 m REQUEST q",
        "limit l 1 100 REQUEST q",
        "limit l 1 100",
        "lock l a 100",
        "unlock l a",
        "explain s en zh REQUIRE y",
        "job a",
        "jobs failed 0 10",
        "events - 10",
        "events $ 10",
        "jobs running 0 10",
        "node n1",
        "nodes 0 10",
        "fleet 0 10",
        "holds n1 0 10",
        "session b",
        "stats",
        "snapshot",
        "overview",
        "check",
        "check CURSOR 0 COUNT 3",
        "repair",
        "repair CURSOR 0 COUNT 3",
        "version",
        "deregister n2",
    ] {
        call(&mut caller, line);
    }
    let redis::Value::Array(bound) = call(&mut caller, "bind b r2") else {
        panic!("bind replies a list");
    };
    let lease: String = redis::from_redis_value(bound[5].clone()).unwrap();
    call(&mut caller, &format!("renew b {lease} LEASE 60000"));
    call(&mut caller, &format!("unbind b {lease}"));
    let overdue = || {
        let mut probe = client.get_connection().unwrap();
        let nodes: (String, Vec<String>) = redis::cmd("FCALL")
            .arg(&["lockless_nodes", "1", "cell:{acl}", "0", "10"])
            .query(&mut probe)
            .unwrap();
        !nodes.1.is_empty()
    };
    // A node that is lost, then forgotten, and boxes that are trimmed, all by the caller's own sweeps.
    for _ in 0..500 {
        call(&mut caller, "sweep");
        if !overdue() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("the node was not forgotten in 10 s");
}

#[test]
fn a_user_without_the_channel_is_served_and_wakes_nobody() {
    let server = Standalone::builder().private().start().unwrap();
    let mut admin = redis::Client::open(server.url())
        .unwrap()
        .get_connection()
        .unwrap();
    let _: String = redis::cmd("FUNCTION")
        .arg(&["LOAD", LIBRARY])
        .query(&mut admin)
        .unwrap();
    let _: () = redis::cmd("ACL")
        .arg(&["SETUSER", "caller", "on", ">secret", "~*", "resetchannels"])
        .arg("+@all")
        .query(&mut admin)
        .unwrap();
    let mut caller =
        redis::Client::open(format!("redis://caller:secret@127.0.0.1:{}", server.port()))
            .unwrap()
            .get_connection()
            .unwrap();
    for line in [
        "register n1 4 PAIR en zh",
        "take n1",
        "dispatch s en zh p JOB a",
        "dispatch s en zh p JOB b",
        "dispatch s en zh p",
        "complete a n1 finished",
        "cancel b",
        "listen",
        "deregister n1",
    ] {
        call(&mut caller, line);
    }
}

fn call(caller: &mut redis::Connection, line: &str) -> redis::Value {
    let mut words = line.split(' ');
    let name = format!("lockless_{}", words.next().unwrap_or_default());
    let reply: Result<redis::Value, redis::RedisError> = redis::cmd("FCALL")
        .arg(&[name.as_str(), "1", "cell:{acl}"])
        .arg(words.collect::<Vec<_>>())
        .query(caller);
    reply.unwrap_or_else(|error| panic!("{line}: {error}"))
}
