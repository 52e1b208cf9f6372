//! A gateway that asks who is there, speaks TLS, and does not let anyone wait for long.

use std::path::Path;

use lockless_functions::api::Role;
use lockless_servers::Standalone;

use crate::support::{Agent, Cell, bare_command, eventually, start_gateway};

#[test]
fn an_agent_works_with_a_token_for_its_own_node_over_tls() {
    let dir = tempfile::tempdir().unwrap();
    let server = Standalone::builder().private().start().unwrap();
    let cell = Cell::new(&server.url());
    cell.load();
    // Only for its certificates: they are those of 127.0.0.1.
    let certified = Standalone::builder().private().tls().start().unwrap();
    let (cert, key) = certified.client_files().unwrap();
    let (secret, line) =
        lockless_gateway::auth::generate(Role::Node, "worker", Some("n1")).unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (tokens, token) = (
        write("tokens", &format!("{line}\n")),
        write("token", &format!("{secret}\n")),
    );
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let more = [
        "--tokens",
        &tokens,
        "--tls-cert",
        &path(cert),
        "--tls-key",
        &path(key),
        "--max-wait-ms",
        "300",
    ];
    let gateway = start_gateway(&server.url(), &more);

    let command = |node: &str| {
        let mut command = bare_command();
        command
            .args([
                "--gateway",
                &gateway,
                "--token-file",
                &token,
                "--node",
                node,
            ])
            .arg("--gateway-tls-ca")
            .arg(certified.ca_file().unwrap())
            .args(["--allow", "/bin/sh", "--tick-ms", "0"])
            .arg("--state-dir")
            .arg(dir.path().join(node));
        command
    };
    let mut agent = Agent::start(command("n1"), dir.path().join("log"));
    cell.dispatch("j1", "echo by token");
    assert_eq!(cell.result("j1", "finished")["output"], "by token\n");

    let stranger = lockless_servers::launch({
        let mut command = command("n2");
        let log = std::fs::File::create(dir.path().join("log-n2")).unwrap();
        command.stderr(log);
        command
    });
    let log = || std::fs::read_to_string(dir.path().join("log-n2")).unwrap();
    eventually("it is told that this is not its node", || {
        log().contains("FORBIDDEN")
    });
    assert!(!log().contains(&secret));
    let mut stranger = stranger.unwrap();
    stranger.kill().unwrap();
    stranger.wait().unwrap();

    agent.terminate();
    assert!(agent.wait_for_end(), "{}", agent.log());
    assert!(cell.node("n1").is_empty());
}
