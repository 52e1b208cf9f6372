//! Random histories of a cell and of plain keys, with large requests now and then, so that new images are taken in between.

/// The keys of large values.
pub(crate) const LARGE: [&str; 3] = ["large-1", "large-2", "large-3"];

/// What happens next.
pub(crate) enum Step {
    /// The clock moves, now and then back.
    Pause(i64),
    /// Somebody asks what was published.
    Listen,
    /// A command.
    Call(Vec<Vec<u8>>),
}

pub(crate) struct Generator {
    random: fastrand::Rng,
    jobs: u32,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator {
            random: fastrand::Rng::with_seed(seed),
            jobs: 0,
        }
    }

    pub(crate) fn step(&mut self) -> Step {
        match self.random.u32(..20) {
            0..3 => Step::Pause(self.random.i64(-2_000_000..10_000_000)),
            3 => Step::Listen,
            4..8 => Step::Call(self.command()),
            8 => Step::Call(self.large()),
            _ => Step::Call(self.function()),
        }
    }

    /// About the thirtieth of what makes a new image due.
    fn large(&mut self) -> Vec<Vec<u8>> {
        let key = LARGE[self.random.usize(..LARGE.len())];
        let byte = self.random.u8(b'a'..=b'z');
        vec![
            b"SET".to_vec(),
            key.as_bytes().to_vec(),
            vec![byte; 256 << 10],
        ]
    }

    fn command(&mut self) -> Vec<Vec<u8>> {
        let key = self.random.u32(..8);
        let ms = self.random.u32(500..20_000);
        let line = match self.random.u32(..9) {
            0 => format!("SET k{key} v PX {ms}"),
            1 => format!("PEXPIRE k{key} {ms}"),
            2 => format!("DEL k{key}"),
            3 => format!("GET k{key}"),
            4 => "DBSIZE -".to_owned(),
            5 => format!("INCR n{key}"),
            6 => format!("SPUBLISH c {ms}"),
            7 => "INCR kept".to_owned(),
            _ => format!("XADD log MAXLEN 20 * f {ms}"),
        };
        words(&line)
    }

    fn function(&mut self) -> Vec<Vec<u8>> {
        let node = self.random.u32(..4);
        let job = self.random.u32(..self.jobs + 1);
        let line = match self.random.u32(..14) {
            0 | 1 => format!("register n{node} 3 POOL p{}", node % 2),
            2 => format!("heartbeat n{node} CPU 10"),
            3..6 => {
                self.jobs += 1;
                format!("dispatch s{node} - - payload JOB j{}", self.jobs)
            }
            6 => {
                self.jobs += 1;
                format!("submit j{} payload", self.jobs)
            }
            7 => format!("pull n{node} 2"),
            8 => format!("take n{node}"),
            9 | 10 => format!("complete j{job} n{node} finished"),
            11 => format!("cancel j{job}"),
            12 => "sweep".to_owned(),
            _ => return words("FCALL_RO lockless_stats 1 s:{m}"),
        };
        let (name, args) = line.split_once(' ').unwrap_or((&line, ""));
        let mut call = words(&format!("FCALL lockless_{name} 1 s:{{m}}"));
        call.extend(args.split_whitespace().map(|word| word.as_bytes().to_vec()));
        call
    }
}

fn words(line: &str) -> Vec<Vec<u8>> {
    line.split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect()
}
