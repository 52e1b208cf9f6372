//! Replies that get lost, and times without Redis.

use std::time::Duration;

use crate::support::{Way, World, both_ways, eventually, within};

const JOBS: usize = 40;

/// Each job leaves a line in a file of its own, each time it runs.
fn script(world: &World) -> String {
    format!(
        "echo run >> {}/$LOCKLESS_JOB_ID",
        world.path("runs").display()
    )
}

#[track_caller]
fn assert_each_ran_once(world: &World) {
    for job in (0..JOBS).map(|at| format!("j{at}")) {
        let runs = std::fs::read_to_string(world.path("runs").join(&job)).unwrap();
        assert_eq!(runs, "run\n", "{job}: {:?}", world.cell.job(&job));
    }
    world.cell.assert_sound();
}

both_ways! {
    fn a_job_runs_once_although_replies_are_lost(way: Way) {
        let world = World::new(way);
        std::fs::create_dir(world.path("runs")).unwrap();
        let _agent = world.agent("n1");
        for at in 0..JOBS {
            world.cell.submit(&format!("j{at}"), &script(&world), &[]);
        }
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let all_are_finished = || (0..JOBS).all(|at| world.cell.status(&format!("j{at}")) == "finished");
        eventually("all jobs are finished", || {
            world.cell.break_connections();
            std::thread::sleep(Duration::from_millis(random.u64(50..400)));
            all_are_finished()
        });
        assert_each_ran_once(&world);
    }

    fn a_job_runs_once_although_redis_halts_now_and_then(way: Way) {
        let world = World::new(way);
        std::fs::create_dir(world.path("runs")).unwrap();
        let agent = world.agent("n1");
        for at in 0..JOBS {
            world.cell.submit(&format!("j{at}"), &script(&world), &[]);
        }
        for halted_ms in [2500, 100, 2500] {
            world.server.freeze();
            // Longer than a call may take, or shorter.
            std::thread::sleep(Duration::from_millis(halted_ms));
            world.server.thaw();
            std::thread::sleep(Duration::from_millis(200));
        }
        for at in 0..JOBS {
            world.cell.wait_for(&format!("j{at}"), "finished");
        }
        assert_each_ran_once(&world);
        assert!(!agent.log().contains("registered again"), "{}", agent.log());
    }
}

#[test]
fn a_long_outage_is_said_a_few_times_and_not_all_the_time() {
    let mut world = World::new(Way::Redis);
    let agent = world.agent("n1");
    let warnings = || agent.log().matches(" WARN ").count();
    world.restart_server(|| {
        let is_flooded = within(Duration::from_secs(4), || warnings() > 15);
        assert!(!is_flooded && warnings() > 0, "{}", agent.log());
    });
    world.cell.submit("j1", "echo again", &[]);
    world.cell.wait_for("j1", "finished");
}
