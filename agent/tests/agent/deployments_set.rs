//! How an agent that runs deployments is set up.

use lockless_functions::api::Role;
use lockless_servers::Standalone;
use serde_json::json;

use crate::support::{
    Agent, Cell, Way, World, alive, bare_command, both_ways, eventually, start_gateway, token,
};

both_ways! {
    fn variables_are_honoured_and_flags_go_first(way: Way) {
        let world = World::new(way);
        let mut command = world.command("n1");
        command
            .env("NODE_UNIT_SCHEDULER_INTERVAL_MS", "300")
            .env("NODE_UNIT_CLAIM_POLICY", "resource_usage")
            .env("NODE_UNIT_CPU_WEIGHT", "0.7")
            .env("NODE_UNIT_MEMORY_WEIGHT", "0.2")
            .args(["--deployments", "--mem-weight", "0.25", "--tick-ms", "0"]);
        let agent = Agent::start(command, world.path("log-n1"));
        eventually("the weights are set", || setting(&world.cell, "cpu_weight") == "0.7" && setting(&world.cell, "mem_weight") == "0.25");
        eventually("that is said", || agent.log().contains("set a weight of the cell"));
        world.cell.deploy("idle", &json!({"argv": ["sleep", "1000"], "restart": "never"}));
        eventually("it is claimed", || world.cell.node_of("idle") == "n1");
        // Its own use is what nodes are compared by, not the 1000 MB that the machine is said to use.
        let mem = || world.cell.node("n1")["mem_mb"].parse::<u64>().unwrap();
        eventually("its own use is told", || (1..1000).contains(&mem()));
        // A number of deployments has no fraction.
        let is_fraction = |line: &str| {
            let value = line.split("\"value\":").nth(1);
            value.is_some_and(|rest| rest.split([',', '}']).next().unwrap().contains('.'))
        };
        eventually("the policy is asked for", || agent.log().lines().any(is_fraction));
    }
}

fn setting(cell: &Cell, name: &str) -> String {
    cell.settings().remove(name).unwrap()
}

#[test]
fn weights_that_are_so_already_are_left_alone() {
    let world = World::new(Way::Redis);
    let agent = world.deploying("n1", &["--cpu-weight", "0.5", "--mem-weight", "0.50"]);
    eventually("it has had a turn", || agent.log().contains("assigned"));
    assert!(!agent.log().contains("set a weight"), "{}", agent.log());
}

#[test]
fn a_setting_that_can_not_be_is_named() {
    for (name, value, words) in [
        ("NODE_UNIT_CLAIM_POLICY", "cheapest", "--claim-policy"),
        ("NODE_UNIT_CPU_WEIGHT", "-1", "--cpu-weight"),
        ("NODE_UNIT_MEMORY_WEIGHT", "much", "--mem-weight"),
        (
            "NODE_UNIT_SCHEDULER_INTERVAL_MS",
            "0",
            "--claim-interval-ms",
        ),
        ("LOCKLESS_LOG_FILES", "0", "--log-files"),
    ] {
        let mut command = bare_command();
        let output = command
            .env(name, value)
            .arg("--print-config")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && said.contains(words) && said.contains(value),
            "{said}"
        );
    }
}

#[test]
fn what_holds_is_printed() {
    let mut command = bare_command();
    let output = command
        .env("NODE_UNIT_CLAIM_POLICY", "resource_usage")
        .args([
            "--print-config",
            "--node",
            "n",
            "--deployments",
            "--state-dir",
            "/s",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    for line in [
        "deployments = true",
        "claim_interval_ms = 5000",
        "claim_policy = \"resource_usage\"",
        "log_dir = \"/s/logs\"",
        "log_max_bytes = 10485760",
        "log_files = 5",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn with_the_token_of_its_node_it_runs_deployments_and_says_that_weights_are_not_its_to_set() {
    let dir = tempfile::tempdir().unwrap();
    let server = Standalone::builder().private().start().unwrap();
    let cell = Cell::new(&server.url());
    cell.load();
    let (secret, line) =
        lockless_gateway::auth::generate(Role::Node, "worker", Some("n1")).unwrap();
    let (tokens, file) = (dir.path().join("tokens"), dir.path().join("token"));
    std::fs::write(&tokens, format!("{line}\n")).unwrap();
    std::fs::write(&file, &secret).unwrap();
    let gateway = start_gateway(&server.url(), &["--tokens", tokens.to_str().unwrap()]);
    let mut command = bare_command();
    command
        .args([
            "--gateway",
            &gateway,
            "--node",
            "n1",
            "--allow",
            "/bin/sleep",
            "--deployments",
        ])
        .args(["--claim-interval-ms", "300", "--cpu-weight", "0.9"])
        .arg("--token-file")
        .arg(&file)
        .arg("--state-dir")
        .arg(dir.path().join("state"));
    let agent = Agent::start(command, dir.path().join("log"));
    eventually("that is said", || {
        agent
            .log()
            .contains("have an operator call lockless_config cpu_weight 0.9")
    });
    assert_eq!(setting(&cell, "cpu_weight"), "0.5");
    let (old, new) = (token(), token());
    cell.deploy("d1", &json!({ "argv": ["sleep", old] }));
    eventually("it runs", || alive(&old).len() == 1);
    // A new revision has to be read.
    cell.deploy("d1", &json!({ "argv": ["sleep", new] }));
    eventually("the new one runs", || {
        alive(&new).len() == 1 && alive(&old).is_empty()
    });
}
