//! GPUs, by the rows of `nvidia-smi`.

use std::io::{ErrorKind, Read};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A driver that hangs may not hang the agent.
const TIME: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Until it is asked again after it did not answer, or was not there.
const ASK_AGAIN: Duration = Duration::from_secs(60);

/// One card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gpu {
    /// How busy it is, in percent.
    pub util_pct: u64,
    /// Memory in use.
    pub used_mb: u64,
    /// All its memory.
    pub total_mb: u64,
}

/// Asks for the cards, not more often than it makes sense.
#[derive(Default)]
pub(super) struct Probe {
    quiet_until: Option<Instant>,
    last: Vec<Gpu>,
}

impl Probe {
    /// The cards as they are; those of last time if they can't be asked.
    pub(super) fn rows(&mut self) -> &[Gpu] {
        let now = Instant::now();
        if self.quiet_until.is_some_and(|until| now < until) {
            return &self.last;
        }
        self.quiet_until = None;
        match ask() {
            Ok(text) => self.last = parse(&text),
            Err(Trouble::NotThere) => {
                self.last.clear();
                self.quiet_until = Some(now + ASK_AGAIN);
            }
            Err(Trouble::NoAnswer(why)) => {
                tracing::warn!("nvidia-smi {why}: the figures of before are used for a minute");
                self.quiet_until = Some(now + ASK_AGAIN);
            }
        }
        &self.last
    }
}

enum Trouble {
    NotThere,
    NoAnswer(String),
}

fn ask() -> Result<String, Trouble> {
    let mut command = Command::new("nvidia-smi");
    command
        .arg("--query-gpu=utilization.gpu,memory.used,memory.total")
        .arg("--format=csv,noheader,nounits")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Trouble::NotThere,
        _ => Trouble::NoAnswer(format!("could not be started ({error})")),
    })?;
    let until = Instant::now() + TIME;
    // Its rows fit into the pipe, so it never waits for them to be read.
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            // Without a driver it says so and fails: there is no GPU.
            Ok(Some(_)) => return Err(Trouble::NotThere),
            Ok(None) if Instant::now() < until => sleep(LOOK_EVERY),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Trouble::NoAnswer("did not answer in time".to_owned()));
            }
        }
    }
    let mut text = Vec::new();
    if let Some(output) = child.stdout.take() {
        let _ = output.take(64 * 1024).read_to_end(&mut text);
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The rows that are cards: `util, used, total`. A card that has no figure for its use, as some say `[N/A]`, counts as idle.
fn parse(text: &str) -> Vec<Gpu> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        let [util, used, total] = words.as_slice() else {
            return None;
        };
        let gpu = Gpu {
            util_pct: util.parse().unwrap_or(0),
            used_mb: used.parse().ok()?,
            total_mb: total.parse().ok()?,
        };
        (gpu.total_mb > 0).then_some(gpu)
    };
    text.lines().filter_map(row).collect()
}

/// The card that is nearest to its limit.
pub(super) fn riskiest(gpus: &[Gpu]) -> Option<Gpu> {
    // used/total compared without rounding.
    let share = |one: &Gpu, other: &Gpu| {
        let left = u128::from(one.used_mb) * u128::from(other.total_mb);
        left.cmp(&(u128::from(other.used_mb) * u128::from(one.total_mb)))
    };
    gpus.iter().copied().max_by(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(util_pct: u64, used_mb: u64, total_mb: u64) -> Gpu {
        Gpu {
            util_pct,
            used_mb,
            total_mb,
        }
    }

    #[test]
    fn of_several_cards_the_one_nearest_to_its_limit_is_chosen() {
        let rows = parse("10, 20000, 81559\n95, 7000, 8192\n0, 3, 24576\n");
        assert_eq!(rows.len(), 3);
        assert_eq!(riskiest(&rows), Some(gpu(95, 7000, 8192)));
    }

    #[test]
    fn garbage_is_no_card() {
        let text = "No devices were found\n\n1,2\n1,2,3,4\n5, x, 100\n5, 50, 0\n5, -1, 100\n5, 99999999999999999999, 1\n\
                    \u{fffd}, ,\n [N/A] , 50 , 100 \r\n";
        assert_eq!(parse(text), [gpu(0, 50, 100)]);
        assert_eq!(riskiest(&parse("garbage")), None);
        assert_eq!(riskiest(&parse("")), None);
    }
}
