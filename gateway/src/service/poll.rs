//! Long polls: a call that is made again when there is news, until it has something to say.

use std::time::Duration;

use bytes::Bytes;
use lockless_functions::api::{self, Function, ReplyShape};
use tokio::time::{Instant, sleep_until};

use super::{Asked, Service};
use crate::transport::Peer;
use lockless_client::backend::{Call, Failure, Reply};
use lockless_client::wakes::Topic;

/// A look without news, should an announcement have got lost: from this to twice this.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// What is said again until it is dealt with is held for so long.
const SOON: Duration = Duration::from_secs(1);

/// What a caller waits for.
pub(super) struct Wait {
    function: &'static Function,
    rule: &'static api::Wait,
    topic: Topic,
    time: Duration,
}

impl Wait {
    pub(super) fn new(
        function: &'static Function,
        rule: &'static api::Wait,
        awaited: Bytes,
        wait_ms: u64,
    ) -> Self {
        let topic = match rule.argument.as_str() {
            "job" => Topic::Job(awaited),
            _ => Topic::Node(awaited),
        };
        Self {
            function,
            rule,
            topic,
            time: Duration::from_millis(wait_ms),
        }
    }

    fn is_over(&self, reply: &Reply) -> bool {
        self.rule
            .until
            .iter()
            .any(|name| has(value_of(self.function, reply, name)))
    }

    fn soon<'a>(&self, reply: &'a Reply) -> Vec<&'a Reply> {
        let values = self.rule.soon.iter();
        values
            .filter_map(|name| value_of(self.function, reply, name))
            .filter(|value| has(Some(value)))
            .collect()
    }
}

/// Whether a value of a reply says something.
fn has(value: Option<&Reply>) -> bool {
    match value {
        Some(Reply::List(items)) => !items.is_empty(),
        Some(Reply::Bytes(text)) => !text.is_empty(),
        Some(Reply::Integer(_)) => true,
        Some(Reply::Nil) | None => false,
    }
}

fn value_of<'a>(function: &Function, reply: &'a Reply, name: &str) -> Option<&'a Reply> {
    let Reply::List(values) = reply else {
        return None;
    };
    if function.reply == ReplyShape::Fields {
        let pair = values.chunks_exact(2).find(
            |pair| matches!(&pair[0], Reply::Bytes(field) if field.as_ref() == name.as_bytes()),
        );
        return pair.map(|pair| &pair[1]);
    }
    let at = function
        .fields
        .iter()
        .position(|field| field.name == name)?;
    values.get(at)
}

impl Service {
    /// Makes the call now and each time there is news, until its reply is what the caller waits for or the time is up.
    pub(super) async fn wait(
        &self,
        wait: Wait,
        call: Call,
        asked: &Asked,
        peer: &Peer,
    ) -> Result<Reply, Failure> {
        let _counted = self.metrics.long_poll();
        peer.allow(wait.time + self.request_time);
        let mut deadline = Instant::now() + wait.time;
        // Calls are boxed here: they are large, and only the wait between them lasts. The first one is made before anyone
        // watches, so that what is there already, or not at all, needs no subscription.
        let look = || Box::pin(self.backend_call(call.clone(), asked.durability));
        let first = look().await?;
        if wait.is_over(&first) {
            return Ok(first);
        }
        if !wait.soon(&first).is_empty() {
            deadline = deadline.min(Instant::now() + SOON);
        }
        // Whoever watches before looking misses nothing.
        let mut watch = Box::pin(self.wakes.watch(&asked.cell, wait.topic.clone())).await?;
        loop {
            Box::pin(self.wakes.listen(&asked.cell)).await?;
            let reply = look().await?;
            let soon = wait.soon(&reply);
            let is_news = !soon.is_empty() && soon != wait.soon(&first);
            // The last look is made when the time is up, so that the answer is what is so then.
            if wait.is_over(&reply) || is_news || Instant::now() >= deadline {
                return Ok(reply);
            }
            let pause = LOOK_AGAIN + LOOK_AGAIN.mul_f64(fastrand::f64());
            let look_again = Instant::now() + pause;
            tokio::select! {
                () = watch.woken() => {}
                () = sleep_until(look_again.min(deadline)) => {}
                () = self.shutdown.requested() => return Ok(reply),
            }
        }
    }
}
