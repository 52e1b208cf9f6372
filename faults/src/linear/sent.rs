//! Calls as they are sent.

use std::fmt;

use super::call::{Call, LABEL, LIMIT, Word};

/// Everything that has an end has it long after the history.
const FAR_MS: &str = "600000";

impl Call {
    /// Its arguments as they are sent.
    pub fn args(&self) -> Vec<String> {
        let mut args = Args::default();
        match self {
            Self::Register {
                node,
                max_jobs,
                instance,
                has_label,
            } => args
                .say(node)
                .say(max_jobs)
                .option("INSTANCE", *instance)
                .option("LABEL", has_label.then_some(LABEL)),
            Self::Heartbeat {
                node,
                foreign,
                online,
                incarnation,
            } => args
                .say(node)
                .option("FOREIGN", *foreign)
                .option("ONLINE", *online)
                .option("INCARNATION", *incarnation),
            Self::Drain {
                node,
                on,
                incarnation,
            } => args
                .say(node)
                .say(if *on { "on" } else { "off" })
                .option("INCARNATION", *incarnation),
            Self::Deregister { node, incarnation } => {
                args.say(node).option("INCARNATION", *incarnation)
            }
            Self::Take {
                node,
                request,
                incarnation,
            } => args
                .say(node)
                .option("REQUEST", *request)
                .option("INCARNATION", *incarnation),
            Self::Node { node } => args.say(node),
            Self::Dispatch {
                session,
                payload,
                job,
                needs_label,
                needs_ack,
            } => args
                .say(session)
                .say("- -")
                .say(payload)
                .option("JOB", Some(job))
                .option("REQUIRE", needs_label.then_some(LABEL))
                .option("ACK", needs_ack.then_some(FAR_MS)),
            Self::Reserve { node, job } => args.say(node).say(job).say(FAR_MS),
            Self::Submit {
                job,
                payload,
                priority,
                needs_label,
            } => args
                .say(job)
                .say(payload)
                .option("PRIORITY", Some(priority))
                // After a failure it would wait for a time.
                .option("RETRIES", Some(0))
                .option("REQUIRE", needs_label.then_some(LABEL)),
            Self::Pull {
                node,
                count,
                request,
                incarnation,
            } => args
                .say(node)
                .option("COUNT", Some(count))
                .option("REQUEST", *request)
                .option("INCARNATION", *incarnation),
            Self::Word {
                word,
                job,
                node,
                incarnation,
            } => word
                .say(args.say(job).say(node))
                .option("INCARNATION", *incarnation),
            Self::Cancel { job } | Self::Job { job } => args.say(job),
            Self::Bind {
                session,
                request,
                needs_label,
                preempts,
            } => {
                args.say(session)
                    .say(request)
                    .option("LEASE", Some(FAR_MS))
                    .option("REQUIRE", needs_label.then_some(LABEL));
                if *preempts {
                    args.say("PREEMPT");
                }
                &mut args
            }
            Self::Renew { session, lease } | Self::Unbind { session, lease } => {
                args.say(session).say(lease)
            }
            Self::Lock { name, owner } => args.say(name).say(owner).say(FAR_MS),
            Self::Unlock { name, owner } => args.say(name).say(owner),
            Self::Limit { name, request } => args
                .say(name)
                .say(LIMIT)
                .say(FAR_MS)
                .option("REQUEST", *request),
        };
        args.0
    }
}

impl Word {
    fn say(self, args: &mut Args) -> &mut Args {
        match self {
            Self::Ack | Self::Release => args,
            Self::Finished(result) => args.say("finished").option("RESULT", Some(result)),
            Self::Failed => args.say("failed"),
            Self::Stopped => args.say("ok"),
            Self::Extend(progress) => args.say(FAR_MS).option("PROGRESS", Some(progress)),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.function(), self.args().join(" "))
    }
}

#[derive(Default)]
struct Args(Vec<String>);

impl Args {
    fn say(&mut self, word: impl fmt::Display) -> &mut Self {
        let text = word.to_string();
        self.0.extend(text.split(' ').map(str::to_owned));
        self
    }

    fn option(&mut self, keyword: &str, value: Option<impl fmt::Display>) -> &mut Self {
        match value {
            Some(value) => self.say(keyword).say(value),
            None => self,
        }
    }
}
