//! The dynamic scheduler's decisions on their own: what a tick can't reach, because it stops earlier.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use mlua::{Function, Lua, Table};

const ADMISSION: &str = include_str!("../../functions/src/shared/admission.lua");

/// Settings, a sample of a machine of 10,000 MB, and loads, as plain tables.
const FIXTURE: &str = "
    local settings = { memory_emergency_pct = 92, reserve_memory_mb = 500, cpu_hard_pct = 95, enable_gpu_guard = 'true',
      gpu_memory_emergency_pct = 95, high_mode_priority_cutoff = 5, dry_run = 'false', max_workers = 4, min_workers = 1,
      max_start_per_tick_normal = 2, max_start_per_tick_high = 1 }
    local sample = { used_mb = 2000, total_mb = 10000, cpu = 10, gpu_used_mb = 1000, gpu_total_mb = 10000 }
    local function load(mem_mb) return { mem_mb = mem_mb, cpu = 0, gpu_mb = 0 } end
    return settings, sample, load
";

struct Admission {
    module: Table,
    settings: Table,
    cfg: Function,
    sample: Table,
    load: Function,
}

impl Admission {
    fn new(lua: &Lua) -> Admission {
        let module = lua
            .load(ADMISSION)
            .set_name("@admission.lua")
            .eval()
            .unwrap();
        let (settings, sample, load): (Table, Table, Function) = lua.load(FIXTURE).eval().unwrap();
        let read: Function = lua
            .load("local settings = ... return function(name) return settings[name] end")
            .into_function()
            .unwrap();
        let cfg = read.call(&settings).unwrap();
        Admission {
            module,
            settings,
            cfg,
            sample,
            load,
        }
    }

    /// Why a task of this memory is refused, with so much running and so much of it planned in this tick.
    fn refusal(
        &self,
        mode: &str,
        task_mb: u32,
        running_mb: u32,
        planned_mb: u32,
    ) -> Option<String> {
        let task: Table = self.load.call(task_mb).unwrap();
        task.set("priority", 0).unwrap();
        let running: Table = self.load.call(running_mb).unwrap();
        let planned: Table = self.load.call(planned_mb).unwrap();
        let refusal: Function = self.module.get("refusal").unwrap();
        let reason: Option<usize> = refusal
            .call((task, &self.sample, mode, &self.cfg, running, planned))
            .unwrap();
        let reasons: Table = self.module.get("REASONS").unwrap();
        reason.map(|number| reasons.get(number).unwrap())
    }
}

#[test]
fn nothing_is_admitted_in_an_emergency_however_small() {
    let lua = Lua::new();
    let admission = Admission::new(&lua);
    let refused = |mode| admission.refusal(mode, 0, 0, 0);
    assert_eq!(refused("EMERGENCY").as_deref(), Some("emergency mode"));
    assert_eq!(refused("HIGH"), None);
    assert_eq!(refused("NORMAL"), None);
}

#[test]
fn an_emergency_is_the_first_reason() {
    let lua = Lua::new();
    let admission = Admission::new(&lua);
    let reason = admission.refusal("EMERGENCY", 9000, 0, 0);
    assert_eq!(reason.as_deref(), Some("emergency mode"));
    let reason = admission.refusal("HIGH", 9000, 0, 0);
    assert_eq!(reason.as_deref(), Some("projected memory emergency"));
}

#[test]
fn a_dry_run_adds_all_that_runs_and_otherwise_only_what_is_planned_is_added() {
    let lua = Lua::new();
    let admission = Admission::new(&lua);
    // 2000 used and 500 in reserve leave 6699 of the 9200 that may not be reached.
    let rows = [
        ("false", 6699, 5000, 0, true),
        ("false", 6700, 0, 0, false),
        ("false", 2000, 0, 4699, true),
        ("false", 2000, 0, 4700, false),
        ("true", 2000, 4699, 0, true),
        ("true", 2000, 4700, 0, false),
        ("true", 2000, 4699, 4699, true),
    ];
    for row in rows {
        let (dry_run, task_mb, running_mb, planned_mb, admitted) = row;
        admission.settings.set("dry_run", dry_run).unwrap();
        let reason = admission.refusal("NORMAL", task_mb, running_mb, planned_mb);
        assert_eq!(reason.is_none(), admitted, "{row:?}: {reason:?}");
    }
}

#[test]
fn an_emergency_has_neither_workers_nor_a_budget() {
    let lua = Lua::new();
    let admission = Admission::new(&lua);
    for (name, wanted) in [("target_workers", [4, 2, 0]), ("start_budget", [2, 1, 0])] {
        let of: Function = admission.module.get(name).unwrap();
        let given = ["NORMAL", "HIGH", "EMERGENCY"]
            .map(|mode| of.call::<u32>((mode, &admission.cfg)).unwrap());
        assert_eq!(given, wanted, "{name}");
    }
}
