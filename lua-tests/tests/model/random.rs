//! Random commands over few keys, so that they meet each other, with a share of nonsense.

const KEYS: [&str; 7] = ["k1", "k2", "k3", "k4", "k5", "k6", "none"];
const NAMES: [&str; 10] = [
    "a",
    "b",
    "c",
    "aa",
    "ab",
    "",
    "z",
    "1",
    "\u{7f}\u{e9}",
    "long-name-that-leaves-the-listpack-encoding-because-it-has-more-than-64-bytes",
];
const INTEGERS: [&str; 12] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "5",
    "10",
    "-3",
    "1000000000000",
    "x",
    "1.5",
    "",
];
const SCORES: [&str; 16] = [
    "0",
    "1",
    "2",
    "3",
    "1",
    "2",
    "-1",
    "1.5",
    "0.1",
    "1767225600123",
    "11722470400123.5",
    "inf",
    "-inf",
    "1e20",
    "nope",
    "0x1f",
];
const BOUNDS: [&str; 12] = [
    "-inf",
    "+inf",
    "0",
    "1",
    "2",
    "(1",
    "(2",
    "(0",
    "3",
    "(1767225600123",
    "nope",
    "(",
];
const LEX: [&str; 8] = ["-", "+", "[a", "(a", "[b", "(ab", "[z", "a"];
const ROOMY_TTL: [&str; 4] = ["100000", "200000", "0", "-5"];

/// Commands with `$kind` in place of random words. Ranges by name have a key of their own, because Redis defines them only for
/// members with equal scores.
const TEMPLATES: &[&str] = &[
    "GET $key",
    "SET $key $name",
    "SET $key $int",
    "SET $key $name NX",
    "SET $key $name XX",
    "SET $key $name PX $ttl",
    "SET $key $name KEEPTTL",
    "SET $key $name PXAT 4102444800000",
    "SET $key $name EX 100 NX",
    "SET $key $name NX XX",
    "INCR $key",
    "DECR $key",
    "INCRBY $key $int",
    "EXISTS $key $key $key",
    "DEL $key",
    "DEL $key $key",
    "UNLINK $key",
    "TYPE $key",
    "RENAME $key $key",
    "PEXPIRE $key $ttl",
    "PEXPIRE $key $far $flag",
    "EXPIRE $key 100",
    "PEXPIRE $key $far $flag $flag",
    "PTTL $key",
    "PERSIST $key",
    "KEYS k*",
    "KEYS ?[1-3]",
    "DBSIZE",
    "HGET $key $name",
    "HMGET $key $name $name $name",
    "HSET $key $name $name",
    "HSET $key $name $int $name $name",
    "HSETNX $key $name $int",
    "HDEL $key $name $name",
    "HGETALL $key",
    "HLEN $key",
    "HEXISTS $key $name",
    "HINCRBY $key $name $int",
    "HKEYS $key",
    "HSTRLEN $key $name",
    "ZADD $key $score $name",
    "ZADD $key $score $name $score $name",
    "ZADD $key $score $name $score $name $score $name",
    "ZADD $key $zflag $score $name",
    "ZADD $key $zflag $zflag $score $name $score $name",
    "ZADD $key $zflag INCR $score $name",
    "ZADD $key XX CH GT $score $name",
    "ZINCRBY $key $score $name",
    "ZREM $key $name $name",
    "ZSCORE $key $name",
    "ZMSCORE $key $name $name",
    "ZCARD $key",
    "ZCOUNT $key $bound $bound",
    "ZRANK $key $name",
    "ZRANGE $key $int $int",
    "ZRANGE $key $int $int REV WITHSCORES",
    "ZRANGE $key $bound $bound BYSCORE",
    "ZRANGE $key $bound $bound BYSCORE REV LIMIT $int $int",
    "ZRANGE names $lex $lex BYLEX",
    "ZRANGE names $lex $lex BYLEX REV LIMIT $int $int",
    "ZRANGEBYSCORE $key $bound $bound WITHSCORES",
    "ZRANGEBYSCORE $key $bound $bound WITHSCORES LIMIT $int $int",
    "ZREVRANGEBYSCORE $key $bound $bound LIMIT $int $int",
    "ZREVRANGE $key $int $int WITHSCORES",
    "ZRANGEBYLEX names $lex $lex",
    "ZLEXCOUNT names $lex $lex",
    "ZADD names 0 $name 0 $name",
    "ZREM names $name",
    "ZINTER 2 $key $key",
    "ZINTER 2 $key $key WEIGHTS 1 0 WITHSCORES",
    "ZINTER $int $key $key WITHSCORES",
    "ZPOPMIN $key",
    "ZPOPMIN $key $int",
    "ZREMRANGEBYSCORE $key $bound $bound",
    "ZREMRANGEBYRANK $key $int $int",
    "SADD $key $name $name",
    "SREM $key $name",
    "SCARD $key",
    "SISMEMBER $key $name",
    "SMISMEMBER $key $name $name",
    "SMEMBERS $key",
    "SINTER $key $key",
    "SINTERCARD 2 $key $key",
    "SINTERCARD 2 $key $key LIMIT $int",
    "XADD $key $id $name $name",
    "XADD $key MAXLEN $int $id $name $name",
    "XADD $key MAXLEN ~ $int $id a b",
    "XADD $key MAXLEN = 3 $id a b",
    "XLEN $key",
    "XRANGE $key - + COUNT $int",
    "XRANGE $key $id +",
    "XREVRANGE $key + - COUNT $int",
    "XREVRANGE $key ($id $id",
    "PUBLISH $name $name",
    "FLUSHALL $name",
    "ZADD $key",
    "HSET $key a",
    "NOPE $key $name",
];

pub(crate) struct Generator {
    random: fastrand::Rng,
    next_id: u64,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator {
            random: fastrand::Rng::with_seed(seed),
            next_id: 1,
        }
    }

    pub(crate) fn command(&mut self) -> Vec<Vec<u8>> {
        let template = TEMPLATES[self.random.usize(..TEMPLATES.len())];
        template
            .split(' ')
            .map(|word| self.word(word).into_bytes())
            .collect()
    }

    fn pick(&mut self, from: &[&str]) -> String {
        from[self.random.usize(..from.len())].to_owned()
    }

    fn word(&mut self, word: &str) -> String {
        match word {
            "$key" => self.pick(&KEYS),
            "$name" => self.pick(&NAMES),
            "$int" => self.pick(&INTEGERS),
            "$score" => self.pick(&SCORES),
            "$bound" => self.pick(&BOUNDS),
            "$lex" => self.pick(&LEX),
            "$ttl" => self.pick(&ROOMY_TTL),
            // Far from each other and from the fixed ones, so that the time between two commands never decides.
            "$far" => self.random.u64(1_000_000..1_000_000_000).to_string(),
            "$flag" => self.pick(&["NX", "XX", "GT", "LT", "nope"]),
            "$zflag" => self.pick(&["NX", "XX", "GT", "LT", "CH", "INCR"]),
            "$id" => {
                // Mostly the next ID, now and then one that is too small, half given or not an ID.
                self.next_id += 1;
                let id = self.next_id;
                let kinds = [
                    format!("{id}-1"),
                    format!("{id}-1"),
                    format!("{id}"),
                    format!("{id}-*"),
                    format!("{}-2", id / 2),
                    "nope".to_owned(),
                ];
                kinds[self.random.usize(..kinds.len())].clone()
            }
            "($id" => format!("({}-1", self.random.u64(..self.next_id + 1)),
            other => other.to_owned(),
        }
    }
}
