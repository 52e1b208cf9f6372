//! What slow sockets cost those who are not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::super::desk::CELL;
use super::super::http::Caller;
use super::super::programs::Program;
use super::SOCKETS;
use super::sockets::Slow;
use crate::Error;
use crate::outcome::{Outcome, Rule, Violation};
use crate::run::Run;

const CALLERS: usize = 4;
/// What the slowest of a hundred requests may take, as a multiple of what it takes without slow sockets.
const SLOWER: f64 = 2.0;

/// Compares the latency of others with and without slow sockets, in turn, so that a busy machine is busy for both.
pub(super) fn compare(run: &Run, gateway: &Program, outcome: &mut Outcome) -> Result<(), Error> {
    let pairs = run.rounds(5, 15);
    let requests = run.rounds(800, 4000) as usize;
    let mut ratios = Vec::new();
    for _ in 0..pairs {
        let quiet = p99(gateway, requests, outcome)?;
        let slow = {
            let _slow = Slow::start(gateway, SOCKETS)?;
            p99(gateway, requests, outcome)?
        };
        ratios.push(slow.as_secs_f64() / quiet.as_secs_f64().max(1e-6));
        outcome.rounds += 1;
        run.say(format_args!(
            "p99 of others: {quiet:?} without slow sockets, {slow:?} with {SOCKETS}"
        ));
        run.check()?;
    }
    let ratio = median(&mut ratios);
    outcome.notes.push(format!(
        "with {SOCKETS} slow sockets the p99 of others is {ratio:.2} times what it is without (median of {})",
        ratios.len()
    ));
    if ratio >= SLOWER {
        let sentence = format!("the p99 of others grew to {ratio:.2} times its value");
        outcome
            .protected
            .violations
            .push(Violation::new(Rule::Fault, sentence));
    }
    Ok(())
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// What the slowest of a hundred dispatches takes.
fn p99(gateway: &Program, requests: usize, outcome: &mut Outcome) -> Result<Duration, Error> {
    static JOB: AtomicU64 = AtomicU64::new(0);
    let measured = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                scope.spawn(|| {
                    let caller = Caller::new(gateway.address(), Duration::from_secs(10));
                    (0..requests / CALLERS)
                        .map(|_| {
                            let job = format!("j{}", JOB.fetch_add(1, Ordering::Relaxed));
                            let begin = Instant::now();
                            let page = caller.dispatch(CELL, &job, false)?;
                            let took = begin.elapsed();
                            let end = format!("/v1/jobs/{job}/complete");
                            caller.send(&end, &[], Some(r#"{"node":"n1","status":"finished"}"#))?;
                            if page.is_ok() {
                                Ok(took)
                            } else {
                                Err(page.body)
                            }
                        })
                        .collect::<Result<Vec<_>, String>>()
                })
            })
            .collect();
        let joined = callers.into_iter().map(|caller| match caller.join() {
            Ok(took) => took,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect::<Result<Vec<_>, String>>()
    });
    let measured = measured.map_err(|said| Error::Call {
        call: "a dispatch by the gateway".to_owned(),
        said,
    })?;
    let mut took: Vec<Duration> = measured.into_iter().flatten().collect();
    outcome.protected.operations += 2 * took.len() as u64;
    took.sort_unstable();
    Ok(took[took.len() * 99 / 100])
}
