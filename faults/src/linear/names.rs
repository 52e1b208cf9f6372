//! The few names a history uses, so that its calls meet.

use std::fmt;

macro_rules! name {
    ($type:ident, $letter:literal, $meaning:literal) => {
        #[doc = $meaning]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(pub u8);

        impl $type {
            /// The one that is written so, if any is.
            pub fn read(text: &str) -> Option<Self> {
                text.strip_prefix($letter)?.parse().ok().map(Self)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $letter, self.0)
            }
        }
    };
}

name!(NodeId, 'n', "A node.");
name!(JobId, 'j', "A job.");
name!(SessionId, 's', "A session.");
name!(RequestId, 'r', "What makes a call the same as one before.");
name!(OwnerId, 'o', "Who asks for a lock.");
name!(Note, 't', "A payload, a result or a word of progress.");
name!(InstanceId, 'i', "A process of a node.");
name!(LockName, 'l', "A lock.");
name!(LimitName, 'm', "A rate limit.");
