//! This machine's own figures.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde::Serialize;
use sysinfo::{MemoryRefreshKind, Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::gpu::{self, Gpu};
use super::{Sample, percent};
use crate::payload::Capacity;

/// A sample is not taken again within this.
const FRESH: Duration = Duration::from_millis(500);
const MB: u64 = 1024 * 1024;

/// What the agent and everything it started use, as a share of the whole machine.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct OwnUse {
    /// Of all processors.
    pub cpu_pct: f64,
    /// Of all memory.
    pub mem_pct: f64,
    /// The memory itself.
    pub mem_mb: u64,
    /// How many processes that are.
    pub processes: usize,
}

pub(super) struct Machine {
    system: System,
    last: Option<(Instant, Sample)>,
    gpus: gpu::Probe,
}

impl Machine {
    pub(super) fn new() -> Self {
        let mut system = System::new();
        // A share of time is one between two looks: this is the first.
        system.refresh_cpu_usage();
        system.refresh_memory();
        Self {
            system,
            last: None,
            gpus: gpu::Probe::default(),
        }
    }

    /// What is so now, or was a moment ago: over too short a time a processor is either idle or busy.
    pub(super) fn sample(&mut self) -> Sample {
        if let Some((at, sample)) = self.last
            && at.elapsed() < FRESH
        {
            return sample;
        }
        let sample = self.look();
        self.last = Some((Instant::now(), sample));
        sample
    }

    fn look(&mut self) -> Sample {
        let system = &mut self.system;
        system.refresh_cpu_usage();
        system.refresh_memory_specifics(MemoryRefreshKind::everything());
        let gpu = gpu::riskiest(self.gpus.rows());
        Sample {
            mem: percent(system.used_memory(), system.total_memory()),
            used_mb: system.used_memory() / MB,
            total_mb: system.total_memory() / MB,
            avail_mb: system.available_memory() / MB,
            swap: percent(system.used_swap(), system.total_swap()),
            cpu: f64::from(system.global_cpu_usage()).clamp(0.0, 100.0),
            gpu_used_mb: gpu.map(|gpu: Gpu| gpu.used_mb),
            gpu_total_mb: gpu.map(|gpu| gpu.total_mb),
        }
    }

    pub(super) fn own_use(&mut self) -> OwnUse {
        let what = ProcessRefreshKind::nothing()
            .with_cpu()
            .with_memory()
            .without_tasks();
        self.system
            .refresh_processes_specifics(ProcessesToUpdate::All, true, what);
        let family = self.family();
        let mut own = OwnUse::default();
        let mut memory = 0;
        for process in family.iter().filter_map(|pid| self.system.process(*pid)) {
            own.cpu_pct += f64::from(process.cpu_usage());
            memory += process.memory();
            own.processes += 1;
        }
        // One processor in full use is 100 there.
        let processors = u32::try_from(self.system.cpus().len().max(1)).unwrap_or(1);
        own.cpu_pct = (own.cpu_pct / f64::from(processors)).clamp(0.0, 100.0);
        own.mem_mb = memory / MB;
        own.mem_pct = percent(memory, self.system.total_memory());
        own
    }

    /// This process and all its descendants.
    fn family(&self) -> BTreeSet<Pid> {
        let mut family = BTreeSet::from([Pid::from_u32(std::process::id())]);
        for _ in 0..self.system.processes().len() {
            let before = family.len();
            let all = self.system.processes().iter();
            let children = all.filter(|(_, process)| {
                process
                    .parent()
                    .is_some_and(|parent| family.contains(&parent))
            });
            let children: Vec<Pid> = children.map(|(pid, _)| *pid).collect();
            family.extend(children);
            if family.len() == before {
                break;
            }
        }
        family
    }

    pub(super) fn capacity(&mut self) -> Capacity {
        Capacity {
            mem_mb: self.system.total_memory() / MB,
            gpu_mb: self.gpus.rows().iter().map(|gpu| gpu.total_mb).max(),
        }
    }
}
