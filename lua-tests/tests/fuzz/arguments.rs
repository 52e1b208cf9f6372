//! Arguments for any function of the contract: good ones, and what callers must not be able to do harm with.

use lockless_functions::api::{Argument, Function, Kind};

/// Values that some parser somewhere takes for a number, an end, or a separator; and cursors that look like ours.
const NONSENSE: &[&str] = &[
    "",
    " ",
    "\0",
    "\n",
    "a\nb",
    "a b",
    "\t",
    "-",
    "--",
    "-1",
    "+5",
    " 5",
    "5 ",
    "1.5",
    "1.",
    ".5",
    "1e3",
    "1E400",
    "0x1F",
    "inf",
    "nan",
    "0",
    "00",
    "007",
    "1",
    "2147483648",
    "9007199254740992",
    "18446744073709551616",
    "99999999999999999999",
    "true",
    "TRUE",
    "nil",
    "{}",
    "[]",
    "'",
    "\"",
    "%d%s%n",
    "\\",
    "*",
    "?",
    "é",
    "\u{7f}",
    "JOB",
    "job",
    "POOL",
    "REQUIRE",
    "NOPE",
    "INCARNATION",
    "heartbeat_ttl_ms",
    "payload_max_bytes",
    "dry_run",
    ":",
    ":n1",
    ":n1 0",
    ":n1 1000000",
    ":n1 99999999999999999999",
    ":99999999999999999999",
    ":5",
    "0:",
    "1:",
    "2:x",
    "3:",
    "3:n1 0",
    "3:n1",
    "3:ghost 7",
    "4:",
    "4:0 0",
    "4:x",
    "4:99999999999999999999 99999999999999999999",
    "$",
    "(1-1",
    "1-1",
    "99999999999999999999-0",
    "5:x",
    "5::label:x",
    "6:",
    "6:1",
    "6:x",
    "6:99999999999999999999",
    "7:x",
    "8:x",
    "8:-1",
    "9:",
    "9:1 0",
    "9:99999999999999999999 1",
    "10:5",
    "11:x",
    "12:",
    ":1 0 -",
    ":1 7 queued",
    ":d 0 delayed",
    ":d 99999999999999999 delayed",
    ":99999999999999999999 1 x",
    "finished",
    "on",
    "#",
];

const NODES: [&str; 4] = ["n1", "n2", "lost", "ghost"];
const JOBS: [&str; 12] = [
    "dispatched",
    "running",
    "reserved",
    "finished",
    "stopping",
    "pulled",
    "dead",
    "back",
    "queued",
    "queued2",
    "delayed",
    "ghost",
];

fn pick<'a>(random: &mut fastrand::Rng, from: &[&'a str]) -> &'a str {
    from[random.usize(..from.len())]
}

fn nonsense(random: &mut fastrand::Rng) -> Vec<u8> {
    match random.u32(..40) {
        0 => vec![b'x'; random.usize(200..10_000)],
        1 => vec![b'9'; random.usize(16..400)],
        2 => (0..random.usize(1..40)).map(|_| random.u8(..)).collect(),
        3 if random.u32(..20) == 0 => vec![0; (1 << 20) + 1],
        _ => pick(random, NONSENSE).as_bytes().to_vec(),
    }
}

/// A value the contract allows, mostly one that means something to the cell.
fn good(random: &mut fastrand::Rng, argument: &Argument) -> Vec<Vec<u8>> {
    let (min, max) = argument.limits();
    if argument.dash && random.u32(..4) == 0 {
        return vec![b"-".to_vec()];
    }
    let value = match argument.kind {
        Kind::Integer => random.u64(min..=max.min(min + 3000)).to_string(),
        Kind::Percent => pick(random, &["0", "50.25", "100"]).to_owned(),
        Kind::Choice => argument.values[random.usize(..argument.values.len())].clone(),
        Kind::Cursor => "0".to_owned(),
        Kind::Pair => {
            return [["en", "fr"], ["en", "de"]][random.usize(..2)]
                .map(|word| word.as_bytes().to_vec())
                .to_vec();
        }
        Kind::Flag => return vec![],
        Kind::Lang => "-".to_owned(),
        Kind::Bytes | Kind::Payload => "{\"a\": [1, null]}".to_owned(),
        Kind::Id => match argument.name.as_str() {
            "node" => pick(random, &NODES).to_owned(),
            "job" => pick(random, &JOBS).to_owned(),
            _ => pick(random, &["a", "b", "gpu", "default"]).to_owned(),
        },
    };
    vec![value.into_bytes()]
}

/// A call the contract allows, with some of the options.
pub(crate) fn allowed(random: &mut fastrand::Rng, function: &Function) -> Vec<Vec<u8>> {
    let mut out: Vec<Vec<u8>> = Vec::new();
    for argument in &function.args {
        out.extend(good(random, argument));
    }
    for option in &function.options {
        let times = if option.required {
            1
        } else if random.u32(..4) > 0 {
            0
        } else {
            random.u32(1..=option.many.map_or(1, |many| many.min(3)))
        };
        for _ in 0..times {
            out.push(option.keyword.clone().unwrap_or_default().into_bytes());
            out.extend(good(random, option));
        }
    }
    if function.rest.is_some() && random.bool() {
        out.extend([b"reserve_ttl_ms".to_vec(), b"4000".to_vec()]);
    }
    out
}

/// The same with up to three mistakes.
pub(crate) fn spoiled(random: &mut fastrand::Rng, function: &Function) -> Vec<Vec<u8>> {
    let mut out = allowed(random, function);
    for _ in 0..random.u32(..4) {
        let at = random.usize(..=out.len());
        match random.u32(..10) {
            0..5 if at < out.len() => out[at] = nonsense(random),
            5 | 6 if at < out.len() => drop(out.remove(at)),
            7 if at < out.len() => out.push(out[at].clone()),
            8 if random.u32(..60) == 0 => {
                // Short ones: so many long ones would need all of a machine's memory.
                let words = [(); 2].map(|()| pick(random, NONSENSE).as_bytes().to_vec());
                out.extend((0..9_000).flat_map(|_| words.clone()));
            }
            9 if function.rest.is_some() && random.u32(..20) == 0 => {
                out = (0..9_000)
                    .flat_map(|_| [b"reserve_ttl_ms".to_vec(), b"4000".to_vec()])
                    .collect();
            }
            _ => out.insert(at, nonsense(random)),
        }
    }
    out
}

/// Keys a caller may send in place of a cell's.
pub(crate) fn keys(random: &mut fastrand::Rng, root: &str) -> Vec<Vec<u8>> {
    let one = |key: &[u8]| vec![key.to_vec()];
    match random.u32(..60) {
        0 => vec![],
        1 => vec![root.as_bytes().to_vec(), root.as_bytes().to_vec()],
        2 => one(b"scheduler"),
        3 => one(b"a{}"),
        4 => one(b"{main}tail"),
        5 => one(&[b"x".repeat(10_240), b"{main}".to_vec()].concat()),
        6 => one(b""),
        7 => one(b"a{main"),
        8 => one(b"a}main{"),
        9 => one(b"a{b}{main}"),
        _ => one(root.as_bytes()),
    }
}
