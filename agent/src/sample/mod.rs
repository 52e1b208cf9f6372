//! What the machine uses: sampled, or read from a file.

mod file;
mod gpu;
mod machine;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use self::file::SampleFile;
use self::machine::Machine;
use crate::payload::Capacity;

pub use self::gpu::Gpu;
pub use self::machine::OwnUse;

/// One sample, with the names of `lockless_tick`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Memory in use, in percent.
    pub mem: f64,
    /// Memory in use.
    pub used_mb: u64,
    /// All memory.
    pub total_mb: u64,
    /// Memory that can be had.
    pub avail_mb: u64,
    /// Swap in use, in percent.
    pub swap: f64,
    /// All processors' use, in percent.
    pub cpu: f64,
    /// Memory in use of the GPU that is nearest to its limit.
    #[serde(default)]
    pub gpu_used_mb: Option<u64>,
    /// All its memory.
    #[serde(default)]
    pub gpu_total_mb: Option<u64>,
}

impl Sample {
    /// Memory of the GPU in use, in percent.
    pub fn gpu_pct(&self) -> Option<f64> {
        let (used, total) = (self.gpu_used_mb?, self.gpu_total_mb?);
        (total > 0).then(|| percent(used, total))
    }
}

/// Takes samples.
#[derive(Clone)]
pub struct Sampler {
    source: Arc<Mutex<Source>>,
}

struct Source {
    machine: Machine,
    /// Instead of the machine's own figures.
    file: Option<SampleFile>,
}

impl Sampler {
    /// Of this machine, or from a file.
    pub fn new(file: Option<PathBuf>) -> Self {
        let source = Source {
            machine: Machine::new(),
            file: file.map(SampleFile::new),
        };
        Self {
            source: Arc::new(Mutex::new(source)),
        }
    }

    /// What is so now.
    pub async fn sample(&self) -> Sample {
        self.with(|source| match &mut source.file {
            Some(file) => file.read(),
            None => source.machine.sample(),
        })
        .await
    }

    /// What the agent and everything it started use.
    pub async fn own_use(&self) -> OwnUse {
        self.with(|source| source.machine.own_use()).await
    }

    /// What the machine has; what a file says goes first.
    pub async fn capacity(&self) -> Capacity {
        self.with(|source| {
            let own = source.machine.capacity();
            match source.file.as_mut().map(SampleFile::read) {
                Some(sample) if sample.total_mb > 0 => Capacity {
                    mem_mb: sample.total_mb,
                    gpu_mb: sample.gpu_total_mb,
                },
                _ => own,
            }
        })
        .await
    }

    /// Files and programs are waited for on a thread that may wait.
    async fn with<T: Default + Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Source) -> T + Send + 'static,
    ) -> T {
        let source = Arc::clone(&self.source);
        let asked =
            spawn_blocking(move || ask(&mut source.lock().unwrap_or_else(PoisonError::into_inner)));
        asked.await.unwrap_or_default()
    }
}

/// A part of a whole, from 0 to 100.
#[allow(
    clippy::cast_precision_loss,
    reason = "megabytes and bytes of memory are far below 2^53"
)]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    (100.0 * part as f64 / whole as f64).clamp(0.0, 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_machine_has_figures_that_fit_each_other() {
        let sample = Sampler::new(None).sample().await;
        assert!(
            sample.total_mb > 0 && sample.used_mb <= sample.total_mb,
            "{sample:?}"
        );
        assert!(sample.avail_mb <= sample.total_mb, "{sample:?}");
        for share in [sample.mem, sample.swap, sample.cpu] {
            assert!((0.0..=100.0).contains(&share), "{sample:?}");
        }
    }

    #[tokio::test]
    async fn what_a_child_uses_is_counted_as_own() {
        let sampler = Sampler::new(None);
        let mut child = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .expect("sh");
        sampler.own_use().await;
        // A share of processor time takes some time to be seen.
        let mut seen = OwnUse::default();
        for _ in 0..100 {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            seen = sampler.own_use().await;
            if seen.cpu_pct > 5.0 {
                break;
            }
        }
        child.kill().expect("killed");
        child.wait().expect("waited");
        assert!(seen.cpu_pct > 5.0 && seen.cpu_pct <= 100.0, "{seen:?}");
        assert!(
            seen.processes >= 2 && seen.mem_mb > 0 && seen.mem_pct > 0.0,
            "{seen:?}"
        );
    }
}
