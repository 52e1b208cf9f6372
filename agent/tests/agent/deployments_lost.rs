//! Nodes that are lost: what they ran is run by others, and not by them when they are back.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::{Way, World, alive, both_ways, eventually, signal, token};

const INTERVAL: Duration = Duration::from_secs(2);

/// Two nodes with six deployments, three each, that are lost soon when they are silent.
fn two_nodes(world: &World) -> (crate::support::Agent, crate::support::Agent, Vec<String>) {
    world.cell.call(&["config", "heartbeat_ttl_ms", "3000"]);
    let every = INTERVAL.as_millis().to_string();
    let start = |node: &str| world.deploying(node, &["--claim-interval-ms", &every]);
    let agents = (start("n1"), start("n2"));
    let tokens: Vec<String> = (0..6).map(|_| token()).collect();
    for (at, token) in tokens.iter().enumerate() {
        world
            .cell
            .deploy(&format!("d{at}"), &json!({ "argv": ["sleep", token] }));
    }
    eventually("each runs once", || {
        tokens.iter().all(|token| alive(token).len() == 1)
    });
    for node in ["n1", "n2"] {
        assert_eq!(of(world, node).len(), 3);
    }
    (agents.0, agents.1, tokens)
}

fn of(world: &World, node: &str) -> Vec<usize> {
    (0..6)
        .filter(|at| world.cell.node_of(&format!("d{at}")) == node)
        .collect()
}

/// Has the loss noticed, and says when that was.
fn wait_for_loss(world: &World, node: &str) -> Instant {
    eventually("it is lost", || {
        world
            .cell
            .node(node)
            .get("state")
            .is_some_and(|state| state == "offline")
    });
    Instant::now()
}

both_ways! {
    fn what_a_killed_node_had_runs_elsewhere_within_two_intervals(way: Way) {
        let world = World::new(way);
        let (mut first, _second, tokens) = two_nodes(&world);
        let lost = of(&world, "n1");
        first.kill();
        let mine = |at: &usize| alive(&tokens[*at]);
        eventually("its guardians end what it ran", || lost.iter().all(|at| mine(at).is_empty() || world.cell.node_of(&format!("d{at}")) == "n2"));
        let at = wait_for_loss(&world, "n1");
        eventually("all run on the other", || {
            of(&world, "n2").len() == 6 && tokens.iter().all(|token| alive(token).len() == 1)
        });
        assert!(at.elapsed() <= 2 * INTERVAL, "{:?}", at.elapsed());
        // It comes back, and runs nothing of what it had.
        let before = first.log().len();
        let again = world.deploying("n1", &[]);
        let log = || again.log().split_off(before);
        eventually("it has had turns", || log().matches("\"assigned\":[]").count() >= 3);
        assert!(!log().contains("started deployment="), "{}", log());
        assert!(tokens.iter().all(|token| alive(token).len() == 1));
        assert_eq!(of(&world, "n2").len(), 6);
        world.cell.assert_sound();
    }

    fn a_node_that_was_away_stops_what_it_lost(way: Way) {
        let world = World::new(way);
        let (first, _second, tokens) = two_nodes(&world);
        signal(first.pid(), Signal::SIGSTOP);
        wait_for_loss(&world, "n1");
        eventually("the other has all", || of(&world, "n2").len() == 6);
        eventually("all run there", || tokens.iter().map(|token| alive(token).len()).sum::<usize>() == 9);
        signal(first.pid(), Signal::SIGCONT);
        eventually("each runs once", || tokens.iter().all(|token| alive(token).len() == 1));
        assert_eq!(of(&world, "n2").len(), 6);
        assert!(first.log().contains("registered again"));
        world.cell.assert_sound();
    }
}

#[test]
fn a_cell_that_forgot_everything_has_nothing_run() {
    let world = World::new(Way::Redis);
    let (_first, _second, tokens) = two_nodes(&world);
    world.cell.flush();
    eventually("nothing runs", || {
        tokens.iter().all(|token| alive(token).is_empty())
    });
    world
        .cell
        .deploy("d0", &json!({ "argv": ["sleep", &tokens[0]] }));
    eventually("what is new runs", || alive(&tokens[0]).len() == 1);
}
