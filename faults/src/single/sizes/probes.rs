//! The calls that are measured: every function, where it has most to do.

use crate::Error;
use crate::run::Run;
use crate::wire::Answer;

use super::fill::{self, LABELS, POOLS};
use super::{Probe, ROOT};

/// A part of what is measured.
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) make: fn(&Run, &mut Probe) -> Result<(), Error>,
}

pub(super) const PARTS: [Part; 6] = [
    Part {
        name: "reading",
        make: reading,
    },
    Part {
        name: "jobs that are pushed",
        make: pushed,
    },
    Part {
        name: "jobs from the queue",
        make: queued,
    },
    Part {
        name: "sessions, guards and deployments",
        make: others,
    },
    Part {
        name: "nodes of the largest description",
        make: large_nodes,
    },
    Part {
        name: "the loss of all nodes at once",
        make: losses,
    },
];

/// All pages of a list.
fn pages(run: &Run, probe: &mut Probe, function: &str, count: usize) -> Result<(), Error> {
    let mut cursor = "0".to_owned();
    loop {
        run.check()?;
        let page = probe.call_words(&[function, &cursor, &count.to_string()])?;
        cursor = page.list().first().map(Answer::text).unwrap_or_default();
        if cursor == "0" || cursor.is_empty() {
            return Ok(());
        }
    }
}

fn reading(run: &Run, probe: &mut Probe) -> Result<(), Error> {
    for function in ["nodes", "fleet", "deployments"] {
        pages(run, probe, function, 1000)?;
    }
    for state in ["pending", "dispatched", "running", "failed", "cancelled"] {
        let mut cursor = "0".to_owned();
        for _ in 0..20 {
            run.check()?;
            let page = probe.call_words(&["jobs", state, &cursor, "1000"])?;
            cursor = page.list().first().map(Answer::text).unwrap_or_default();
            if cursor == "0" {
                break;
            }
        }
    }
    for line in [
        "node n7",
        "holds n7 0 1000",
        "job d7",
        "session s7",
        "deployment d7",
        "stats",
        "version",
        "listen",
        "events - 1000",
        "snapshot",
        "overview",
        "config",
        "explain s en fr",
        "explain s en fr POOL p1 REGION r1 REQUIRE l1",
        "explain s xx yy",
    ] {
        probe.try_call(line)?;
    }
    audit(run, probe, "check")
}

/// All pages of an audit; the whole in one call is an operator's choice, and bounded by COUNT.
fn audit(run: &Run, probe: &mut Probe, function: &str) -> Result<(), Error> {
    let mut cursor = "0".to_owned();
    loop {
        run.check()?;
        let page = probe.call_words(&[function, "CURSOR", &cursor])?;
        cursor = page.list().first().map(Answer::text).unwrap_or_default();
        if cursor == "0" || cursor.is_empty() {
            return Ok(());
        }
    }
}

fn pushed(run: &Run, probe: &mut Probe) -> Result<(), Error> {
    for number in 0..300 {
        run.check()?;
        let node = format!("n{}", number * 31 % probe.size.nodes);
        let pool = number * 31 % probe.size.nodes % POOLS;
        probe.try_call(&format!("take {node} COUNT 256 REQUEST r{number}"))?;
        probe.call(&format!("heartbeat {node} CPU 10 MEM 10 JOBS 3"))?;
        probe.call(&format!("heartbeat {node} LABEL l{}", number % LABELS))?;
        probe.try_call(&format!(
            "dispatch x{number} en fr p JOB x{number} POOL p{pool}"
        ))?;
        probe.try_call(&format!(
            "dispatch y{number} - - p JOB y{number} REQUIRE l{}",
            number % LABELS
        ))?;
        probe.try_call(&format!("dispatch z{number} en fr p REGION nowhere"))?;
        let old = number * 7 % probe.size.dispatched;
        let held = probe.call(&format!("job d{old}"))?;
        let holder = held.field("node_id").map(Answer::text).unwrap_or_default();
        probe.try_call(&format!("ack d{old} {holder}"))?;
        probe.try_call(&format!("extend d{old} {holder} 600000 PROGRESS half"))?;
        if number % 2 == 0 {
            probe.try_call(&format!("complete d{old} {holder} failed REASON why"))?;
        } else {
            probe.try_call(&format!("cancel d{old}"))?;
            probe.try_call(&format!("stopped d{old} {holder} ok"))?;
        }
        probe.try_call(&format!("reserve {node} v{number} 60000"))?;
        probe.try_call(&format!("release v{number} {node}"))?;
        probe.try_call(&format!("drain {node} on"))?;
        probe.try_call(&format!("drain {node} off"))?;
    }
    Ok(())
}

fn queued(run: &Run, probe: &mut Probe) -> Result<(), Error> {
    for number in 0..300 {
        run.check()?;
        let node = format!("n{}", number * 37 % probe.size.nodes);
        let pulled = probe.call(&format!("pull {node} COUNT 256 REQUEST q{number}"))?;
        probe.call(&format!("pull {node} COUNT 256 REQUEST q{number}"))?;
        let mem = if number % 3 == 0 { 99 } else { 20 };
        probe.call(&format!(
            "tick {node} MEM {mem} USED 2000 TOTAL 10000 AVAIL 8000 SWAP 0 CPU 10"
        ))?;
        for item in pulled.list().first().map(Answer::list).unwrap_or_default() {
            let job = item.field("job_id").map(Answer::text).unwrap_or_default();
            probe.try_call(&format!("complete {job} {node} failed"))?;
        }
        probe.try_call(&format!("submit t{number} p RETRIES 0 POOL p3"))?;
        probe.try_call(&format!("cancel t{number}"))?;
        probe.try_call(&format!("cancel q{}", number * 11))?;
        probe.try_call(&format!("retry w{number}"))?;
    }
    Ok(())
}

fn others(run: &Run, probe: &mut Probe) -> Result<(), Error> {
    for number in 0..200 {
        run.check()?;
        let node = format!("n{}", number * 41 % probe.size.nodes);
        let lease_of = |bound: Answer| {
            bound
                .field("lease_id")
                .map(Answer::text)
                .unwrap_or_default()
        };
        let bound = probe.call(&format!("bind b{number} r1 LEASE 60000 POOL p1"))?;
        probe.call(&format!("renew b{number} {}", lease_of(bound)))?;
        let bound = probe.call(&format!("bind b{number} r2 LEASE 60000 PREEMPT"))?;
        probe.call(&format!("unbind b{number} {}", lease_of(bound)))?;
        probe.call(&format!("claim {node} REQUEST c{number}"))?;
        probe.call(&format!(
            "claim {node} POLICY resource_usage RUNNING d1 RUNNING d2"
        ))?;
        probe.call(&format!("deploy d{number} ENABLED false"))?;
        probe.call(&format!("undeploy d{}", number + 500))?;
        probe.call(&format!("model_unavailable {node} m@{}", number % 5))?;
        probe.call(&format!("limit api 100000 60000 REQUEST l{number}"))?;
        probe.call(&format!("lock l{number} o 60000"))?;
        probe.call(&format!("unlock l{number} o"))?;
    }
    probe.call("config cpu_weight 0.25")?;
    for _ in 0..200 {
        probe.call("sweep")?;
    }
    Ok(())
}

/// Nodes with as many pools, pairs and labels as a node may have.
fn large_nodes(run: &Run, probe: &mut Probe) -> Result<(), Error> {
    let described = |name: &str, from: usize| {
        let pools = (from..from + 64).map(|number| format!(" POOL g{number}"));
        let pairs = (from..from + 256).map(|number| format!(" PAIR a{number} b{number}"));
        let labels = (from..from + 64).map(|number| format!(" LABEL h{number}"));
        let options: String = pools.chain(pairs).chain(labels).collect();
        format!("register {name} 100000{options}")
    };
    // The last has nothing in common with the one before.
    for number in [0, 1, 1000] {
        run.check()?;
        probe.call(&described("large", number))?;
        let labels: String = (0..64)
            .map(|label| format!(" LABEL k{}", label + number))
            .collect();
        probe.call(&format!("heartbeat large{labels}"))?;
    }
    let jobs = (0..20_000).map(|number| format!("dispatch big - - p JOB big{number} POOL g1002"));
    fill::send(run, &mut probe.connection, ROOT, jobs)?;
    probe.call("take large COUNT 256")?;
    probe.call("holds large 0 1000")?;
    probe.call("heartbeat large JOBS 20000")?;
    probe.call("register large 100000 INSTANCE other")?;
    settle_all(run, probe)?;
    probe.call(&described("large", 1))?;
    probe.call("deregister large")?;
    settle_all(run, probe)
}

fn settle_all(run: &Run, probe: &mut Probe) -> Result<(), Error> {
    for _ in 0..5000 {
        run.check()?;
        if probe.call("sweep")?.int() == Some(0) {
            return Ok(());
        }
    }
    Ok(())
}

/// Every node falls silent: its jobs are settled in pages, by whoever calls.
fn losses(run: &Run, probe: &mut Probe) -> Result<(), Error> {
    probe.call("config heartbeat_ttl_ms 100 forget_node_ms 100")?;
    // From now on presence lasts so long; whoever spoke before is present until then, so all speak once more.
    let words = (0..probe.size.nodes).map(|number| format!("heartbeat n{number}"));
    fill::send(run, &mut probe.connection, ROOT, words)?;
    run.pause(std::time::Duration::from_millis(300))?;
    for number in 0..100 {
        run.check()?;
        probe.try_call(&format!("dispatch late{number} - - p"))?;
        probe.try_call(&format!("submit late{number} p POOL p1"))?;
        probe.try_call(&format!("bind late{number} r"))?;
        probe.try_call(&format!("register new{number} 4"))?;
        probe.try_call(&format!("deregister new{number}"))?;
    }
    settle_all(run, probe)?;
    audit(run, probe, "repair")?;
    for line in ["snapshot", "stats", "sweep", "sweep LIMIT 10000"] {
        probe.call(line)?;
    }
    Ok(())
}

/// The cell in which every node is a class of its own: what looks for a class, or at all of them.
pub(super) fn classes(run: &Run, probe: &mut Probe) -> Result<(), Error> {
    for function in ["nodes", "fleet"] {
        pages(run, probe, function, 1000)?;
    }
    for number in 0..100 {
        run.check()?;
        let node = number * 31 % probe.size.nodes;
        probe.call(&format!("dispatch x{number} - - p JOB x{number}"))?;
        probe.call(&format!("dispatch y{number} - - p REQUIRE own{node}"))?;
        probe.try_call(&format!("dispatch z{number} - - p REQUIRE nobodys"))?;
        probe.call(&format!("bind b{number} r LEASE 60000"))?;
        probe.call(&format!("explain e{number} - -"))?;
        probe.call(&format!("pull n{node} COUNT 256"))?;
        probe.call(&format!("heartbeat n{node} LABEL other{node}"))?;
        probe.call(&format!("register n{node} 9 POOL p LABEL own{node}"))?;
    }
    for line in ["snapshot", "overview", "stats"] {
        probe.call(line)?;
    }
    audit(run, probe, "check")?;
    audit(run, probe, "repair")
}
