//! A cell in which each kind of deadline runs, and someone speaks for it, or does not.

use std::time::{Duration, Instant};

use crate::Error;
use crate::outcome::{Rule, Violation};
use crate::rules::cell::ask;
use crate::run::Run;
use crate::wire::{Answer, Said, Wire};

/// How long a node is present without a word; also how long nothing is overdue after a jump.
pub(super) const TTL_MS: u64 = 3000;
/// Every other deadline: longer than the stay between two jumps, shorter than any jump.
const LIMIT_MS: u64 = 60_000;
const SPEAKS_EVERY: Duration = Duration::from_millis(400);

/// The cell, and what was there in the beginning.
pub(super) struct Guests {
    wire: Box<dyn Wire>,
    root: &'static str,
    lease: String,
    token: i64,
    /// Whether a jump has gone past the deadlines that nobody speaks for.
    is_overtaken: bool,
    /// How far the clock is from where it was.
    offset_ms: i64,
    furthest_ms: i64,
    furthest_at: Instant,
    reservations: u64,
}

impl Guests {
    pub(super) fn arrive(mut wire: Box<dyn Wire>, root: &'static str) -> Result<Self, Error> {
        let mut say = |function: &str, line: &str| ask(wire.as_mut(), root, function, line);
        say(
            "config",
            &format!("heartbeat_ttl_ms {TTL_MS} keep_finished_ms 864000000"),
        )?;
        say("register", "n 20 INSTANCE i")?;
        for job in ["extended", "forgotten"] {
            say("dispatch", &format!("s - - p JOB {job} TTL {LIMIT_MS}"))?;
            say("ack", &format!("{job} n"))?;
        }
        let bound = say("bind", &format!("renewed r LEASE {LIMIT_MS}"))?;
        let locked = say("lock", &format!("l o {LIMIT_MS}"))?;
        Ok(Self {
            lease: bound
                .field("lease_id")
                .map(Answer::text)
                .unwrap_or_default(),
            token: locked.list().get(1).and_then(Answer::int).unwrap_or(0),
            wire,
            root,
            is_overtaken: false,
            offset_ms: 0,
            furthest_ms: 0,
            furthest_at: Instant::now(),
            reservations: 0,
        })
    }

    fn say(&mut self, function: &str, line: &str) -> Result<Answer, Error> {
        ask(self.wire.as_mut(), self.root, function, line)
    }

    /// Notes a jump; time stands still for a cell until the clock is where it was at its furthest.
    pub(super) fn overtaken_by(&mut self, jump_ms: i64) {
        if self.offset_ms >= self.furthest_ms {
            self.furthest_ms = self.offset_ms;
            self.furthest_at = Instant::now();
        }
        self.offset_ms += jump_ms;
        let limit_ms = i64::try_from(LIMIT_MS).unwrap_or(i64::MAX);
        self.is_overtaken |= self.offset_ms > limit_ms;
    }

    /// Takes a slot just before a jump. It is acknowledged after it, within the time in which nothing is overdue.
    pub(super) fn reserve(&mut self) -> Result<(), Error> {
        self.reservations += 1;
        let job = format!("reserved-{}", self.reservations);
        self.say("reserve", &format!("n {job} 2000")).map(|_| ())
    }

    /// How far the clock is behind the cell's time.
    pub(super) fn stands_still_for_ms(&self) -> i64 {
        let behind_ms = self.furthest_ms - self.offset_ms;
        let passed_ms = i64::try_from(self.furthest_at.elapsed().as_millis()).unwrap_or(0);
        (behind_ms - passed_ms).max(0)
    }

    /// Speaks for what it speaks for, for so long.
    pub(super) fn stay(&mut self, run: &Run, time: Duration) -> Result<(), Error> {
        let begin = Instant::now();
        while begin.elapsed() < time {
            run.pause(SPEAKS_EVERY)?;
            let lease = self.lease.clone();
            // What is refused shows in the end.
            let _ = self.say("heartbeat", "n");
            let _ = self.say("extend", &format!("extended n {LIMIT_MS}"));
            let _ = self.say("renew", &format!("renewed {lease} LEASE {LIMIT_MS}"));
            let _ = self.say("lock", &format!("l o {LIMIT_MS}"));
            let job = format!("reserved-{}", self.reservations);
            let _ = self.say("ack", &format!("{job} n"));
            let _ = self.say("sweep", "");
        }
        Ok(())
    }

    fn status(&mut self, job: &str) -> Result<String, Error> {
        match self.wire.call(self.root, "job", &[job.to_owned()]) {
            Said::Reply(fields) => Ok(fields.field("status").map(Answer::text).unwrap_or_default()),
            said if said.code() == Some("NO_SUCH_JOB") => Ok("gone".to_owned()),
            said => Err(Error::Call {
                call: format!("job {job}"),
                said: format!("{said:?}"),
            }),
        }
    }

    /// What is not as it must be.
    pub(super) fn missing(&mut self) -> Result<Vec<Violation>, Error> {
        let mut found = Vec::new();
        let mut expect = |what: &str, seen: String, wanted: &str| {
            if seen != wanted {
                let sentence = format!("{what} is {seen}, not {wanted}");
                found.push(Violation::new(Rule::Deadline, sentence));
            }
        };
        let reserved = format!("reserved-{}", self.reservations);
        expect(
            "the job that was extended",
            self.status("extended")?,
            "running",
        );
        expect("the reservation", self.status(&reserved)?, "running");
        let forgotten = if self.is_overtaken {
            "expired"
        } else {
            "running"
        };
        expect(
            "the job nobody spoke for",
            self.status("forgotten")?,
            forgotten,
        );
        let session = self.say("session", "renewed")?;
        let lease = session
            .field("lease_id")
            .map(Answer::text)
            .unwrap_or_default();
        expect("the lease", lease, &self.lease.clone());
        let locked = self.say("lock", &format!("l o {LIMIT_MS}"))?;
        let token = locked.list().get(1).and_then(Answer::int).unwrap_or(0);
        let grew = if token >= self.token { "kept" } else { "less" };
        expect("the lock's token", grew.to_owned(), "kept");
        self.token = token;
        // Two jobs, one reservation per jump, and the seat.
        let held = 3 + self.reservations;
        let node = self.say("node", "n")?;
        let seen = node
            .field("current_jobs")
            .map(Answer::text)
            .unwrap_or_default();
        expect("the number of slots taken", seen, &held.to_string());
        Ok(found)
    }
}
