//! Which calls change nothing, so that they need not be repeated.

use crate::Reply;

/// The commands of the model that only read.
const READS: [&str; 35] = [
    "dbsize",
    "exists",
    "get",
    "hexists",
    "hget",
    "hgetall",
    "hkeys",
    "hlen",
    "hmget",
    "hstrlen",
    "keys",
    "pttl",
    "scard",
    "sinter",
    "sintercard",
    "sismember",
    "smembers",
    "smismember",
    "time",
    "type",
    "xlen",
    "xrange",
    "xrevrange",
    "zcard",
    "zcount",
    "zinter",
    "zlexcount",
    "zmscore",
    "zrange",
    "zrangebylex",
    "zrangebyscore",
    "zrank",
    "zrevrange",
    "zrevrangebyscore",
    "zscore",
];

/// Whether a call with this reply left everything as it was: it reads, or was refused before it began because memory is full.
pub(crate) fn changes_nothing(args: &[&[u8]], reply: &Reply) -> bool {
    let Some(name) = args.first() else {
        return true;
    };
    let is = |read: &str| name.eq_ignore_ascii_case(read.as_bytes());
    is("fcall_ro")
        || READS.iter().any(|read| is(read))
        || matches!(reply, Reply::Error(line) if line.starts_with("OOM command not allowed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Machine};

    /// A command that may write removes keys whose time has passed; one that reads does not.
    fn writes(machine: &mut Machine, name: &str) -> bool {
        let set: [&[u8]; 5] = [b"SET", b"overdue", b"v", b"PX", b"1000"];
        machine.call(&set, 1_000_000).unwrap();
        for count in 0..6 {
            let mut words: Vec<&[u8]> = vec![name.as_bytes()];
            words.extend([b"1".as_slice()].repeat(count));
            machine.call(&words, 10_000_000).unwrap();
        }
        let get: [&[u8]; 2] = [b"GET", b"overdue"];
        machine.call(&get, 1_000_000).unwrap() == Reply::Nil
    }

    #[test]
    fn the_module_reads_with_these_and_writes_with_all_others() {
        let mut machine = Machine::start(Limits::default(), 0).unwrap();
        for read in READS {
            assert!(!writes(&mut machine, read), "{read}");
        }
        let sources = lockless_model::REDIS.iter().map(|(_, source)| *source);
        let named = sources.flat_map(|source| {
            let calls = source.split("command('").skip(1);
            calls.filter_map(|rest| rest.split('\'').next())
        });
        let others: Vec<&str> = named.filter(|name| !READS.contains(name)).collect();
        assert!(others.contains(&"hset"), "{others:?}");
        for name in others {
            assert!(writes(&mut machine, name), "{name}");
        }
    }
}
