//! The whole way of a machine that runs out of memory, and back.

use crate::support::{Way, World, alive, both_ways, eventually, token};

both_ways! {
    fn memory_pressure_preempts_a_job_that_is_finished_later(way: Way) {
        let world = World::new(way);
        for (setting, value) in [("ema_alpha", "1"), ("emergency_cooldown_ticks", "1"), ("preempt_count_per_tick", "1")] {
            world.cell.call(&["config", setting, value]);
        }
        let agent = world.agent("n1");
        let (urgent, idle) = (token(), token());
        let gate = world.path("gate");
        // What is done anew after it was preempted goes through an open gate.
        let script = |token: &str| {
            format!("test -e {0} && echo finished && exit 0; trap '' TERM; (setsid sleep {token} &); while :; do sleep {token}; done", gate.display())
        };
        world.cell.submit("urgent", &script(&urgent), &["PRIORITY", "1", "MEM_MB", "100", "PREEMPTIBLE", "no"]);
        world.cell.submit("idle", &script(&idle), &["PRIORITY", "9", "MEM_MB", "100", "RETRIES", "0", "PREEMPTIBLE", "yes"]);
        let mode = |mode: &str| world.cell.node("n1").get("mode").is_some_and(|now| now == mode);
        eventually("both run", || alive(&urgent).len() == 2 && alive(&idle).len() == 2);
        assert!(mode("NORMAL"));

        world.write_sample(85.0);
        eventually("it is high", || mode("HIGH"));
        assert_eq!((alive(&urgent).len(), alive(&idle).len()), (2, 2));

        world.write_sample(97.0);
        eventually("it is an emergency", || mode("EMERGENCY"));
        eventually("the job goes back to its queue", || world.cell.status("idle") == "pending");
        // The cell was told when its processes were gone.
        assert!(alive(&idle).is_empty(), "{}", agent.log());
        assert_eq!(alive(&urgent).len(), 2);
        assert_eq!(world.cell.node("n1")["preempted_total"], "1");

        std::fs::write(&gate, "").unwrap();
        world.write_sample(20.0);
        assert_eq!(world.cell.result("idle", "finished")["output"], "finished\n");
        assert!(mode("NORMAL"));
        // It had one try, and being preempted did not use it up.
        assert_eq!(world.cell.job("idle")["attempts"], "2");
        world.cell.call(&["cancel", "urgent"]);
        eventually("all slots are free", || world.cell.held("n1") == "0");
        assert!(alive(&urgent).is_empty());
        world.cell.assert_sound();
        let modes: Vec<String> = agent.log().lines().filter_map(|line| Some(line.split_once("mode=\"")?.1.split_once('"')?.0.to_owned())).collect();
        assert!(modes.starts_with(&["NORMAL", "HIGH", "EMERGENCY"].map(str::to_owned)), "{modes:?}");
    }
}
