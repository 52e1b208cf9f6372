//! Makes the calls of a history from several callers at once, and writes down what they see.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;

use fastrand::Rng;

use super::call::Call;
use super::history::{Event, Reply};
use super::known::Known;
use super::scene::Scene;
use crate::wire::Said;

/// How one caller reaches a cell.
pub trait Caller: Send {
    /// Makes a call and waits for the reply.
    fn call(&mut self, root: &str, call: &Call) -> Said;

    /// Sends a call, or the beginning of one, and cuts the connection before a reply is read.
    fn cut(&mut self, root: &str, call: &Call, random: &mut Rng) -> Said;
}

/// What a history is made of.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// What it is about.
    pub scene: Scene,
    /// How many calls each caller makes.
    pub calls: usize,
    /// One in so many is cut, none at 0.
    pub cuts: u32,
    /// What everything random is drawn from.
    pub seed: u64,
}

/// Plays a history on a cell that is new.
pub fn record(callers: &mut [Box<dyn Caller>], root: &str, plan: Plan) -> Vec<Event> {
    let clock = AtomicU64::new(0);
    let known = Mutex::new(Known::default());
    let scribe = Scribe {
        clock: &clock,
        known: &known,
        root,
    };
    let mut random = Rng::with_seed(plan.seed);
    let mut history = Vec::new();
    if let Some(first) = callers.first_mut() {
        for call in plan.scene.opening(&mut random) {
            history.push(scribe.note(0, call, |call| first.call(root, call)));
        }
    }
    let start = Barrier::new(callers.len());
    let played = thread::scope(|scope| {
        let (scribe, start) = (&scribe, &start);
        let threads: Vec<_> = callers
            .iter_mut()
            .enumerate()
            .map(|(number, caller)| {
                let random = random.fork();
                scope.spawn(move || {
                    start.wait();
                    play(scribe, number, caller.as_mut(), plan, random)
                })
            })
            .collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined.collect::<Result<Vec<_>, _>>()
    });
    match played {
        Ok(played) => history.extend(played.into_iter().flatten()),
        Err(panic) => std::panic::resume_unwind(panic),
    }
    history
}

fn play(
    scribe: &Scribe<'_>,
    number: usize,
    caller: &mut dyn Caller,
    plan: Plan,
    mut random: Rng,
) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for _ in 0..plan.calls {
        let unanswered = events.last().filter(|event| event.end.is_none());
        let call = match unanswered {
            // Whoever got no reply mostly asks again.
            Some(event) if random.u32(..4) > 0 => event.call.clone(),
            _ => {
                let known = scribe.known.lock().unwrap_or_else(PoisonError::into_inner);
                plan.scene.next(&mut random, &known)
            }
        };
        let is_cut = plan.cuts > 0 && random.u32(..plan.cuts) == 0;
        let event = scribe.note(number, call, |call| {
            if is_cut {
                caller.cut(scribe.root, call, &mut random)
            } else {
                caller.call(scribe.root, call)
            }
        });
        events.push(event);
    }
    events
}

struct Scribe<'a> {
    clock: &'a AtomicU64,
    known: &'a Mutex<Known>,
    root: &'a str,
}

impl Scribe<'_> {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn note(&self, caller: usize, call: Call, make: impl FnOnce(&Call) -> Said) -> Event {
        let begin = self.now();
        let reply = Reply::from_wire(make(&call));
        let end = reply.map(|reply| (self.now(), reply));
        if let Some((_, reply)) = &end {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.learn(&call, reply);
        }
        Event {
            caller,
            call,
            begin,
            end,
        }
    }
}
