//! How agents begin and end, and what the world does to them in between.

use nix::sys::signal::Signal;

use crate::support::{Agent, Way, World, alive, both_ways, eventually, names_in, signal, token};

both_ways! {
    fn at_sigterm_what_runs_is_finished_and_nothing_new_begins(way: Way) {
        let world = World::new(way);
        let mut agent = world.agent("n1");
        let gate = world.path("gate");
        world.cell.submit("j1", &format!("while ! test -e {}; do sleep 0.05; done; echo through", gate.display()), &[]);
        world.cell.wait_for("j1", "running");
        agent.terminate();
        eventually("it drains", || world.cell.node("n1")["draining"] == "true");
        world.cell.submit("j2", "true", &[]);
        std::fs::write(&gate, "").unwrap();
        assert!(agent.wait_for_end(), "{}", agent.log());
        assert_eq!(world.cell.result("j1", "finished")["output"], "through\n");
        assert_eq!(world.cell.status("j2"), "pending");
        assert!(world.cell.node("n1").is_empty(), "it has left");
        world.cell.assert_sound();
    }

    fn what_does_not_end_in_time_goes_back_to_its_queue(way: Way) {
        let world = World::new(way);
        let mut agent = world.agent_with("n1", &["--drain-timeout-ms", "200"]);
        let (queued, pushed) = (token(), token());
        world.cell.submit("queued", &format!("trap '' TERM; sleep {queued}; true"), &["RETRIES", "0"]);
        world.cell.dispatch("pushed", &format!("sleep {pushed}"));
        eventually("both run", || alive(&queued).len() + alive(&pushed).len() == 2);
        agent.terminate();
        assert!(agent.wait_for_end(), "{}", agent.log());
        assert!(alive(&queued).is_empty() && alive(&pushed).is_empty());
        assert_eq!(world.cell.status("queued"), "pending");
        let reason = world.cell.wait_for("pushed", "failed").remove("reason").unwrap();
        assert!(reason.contains("shut down"), "{reason}");
        assert_eq!(names_in(&world.path("state-n1")), ["lock"]);
        world.cell.assert_sound();
    }

    fn a_second_signal_does_not_wait(way: Way) {
        let world = World::new(way);
        let mut agent = world.agent_with("n1", &["--drain-timeout-ms", "86400000"]);
        let token = token();
        world.cell.submit("j1", &format!("sleep {token}"), &[]);
        eventually("it runs", || alive(&token).len() == 1);
        agent.terminate();
        eventually("it drains", || agent.log().contains("draining"));
        eventually("the node drains", || world.cell.node("n1")["draining"] == "true");
        signal(agent.pid(), Signal::SIGINT);
        assert!(agent.wait_for_end(), "{}", agent.log());
        assert!(alive(&token).is_empty());
        assert_eq!(world.cell.status("j1"), "pending");
    }

    fn a_job_that_ends_while_redis_is_away_is_reported_when_it_is_back(way: Way) {
        let mut world = World::new(way);
        let agent = world.agent("n1");
        let (gate, done) = (world.path("gate"), world.path("done"));
        let script = format!("while ! test -e {}; do sleep 0.05; done; echo x >> {}", gate.display(), done.display());
        world.cell.submit("j1", &script, &[]);
        world.cell.wait_for("j1", "running");
        world.restart_server(|| {
            std::fs::write(&gate, "").unwrap();
            eventually("it has ended", || agent.log().contains("ended job=\"j1\""));
        });
        world.cell.wait_for("j1", "finished");
        assert_eq!(std::fs::read_to_string(&done).unwrap(), "x\n");
        world.cell.submit("j2", "echo again", &[]);
        world.cell.wait_for("j2", "finished");
        world.cell.assert_sound();
    }

    fn a_cell_that_forgot_everything_is_registered_in_anew(way: Way) {
        let world = World::new(way);
        let agent = world.agent("n1");
        let token = token();
        world.cell.submit("j1", &format!("sleep {token}"), &[]);
        eventually("it runs", || alive(&token).len() == 1);
        world.cell.flush();
        eventually("it is there again", || !world.cell.node("n1").is_empty());
        eventually("what nobody knows of is gone", || alive(&token).is_empty());
        world.cell.submit("j1", "echo new", &[]);
        assert_eq!(world.cell.result("j1", "finished")["output"], "new\n");
        assert!(agent.log().contains("registered again"));
        world.cell.assert_sound();
    }

    fn a_node_that_was_lost_stops_what_ran_and_registers_again(way: Way) {
        let world = World::new(way);
        world.cell.call(&["config", "heartbeat_ttl_ms", "1000"]);
        let agent = world.agent("n1");
        let token = token();
        world.cell.submit("j1", &format!("sleep {token}; true"), &["RETRIES", "5"]);
        eventually("it runs", || alive(&token).len() == 1);
        let before = alive(&token);
        let incarnation = world.cell.node("n1")["incarnation"].clone();
        signal(agent.pid(), Signal::SIGSTOP);
        eventually("it is lost", || {
            world.cell.call(&["sweep"]);
            world.cell.status("j1") == "pending"
        });
        signal(agent.pid(), Signal::SIGCONT);
        eventually("the job runs anew", || {
            let now = alive(&token);
            now.len() == 1 && now != before
        });
        assert_ne!(world.cell.node("n1")["incarnation"], incarnation);
        world.cell.call(&["cancel", "j1"]);
        eventually("it is over", || world.cell.held("n1") == "0" && alive(&token).is_empty());
        world.cell.assert_sound();
    }
}

#[test]
fn with_redis_away_it_ends_in_bounded_time_and_leaves_nothing() {
    let mut world = World::new(Way::Redis);
    let mut agent = world.agent_with("n1", &["--drain-timeout-ms", "300"]);
    let token = token();
    world.cell.submit("j1", &format!("sleep {token}"), &[]);
    eventually("it runs", || alive(&token).len() == 1);
    world.server.kill();
    agent.terminate();
    assert!(!agent.wait_for_end());
    assert!(
        agent.log().contains("the cell could not be told"),
        "{}",
        agent.log()
    );
    assert!(alive(&token).is_empty());
    assert_eq!(names_in(&world.path("state-n1")), ["draining", "lock"]);
}

#[test]
fn an_agent_that_is_killed_takes_its_jobs_with_it() {
    let world = World::new(Way::Redis);
    let mut agent = world.agent("n1");
    let token = token();
    world.cell.submit(
        "j1",
        &format!("trap '' TERM; (setsid env -i sleep {token} &); while :; do sleep {token}; done"),
        &[],
    );
    eventually("both run", || alive(&token).len() == 2);
    agent.kill();
    eventually("nothing is left", || alive(&token).is_empty());
}

#[test]
fn what_a_crash_left_is_ended_by_the_next_agent_and_nothing_else_is() {
    let world = World::new(Way::Redis);
    let mut agent = world.agent("n1");
    let (left, innocent) = (token(), token());
    let mut bystander = std::process::Command::new("sleep")
        .arg(&innocent)
        .spawn()
        .unwrap();
    world.cell.submit(
        "j1",
        &format!("trap '' TERM; (setsid sleep {left} &); while :; do sleep {left}; done"),
        &["RETRIES", "3"],
    );
    eventually("both run", || alive(&left).len() == 2);
    let begun = alive(&left);
    let record = world
        .path("state-n1")
        .join(&names_in(&world.path("state-n1"))[0]);
    let text = std::fs::read_to_string(&record).unwrap();
    let guardian = serde_json::from_str::<serde_json::Value>(&text).unwrap()["guardian"]["pid"]
        .as_i64()
        .unwrap();
    // The guardian goes first, so that nobody is there to end the job.
    signal(agent.pid(), Signal::SIGSTOP);
    signal(i32::try_from(guardian).unwrap(), Signal::SIGKILL);
    agent.kill();
    assert_eq!(alive(&left), begun);
    // A record whose process has ended, and whose number is another's by now.
    let mut forged: serde_json::Value = serde_json::from_str(&text).unwrap();
    forged["run"] = "forged".into();
    forged["guardian"]["pid"] = i32::MAX.into();
    forged["leader"] = serde_json::json!({"pid": bystander.id(), "started": 1});
    std::fs::write(
        world.path("state-n1").join("forged.json"),
        forged.to_string(),
    )
    .unwrap();

    let again = world.agent("n1");
    assert!(
        !begun.iter().any(|pid| alive(&left).contains(pid)),
        "{}",
        again.log()
    );
    assert!(again.log().contains("ended what an earlier agent left"));
    assert_eq!(alive(&innocent).len(), 1);
    eventually("the job is run again by the new instance", || {
        alive(&left).len() == 2
    });
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn a_node_whose_agent_crashed_while_draining_works_again() {
    let world = World::new(Way::Redis);
    let mut agent = world.agent("n1");
    let token = token();
    world
        .cell
        .submit("j1", &format!("sleep {token}"), &["RETRIES", "3"]);
    eventually("it runs", || alive(&token).len() == 1);
    agent.terminate();
    eventually("it drains", || world.cell.node("n1")["draining"] == "true");
    agent.kill();
    let _again = world.agent("n1");
    eventually("it works again", || {
        world.cell.node("n1")["draining"] == "false"
    });
}

#[test]
fn a_node_that_someone_else_drained_stays_drained() {
    let world = World::new(Way::Redis);
    let mut agent = world.agent("n1");
    world.cell.call(&["drain", "n1", "on"]);
    agent.kill();
    let again = world.agent("n1");
    eventually("a heartbeat was heard", || again.log().contains("sampled"));
    assert_eq!(world.cell.node("n1")["draining"], "true");
}

#[test]
fn of_two_agents_of_one_name_the_later_one_stays() {
    let world = World::new(Way::Redis);
    world.cell.call(&["config", "heartbeat_ttl_ms", "3000"]);
    let mut first = world.agent("n1");
    let token = token();
    world
        .cell
        .submit("j1", &format!("sleep {token}"), &["RETRIES", "0"]);
    eventually("it runs", || alive(&token).len() == 1);
    let mut second = Agent::start(world.command_in("n1", "another"), world.path("log-second"));
    assert!(!first.wait_for_end());
    assert!(
        first.log().contains("taken over by another process"),
        "{}",
        first.log()
    );
    assert!(alive(&token).is_empty());
    assert!(!second.has_ended());
}

#[test]
fn two_agents_do_not_share_a_state_directory() {
    let world = World::new(Way::Redis);
    let _first = world.agent("n1");
    let (mut second, said) = Agent::spawn(world.command_in("n2", "state-n1"), world.path("log-n2"));
    assert!(!second.wait_for_end() && said.is_empty());
    assert!(
        second.log().contains("is used by another agent"),
        "{}",
        second.log()
    );
}
