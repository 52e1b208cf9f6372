//! Jobs that run, from the queue and pushed, over Redis and by a gateway.

use crate::support::{self, Way, World, alive, both_ways, eventually, token};
use serde_json::json;

both_ways! {
    fn a_job_from_the_queue_is_run_and_finished(way: Way) {
        let world = World::new(way);
        let _agent = world.agent("n1");
        world.cell.submit("j1", "echo out; echo err >&2; echo end", &[]);
        let result = world.cell.result("j1", "finished");
        assert_eq!(result["output"], "out\nerr\nend\n");
        assert_eq!((&result["exit_code"], &result["signal"]), (&json!(0), &json!(null)));
        assert_eq!(result["truncated"], false);
        assert_eq!(world.cell.held("n1"), "0");
        world.cell.assert_sound();
    }

    fn a_pushed_job_is_run_and_finished(way: Way) {
        let world = World::new(way);
        let _agent = world.agent_with("n1", &["--tick-ms", "0"]);
        world.cell.dispatch("j1", "echo pushed");
        assert_eq!(world.cell.result("j1", "finished")["output"], "pushed\n");
        world.cell.assert_sound();
    }

    fn an_exit_code_or_a_signal_makes_it_fail(way: Way) {
        let world = World::new(way);
        let _agent = world.agent("n1");
        world.cell.submit("code", "echo why; exit 7", &["RETRIES", "0"]);
        world.cell.submit("signal", "kill -9 $$", &["RETRIES", "0"]);
        let result = world.cell.result("code", "failed");
        assert_eq!((&result["exit_code"], &result["output"]), (&json!(7), &json!("why\n")));
        assert!(world.cell.job("code")["reason"].contains("exit code 7"));
        assert_eq!(world.cell.result("signal", "failed")["signal"], 9);
    }

    fn a_failed_job_is_tried_again_and_knows_its_attempt(way: Way) {
        let world = World::new(way);
        let _agent = world.agent("n1");
        world.cell.submit("j1", "echo $LOCKLESS_ATTEMPT $LOCKLESS_JOB_ID $LOCKLESS_NODE $LOCKLESS_CELL; test $LOCKLESS_ATTEMPT = 2", &["RETRIES", "1"]);
        assert_eq!(world.cell.result("j1", "finished")["output"], "2 j1 n1 scheduler:{main}\n");
    }

    fn of_much_output_the_end_is_kept(way: Way) {
        let world = World::new(way);
        let _agent = world.agent("n1");
        let script = "i=0; while [ $i -lt 20000 ]; do echo \"line $i of 'many'\"; i=$((i+1)); done";
        world.cell.submit("j1", script, &[]);
        let result = world.cell.result("j1", "finished");
        let output = result["output"].as_str().unwrap();
        assert!(output.ends_with("line 19998 of 'many'\nline 19999 of 'many'\n"));
        assert_eq!(result["truncated"], true);
        let whole = world.cell.job("j1")["result"].len();
        assert!((60_000..=65_536).contains(&whole), "{whole}");
    }

    fn a_smaller_limit_of_the_cell_is_learned(way: Way) {
        let world = World::new(way);
        world.cell.call(&["config", "payload_max_bytes", "300"]);
        let _agent = world.agent("n1");
        world.cell.submit("j1", "seq 1000", &[]);
        let result = world.cell.result("j1", "finished");
        assert!(result["output"].as_str().unwrap().ends_with("999\n1000\n"));
        assert!((250..=300).contains(&world.cell.job("j1")["result"].len()));
    }

    fn what_may_not_run_fails_with_a_sentence(way: Way) {
        let world = World::new(way);
        let _agent = world.agent("n1");
        let rows = [
            (r#"{"argv": ["id"]}"#, "'id' is not on this node's allow-list"),
            (r#"{"argv": ["/usr/bin/id"]}"#, "allow-list"),
            (r#"{"argv": ["sh"], "shell": true}"#, "unknown field `shell`"),
            (r#"{"argv": ["sh"], "mem_mb": 20000}"#, "the whole machine has (10000 MB)"),
            (r#"{"argv": ["sh"], "gpu_mb": 1}"#, "there is no GPU here"),
            (r#"{"argv": ["sh"], "cwd": "/no/such/dir"}"#, "could not be started in /no/such/dir"),
            (r#"{"argv": ["sh"], "env": {"LD_PRELOAD": "/tmp/x.so"}}"#, "may not set LD_PRELOAD"),
            ("[1, 2", "not a JSON object"),
            ("\u{1}\u{2}", "not a JSON object"),
            ("", "not a JSON object"),
        ];
        for (at, (payload, sentence)) in rows.iter().enumerate() {
            let job = format!("j{at}");
            world.cell.call(&["submit", &job, payload, "RETRIES", "0"]);
            let reason = world.cell.wait_for(&job, "failed").remove("reason").unwrap();
            assert!(reason.contains(sentence), "{payload}: {reason}");
        }
        world.cell.assert_sound();
    }

    fn a_job_has_a_clean_environment_and_its_own(way: Way) {
        let world = World::new(way);
        let mut command = world.command("n1");
        command.env("SECRET_OF_THE_AGENT", "x");
        let _agent = support::Agent::start(command, world.path("log"));
        let payload = json!({"argv": ["sh", "-c", "pwd; echo $A; env; cat; cat /proc/self/status"], "env": {"A": "b c"}, "cwd": "/usr"});
        world.cell.call(&["submit", "j1", &payload.to_string()]);
        let result = world.cell.result("j1", "finished");
        let output = result["output"].as_str().unwrap();
        assert!(output.starts_with("/usr\nb c\n"), "{output}");
        assert!(!output.contains("SECRET_OF_THE_AGENT"), "{output}");
        assert!(output.contains("SigBlk:\t0000000000000000"), "{output}");
    }

    fn a_job_is_stopped_at_its_time_limit(way: Way) {
        let world = World::new(way);
        let _agent = world.agent("n1");
        let token = token();
        let script = format!("echo begun; sleep {token} & sleep {token}");
        let payload = json!({"argv": ["sh", "-c", script], "timeout_ms": 700});
        world.cell.call(&["submit", "j1", &payload.to_string(), "RETRIES", "0"]);
        eventually("it runs", || alive(&token).len() == 2);
        eventually("it is over", || ["failed", "expired"].contains(&world.cell.status("j1").as_str()));
        eventually("its slot is free", || world.cell.held("n1") == "0");
        assert!(alive(&token).is_empty());
        assert_eq!(world.cell.node("n1")["timeout_total"], "1");
        world.cell.assert_sound();
    }

    fn a_dry_run_starts_nothing(way: Way) {
        let world = World::new(way);
        let mut agent = world.agent_with("n1", &["--dry-run"]);
        let token = token();
        world.cell.submit("j1", &format!("sleep {token}"), &[]);
        assert_eq!(world.cell.result("j1", "finished"), json!({"dry_run": true}));
        assert!(alive(&token).is_empty());
        assert!(agent.log().contains("would start"));
        agent.terminate();
        assert!(agent.wait_for_end(), "{}", agent.log());
    }
}

#[test]
fn a_result_that_a_gateway_finds_too_long_is_shortened_until_it_is_taken() {
    let world = World::by_gateway_with(&["--max-body-bytes", "2000"]);
    let _agent = world.agent("n1");
    let script = "i=0; while test $i -lt 1000; do echo line $i; i=$((i+1)); done";
    world.cell.submit("j1", script, &[]);
    let result = world.cell.result("j1", "finished");
    let output = result["output"].as_str().unwrap();
    assert!(
        output.ends_with("line 999\n") && output.len() > 500,
        "{output}"
    );
    assert_eq!(result["truncated"], true);
    world.cell.submit("j2", "echo short", &[]);
    assert_eq!(world.cell.result("j2", "finished")["output"], "short\n");
}
