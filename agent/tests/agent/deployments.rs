//! Deployments: what the cell assigns to a node runs there, and nothing else does.

use std::fs;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::{Way, World, alive, both_ways, eventually, names_in, signal, token};

fn sleeping(token: &str) -> Value {
    json!({ "argv": ["sleep", token] })
}

both_ways! {
    fn a_deployment_is_claimed_and_run_until_it_is_disabled(way: Way) {
        let world = World::new(way);
        let agent = world.deploying("n1", &[]);
        let token = token();
        world.cell.deploy("d1", &sleeping(&token));
        eventually("it runs", || alive(&token).len() == 1);
        assert_eq!(world.cell.node_of("d1"), "n1");
        assert_eq!(world.cell.held("n1"), "0", "it takes no slot");
        world.cell.call(&["deploy", "d1", "ENABLED", "false"]);
        eventually("it is stopped", || alive(&token).is_empty());
        world.cell.call(&["deploy", "d1", "ENABLED", "true"]);
        eventually("it runs again", || alive(&token).len() == 1);
        world.cell.call(&["undeploy", "d1"]);
        eventually("it is gone", || alive(&token).is_empty());
        eventually("its record is gone", || names_in(&world.path("state-n1")) == ["lock"]);
        assert!(!agent.log().contains("WARN"), "{}", agent.log());
        world.cell.assert_sound();
    }

    fn a_new_spec_is_run_after_the_old_one_is_gone(way: Way) {
        let world = World::new(way);
        let _agent = world.deploying("n1", &["--stop-grace-ms", "30000"]);
        let (old, new) = (token(), token());
        // It takes its time to end, and says when it has.
        let log = world.path("order");
        let script = format!("trap 'sleep 0.2; echo old is gone >> {0}; exit' TERM; sleep {old} & wait", log.display());
        world.cell.deploy("d1", &json!({ "argv": ["sh", "-c", script] }));
        eventually("the old one runs", || alive(&old).len() == 1);
        let script = format!("echo new begins >> {}; exec sleep {new}", log.display());
        world.cell.deploy("d1", &json!({ "argv": ["sh", "-c", script] }));
        eventually("the new one runs", || alive(&new).len() == 1);
        assert!(alive(&old).is_empty());
        assert_eq!(fs::read_to_string(&log).unwrap(), "old is gone\nnew begins\n");
        assert_eq!(world.cell.node_of("d1"), "n1");
    }

    fn a_process_that_was_killed_is_started_again(way: Way) {
        let world = World::new(way);
        let _agent = world.deploying("n1", &[]);
        let token = token();
        world.cell.deploy("d1", &json!({ "argv": ["sleep", token], "restart_backoff_ms": 50 }));
        eventually("it runs", || alive(&token).len() == 1);
        let before = alive(&token);
        signal(before[0], Signal::SIGKILL);
        eventually("another one runs", || alive(&token).len() == 1 && alive(&token) != before);
    }

    fn at_sigterm_deployments_are_stopped_and_free_for_others(way: Way) {
        let world = World::new(way);
        let mut first = world.deploying("n1", &[]);
        let token = token();
        world.cell.deploy("d1", &json!({ "argv": ["sh", "-c", format!("trap '' TERM; sleep {token}; sleep {token}")] }));
        eventually("it runs", || alive(&token).len() == 1);
        first.terminate();
        assert!(first.wait_for_end(), "{}", first.log());
        assert!(alive(&token).is_empty());
        assert_eq!(world.cell.node_of("d1"), "");
        let _second = world.deploying("n2", &[]);
        eventually("it runs elsewhere", || alive(&token).len() == 1 && world.cell.node_of("d1") == "n2");
        world.cell.assert_sound();
    }

    fn what_a_crashed_agent_had_is_run_anew_by_the_next(way: Way) {
        let world = World::new(way);
        let mut agent = world.deploying("n1", &[]);
        let (kept, other) = (token(), token());
        world.cell.deploy("kept", &sleeping(&kept));
        world.cell.deploy("other", &sleeping(&other));
        eventually("both run", || alive(&kept).len() + alive(&other).len() == 2);
        let before = alive(&kept);
        agent.kill();
        world.cell.call(&["undeploy", "other"]);
        let _again = world.deploying("n1", &[]);
        eventually("it runs anew", || alive(&kept).len() == 1 && alive(&kept) != before);
        assert!(alive(&other).is_empty());
        assert_eq!(world.cell.node_of("kept"), "n1");
    }

    fn deployments_run_although_replies_are_lost(way: Way) {
        let world = World::new(way);
        let _agent = world.deploying("n1", &["--claim-interval-ms", "200"]);
        let tokens: Vec<String> = (0..8).map(|_| token()).collect();
        for (at, token) in tokens.iter().enumerate() {
            world.cell.deploy(&format!("d{at}"), &sleeping(token));
        }
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let mut lose = move |world: &World| {
            world.cell.break_connections();
            std::thread::sleep(Duration::from_millis(random.u64(50..400)));
        };
        eventually("each runs once", || {
            lose(&world);
            tokens.iter().all(|token| alive(token).len() == 1)
        });
        for at in 0..8 {
            world.cell.call(&["undeploy", &format!("d{at}")]);
        }
        eventually("none runs", || {
            lose(&world);
            tokens.iter().all(|token| alive(token).is_empty())
        });
        world.cell.assert_sound();
    }
}

#[test]
fn pauses_between_starts_grow() {
    let world = World::new(Way::Redis);
    let _agent = world.deploying("n1", &[]);
    let marks = world.path("marks");
    let script = format!("date +%s%3N >> {}; exit 1", marks.display());
    let spec = json!({
        "argv": ["sh", "-c", script], "restart": "on-failure", "restart_backoff_ms": 100,
        "restart_backoff_max_ms": 400,
    });
    world.cell.deploy("d1", &spec);
    let starts = || -> Vec<u64> {
        let text = fs::read_to_string(&marks).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    eventually("it was started so often", || starts().len() >= 5);
    let starts = starts();
    let gaps = starts.windows(2).map(|pair| pair[1] - pair[0]);
    // Each may be a fifth shorter, and on a busy machine longer.
    for (gap, least) in gaps.zip([80, 160, 320, 320]) {
        assert!(gap >= least, "{starts:?}");
    }
}

#[test]
fn what_ended_well_or_is_never_restarted_is_not_started_again() {
    let world = World::new(Way::Redis);
    let agent = world.deploying("n1", &[]);
    let once = |id: &str, restart: &str, code: u8| {
        let script = format!("echo x >> {}; exit {code}", world.path(id).display());
        let spec =
            json!({"argv": ["sh", "-c", script], "restart": restart, "restart_backoff_ms": 10});
        world.cell.deploy(id, &spec);
    };
    once("well", "on-failure", 0);
    once("never", "never", 1);
    for id in ["well", "never"] {
        let words = format!("is not started again deployment=\"{id}\"");
        eventually("that is said", || agent.log().contains(&words));
    }
    // Some turns later both have run once, and are still the node's.
    let turns = || agent.log().matches("assigned").count();
    let before = turns();
    eventually("turns go by", || turns() >= before + 3);
    for id in ["well", "never"] {
        assert_eq!(fs::read_to_string(world.path(id)).unwrap(), "x\n");
        assert_eq!(world.cell.node_of(id), "n1");
    }
    once("never", "never", 2);
    eventually("a new revision is run once", || {
        fs::read_to_string(world.path("never")).unwrap() == "x\nx\n"
    });
}

#[test]
fn a_spec_that_can_not_be_run_is_named_once_and_tried_again_when_it_changes() {
    let world = World::new(Way::Redis);
    let agent = world.deploying("n1", &[]);
    let token = token();
    world
        .cell
        .deploy("bad/d-1", &json!({"argv": ["rm", "-rf"]}));
    world.cell.call(&["deploy", "none"]);
    world.cell.call(&["deploy", "text", "SPEC", "no JSON"]);
    for words in [
        "'rm' is not on this node's allow-list",
        "the SPEC is not a JSON object",
    ] {
        eventually("that is said", || agent.log().contains(words));
    }
    world.cell.deploy("bad/d-1", &sleeping(&token));
    eventually("the new one runs", || alive(&token).len() == 1);
    assert_eq!(agent.log().matches("'rm' is not on").count(), 1);
}

#[test]
fn a_deployment_knows_what_it_is_and_writes_to_its_file() {
    let world = World::new(Way::Redis);
    let logs = world.path("logs");
    let path = logs.to_str().unwrap().to_owned();
    let _agent = world.deploying(
        "n1",
        &[
            "--log-dir",
            &path,
            "--log-max-bytes",
            "1024",
            "--log-files",
            "2",
        ],
    );
    let script = "echo $LOCKLESS_DEPLOYMENT_ID $LOCKLESS_REVISION $LOCKLESS_NODE $A $(pwd); echo wrong >&2; exec sleep 1000";
    let spec = json!({"argv": ["sh", "-c", script], "env": {"A": "a"}, "cwd": "/"});
    world.cell.deploy("../web/1", &spec);
    let file = logs.join("%2E%2E%2Fweb%2F1.log");
    eventually("both streams are there", || {
        fs::read_to_string(&file).is_ok_and(|text| text == "../web/1 1 n1 a /\nwrong\n")
    });
    let script = "i=0; while [ $i -lt 300 ]; do echo line $i; sleep 0.001; i=$((i+1)); done; exec sleep 1000";
    world
        .cell
        .deploy("many", &json!({"argv": ["sh", "-c", script]}));
    let text = || fs::read_to_string(logs.join("many.log")).unwrap_or_default();
    eventually("the last line is there", || text().ends_with("line 299\n"));
    assert!(text().len() <= 1024, "{}", text().len());
    assert_eq!(
        names_in(&logs),
        ["%2E%2E%2Fweb%2F1.log", "many.log", "many.log.1"]
    );
    let before = fs::read_to_string(logs.join("many.log.1")).unwrap();
    let first = text().lines().next().unwrap().to_owned();
    let last = before.lines().last().unwrap();
    let number = |line: &str| line.trim_start_matches("line ").parse::<u32>().unwrap();
    assert_eq!(number(&first), number(last) + 1);
}
