//! What was done since the image of the memory was taken, so that it can be done again.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

/// Beyond this many bytes of requests a new image is taken.
const BYTES_MAX: usize = 8 << 20;
/// What was done since the image never takes longer than this to do again, whatever an image costs.
const TIME_MAX: Duration = Duration::from_millis(600);
/// Nor is an image taken before this time was spent on calls.
const TIME_MIN: Duration = Duration::from_millis(200);
/// An image is worth taking after calls that took this many times as long as the image before.
const TIMES_OF_AN_IMAGE: u32 = 20;

/// The steps since the last image.
#[derive(Default)]
pub(crate) struct Journal {
    steps: Vec<Step>,
    requests: Vec<u8>,
    /// How long the calls took: about as long as it takes to repeat them.
    took: Duration,
    image_took: Duration,
}

enum Step {
    Call { request: Range<usize>, now_us: u64 },
    Published,
}

/// A step to repeat.
pub(crate) enum Repeat<'a> {
    /// A call with its clock.
    Call(&'a [u8], u64),
    /// Messages were handed over.
    Published,
}

impl Journal {
    pub(crate) fn note_call(&mut self, request: &[u8], now_us: u64, took: Duration) {
        let from = self.requests.len();
        self.requests.extend_from_slice(request);
        self.steps.push(Step::Call {
            request: from..self.requests.len(),
            now_us,
        });
        self.took += took;
    }

    /// Notes that messages left the instance, so that they do not leave it again.
    pub(crate) fn note_published(&mut self) {
        self.steps.push(Step::Published);
    }

    /// Whether it is time for a new image. An image costs the more the larger the memory is, so a large one is taken more rarely.
    pub(crate) fn is_full(&self) -> bool {
        let worth = (self.image_took * TIMES_OF_AN_IMAGE).clamp(TIME_MIN, TIME_MAX);
        self.took >= worth || self.requests.len() >= BYTES_MAX
    }

    /// Forgets all steps: an image was taken, and its making began then.
    pub(crate) fn restart(&mut self, image_began: Instant) {
        self.steps.clear();
        self.requests.clear();
        self.took = Duration::ZERO;
        self.image_took = image_began.elapsed();
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = Repeat<'_>> {
        self.steps.iter().map(|step| match step {
            Step::Call { request, now_us } => {
                Repeat::Call(&self.requests[request.clone()], *now_us)
            }
            Step::Published => Repeat::Published,
        })
    }
}
