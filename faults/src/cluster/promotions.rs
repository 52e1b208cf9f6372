//! When a server took its primary's place, as its log says.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What the log says then: by the vote of the others, or by an order.
const PROMOTED: [&str; 2] = ["Failover election won", "Taking over the "];
const DAY_MS: u64 = 24 * 3_600_000;

/// All times when it did, up to now.
pub(super) fn promotions(log: &str, now: SystemTime) -> Vec<SystemTime> {
    let is_one = |line: &&str| PROMOTED.iter().any(|words| line.contains(words));
    let lines = log.lines().filter(is_one);
    // Of one without a time it may have been at any time.
    let times = lines.map(|line| written_at(line, now).unwrap_or(UNIX_EPOCH));
    times.collect()
}

/// `pid:role day month year hour:minute:second.millisecond sign message`, in UTC. It was within the last day: so long takes no run.
fn written_at(line: &str, now: SystemTime) -> Option<SystemTime> {
    let mut fields = line.split(' ').nth(4)?.split([':', '.']);
    let mut next = || fields.next()?.parse::<u64>().ok();
    let (hour, minute, second, millisecond) = (next()?, next()?, next()?, next()?);
    let of_day_ms = ((hour * 60 + minute) * 60 + second) * 1000 + millisecond;
    let now_ms = u64::try_from(now.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
    let ago_ms = (now_ms % DAY_MS + DAY_MS).checked_sub(of_day_ms)? % DAY_MS;
    Some(UNIX_EPOCH + Duration::from_millis(now_ms - ago_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
7:S 18 Nov 2026 21:48:38.007 # Start of election delayed for 578 milliseconds (rank #0, offset 98).
7:S 18 Nov 2026 21:48:38.123 # Failover election won: I'm the new master.
7:M 18 Nov 2026 21:48:38.124 # configEpoch set to 7 after successful failover
7:S 18 Nov 2026 23:59:59.999 * Taking over the master (user request).
";
    /// Midnight before that day.
    const DAY_BEGAN_MS: u64 = 20_775 * DAY_MS;

    fn on_that_day(ms: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(DAY_BEGAN_MS + ms)
    }

    #[test]
    fn promotions_are_when_the_log_says() {
        let won = on_that_day(((21 * 60 + 48) * 60 + 38) * 1000 + 123);
        let taken = on_that_day(DAY_MS - 1);
        // Also on the day after.
        let now = on_that_day(DAY_MS + 60_000) + Duration::from_micros(700);
        assert_eq!(promotions(LOG, now), [won, taken]);
    }

    #[test]
    fn a_promotion_without_a_time_may_have_been_long_ago() {
        let log = "Failover election won: I'm the new master.";
        assert_eq!(promotions(log, on_that_day(0)), [UNIX_EPOCH]);
    }
}
