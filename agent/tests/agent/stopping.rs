//! Jobs that are stopped: nothing of them stays.

use nix::sys::signal::Signal;

use crate::support::{Way, World, alive, both_ways, eventually, pid_of, signal, token};

/// Processes that do not go by themselves: one that ignores being asked, one in the background, one that left the group
/// and the session and lost its parent, and one that has nothing left of its environment either.
fn stubborn(token: &str) -> String {
    format!(
        "trap '' TERM; sleep {token} & (setsid sleep {token} &) ; (setsid env -i sleep {token} &) ; \
         while :; do sleep {token}; done"
    )
}

both_ways! {
    fn a_cancelled_job_is_gone_with_all_it_started(way: Way) {
        let world = World::new(way);
        let _agent = world.agent("n1");
        let (pushed, queued) = (token(), token());
        world.cell.dispatch("pushed", &stubborn(&pushed));
        world.cell.submit("queued", &stubborn(&queued), &[]);
        for (job, token) in [("pushed", &pushed), ("queued", &queued)] {
            eventually("all four run", || alive(token).len() == 4);
            world.cell.call(&["cancel", job]);
        }
        eventually("the slots are free", || world.cell.held("n1") == "0");
        // The cell was told after they were gone, not before.
        assert!(alive(&pushed).is_empty() && alive(&queued).is_empty());
        assert_eq!(world.cell.status("pushed"), "cancelled");
        assert_eq!(world.cell.status("queued"), "cancelled");
        world.cell.assert_sound();
    }

    fn a_job_that_is_stopped_is_asked_first_and_may_tidy_up(way: Way) {
        let world = World::new(way);
        // So long that only the asking can have ended it within the patience of this test.
        let agent = world.agent_with("n1", &["--stop-grace-ms", "600000"]);
        let (plain, tidy) = (token(), token());
        world.cell.submit("plain", &format!("exec sleep {plain}"), &[]);
        let note = world.path("note");
        let script = format!("trap 'echo bye > {}; exit 0' TERM; sleep {tidy} & wait", note.display());
        world.cell.submit("tidy", &script, &[]);
        eventually("both run", || alive(&plain).len() + alive(&tidy).len() == 2);
        world.cell.call(&["cancel", "plain"]);
        world.cell.call(&["cancel", "tidy"]);
        eventually("the slots are free", || world.cell.held("n1") == "0");
        assert_eq!(std::fs::read_to_string(note).unwrap(), "bye\n");
        assert!(agent.log().contains("signal=15"), "{}", agent.log());
    }

    fn a_job_that_ends_takes_with_it_what_it_left_in_the_background(way: Way) {
        let world = World::new(way);
        let _agent = world.agent("n1");
        let token = token();
        world.cell.submit("j1", &format!("sleep {token} & (setsid sleep {token} &); echo done"), &[]);
        assert_eq!(world.cell.result("j1", "finished")["output"], "done\n");
        assert!(alive(&token).is_empty());
    }

    fn a_stop_that_fails_is_reported_and_kept_in_the_books(way: Way) {
        let world = World::new(way);
        let agent = world.agent_with("n1", &["--kill-wait-ms", "300"]);
        let token = token();
        world.cell.submit("j1", &format!("sleep {token}; true"), &[]);
        eventually("it runs", || alive(&token).len() == 1);
        eventually("the agent knows", || agent.log().contains("started job=\"j1\""));
        // A guardian that is halted can't end anything, as the kernel sometimes can't.
        let shell = pid_of(alive(&token)[0], "PPid").unwrap();
        let guardian = pid_of(shell, "PPid").unwrap();
        signal(guardian, Signal::SIGSTOP);
        world.cell.call(&["cancel", "j1"]);
        eventually("it is said that it can't be stopped", || agent.log().contains("can't be ended"));
        assert_eq!(world.cell.held("n1"), "1");
        eventually("the cell is told", || world.cell.events().contains("TASK_STOP_FAILED"));
        assert!(!world.cell.events().contains("TASK_STOPPED"));
        signal(guardian, Signal::SIGCONT);
        eventually("the slot is free", || world.cell.held("n1") == "0");
        assert!(alive(&token).is_empty());
        assert!(world.cell.events().contains("TASK_STOPPED"));
        world.cell.assert_sound();
    }
}

#[test]
fn a_job_past_its_limit_that_can_not_be_ended_is_reported() {
    let world = World::new(Way::Redis);
    let agent = world.agent_with("n1", &["--kill-wait-ms", "300"]);
    let token = token();
    let script = format!("sleep {token}; true");
    let payload = serde_json::json!({ "argv": ["sh", "-c", script], "timeout_ms": 3000 });
    world.cell.call(&["submit", "j1", &payload.to_string()]);
    eventually("it runs", || alive(&token).len() == 1);
    eventually("the agent knows", || {
        agent.log().contains("started job=\"j1\"")
    });
    let shell = pid_of(alive(&token)[0], "PPid").unwrap();
    let guardian = pid_of(shell, "PPid").unwrap();
    signal(guardian, Signal::SIGSTOP);
    eventually("the cell is told", || {
        world.cell.events().contains("TASK_STOP_FAILED")
    });
    assert_eq!(world.cell.status("j1"), "expired");
    assert_eq!(world.cell.held("n1"), "1");
    signal(guardian, Signal::SIGCONT);
    eventually("the slot is free", || world.cell.held("n1") == "0");
    world.cell.assert_sound();
}

#[test]
fn a_job_whose_guardian_was_killed_is_ended_all_the_same() {
    let world = World::new(Way::Redis);
    let _agent = world.agent("n1");
    let token = token();
    world.cell.submit(
        "j1",
        &format!("(setsid sleep {token} &); sleep {token}; true"),
        &["RETRIES", "0"],
    );
    eventually("both run", || alive(&token).len() == 2);
    let shell = alive(&token).into_iter().find_map(|pid| {
        let parent = pid_of(pid, "PPid")?;
        std::fs::read_to_string(format!("/proc/{parent}/comm"))
            .ok()
            .filter(|name| name.trim() == "sh")
            .map(|_| parent)
    });
    signal(pid_of(shell.unwrap(), "PPid").unwrap(), Signal::SIGKILL);
    let reason = world
        .cell
        .wait_for("j1", "failed")
        .remove("reason")
        .unwrap();
    assert!(reason.contains("unknown how"), "{reason}");
    assert!(alive(&token).is_empty());
}

#[test]
fn a_command_that_a_real_time_signal_ends_takes_with_it_what_it_started() {
    let world = World::new(Way::Redis);
    let _agent = world.agent("n1");
    let token = token();
    let script = format!("(setsid env -i sleep {token} &); sleep 0.1; kill -34 $$");
    world.cell.submit("j1", &script, &["RETRIES", "0"]);
    assert_eq!(world.cell.result("j1", "failed")["signal"], 34);
    assert!(alive(&token).is_empty());
}

#[test]
fn a_job_goes_on_when_a_real_time_signal_ends_one_that_it_left_alone() {
    let world = World::new(Way::Redis);
    let _agent = world.agent("n1");
    let (number, gate) = (world.path("number"), world.path("gate"));
    let script = format!(
        "(setsid sh -c 'echo $$ > {0}.fresh; mv {0}.fresh {0}; kill -34 $$' &); while ! test -e {1}; do sleep 0.05; done; echo through",
        number.display(),
        gate.display()
    );
    world.cell.submit("j1", &script, &["RETRIES", "0"]);
    eventually("it began", || number.exists());
    let number: i32 = std::fs::read_to_string(&number)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    eventually("it was waited for", || pid_of(number, "PPid").is_none());
    std::fs::write(&gate, "").unwrap();
    assert_eq!(world.cell.result("j1", "finished")["output"], "through\n");
}
