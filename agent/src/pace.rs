//! Times that are spread by chance, so that many agents do not come at once.

use std::time::Duration;

/// The time, give or take a fifth.
pub fn jittered(time: Duration) -> Duration {
    time.mul_f64(0.8 + 0.4 * fastrand::f64())
}

/// The time, or up to a fifth less.
pub fn at_most(time: Duration) -> Duration {
    time.mul_f64(0.8 + 0.2 * fastrand::f64())
}

/// Pauses that grow.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    most: Duration,
}

impl Backoff {
    /// From the first pause to the longest.
    pub fn new(first: Duration, most: Duration) -> Self {
        Self { next: first, most }
    }

    /// The next pause.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next.min(self.most);
        self.next = pause * 2;
        jittered(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_at_most_a_fifth_off() {
        for _ in 0..1000 {
            let time = jittered(Duration::from_secs(10)).as_secs_f64();
            assert!((8.0..=12.0).contains(&time), "{time}");
        }
    }

    #[test]
    fn a_time_that_is_at_most_so_long_is_not_longer() {
        for _ in 0..1000 {
            let time = at_most(Duration::from_secs(10)).as_secs_f64();
            assert!((8.0..=10.0).contains(&time), "{time}");
        }
    }

    #[test]
    fn pauses_grow_to_a_limit() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(4));
        let pauses: Vec<f64> = (0..5).map(|_| backoff.pause().as_secs_f64()).collect();
        for (pause, expected) in pauses.iter().zip([1.0, 2.0, 4.0, 4.0, 4.0]) {
            assert!(
                (expected * 0.8..=expected * 1.2).contains(pause),
                "{pauses:?}"
            );
        }
    }
}
