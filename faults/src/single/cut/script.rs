//! Random calls, one after the other, by someone who remembers what came of them.

use fastrand::Rng;

use crate::wire::Answer;

/// A source of calls that mostly succeed.
pub(super) struct Script {
    random: Rng,
    made: u64,
    /// Jobs on nodes: the job and its node.
    placed: Vec<(String, String)>,
    waiting: Vec<String>,
    lease: Option<(String, String)>,
}

const NODES: u64 = 3;

impl Script {
    pub(super) fn new(random: Rng) -> Self {
        Self {
            random,
            made: 0,
            placed: Vec::new(),
            waiting: Vec::new(),
            lease: None,
        }
    }

    /// The next call: the function, and its arguments.
    pub(super) fn next(&mut self) -> (String, Vec<String>) {
        self.made += 1;
        let line = self.line();
        let mut words = line.split_whitespace().map(str::to_owned);
        let function = words.next().unwrap_or_default();
        (function, words.collect())
    }

    fn line(&mut self) -> String {
        let number = self.made;
        if number <= NODES {
            return format!("register n{number} 4 POOL default POOL p{number} LABEL l{number}");
        }
        let node = format!("n{}", self.random.u64(1..=NODES));
        match self.random.u8(..16) {
            0..4 => {
                let ack = ["", " ACK 600000"][self.random.usize(..2)];
                format!("dispatch s{} - - payload JOB d{number}{ack}", number % 5)
            }
            4..6 => format!("submit q{number} payload PRIORITY {} RETRIES 1", number % 7),
            6 => format!("pull {node} COUNT 2 REQUEST r{number}"),
            7 => format!("take {node} COUNT 2 REQUEST r{number}"),
            8..11 => match self.placed.pop() {
                Some((job, node)) if number.is_multiple_of(4) => {
                    format!("complete {job} {node} failed REASON why")
                }
                Some((job, node)) => format!("complete {job} {node} finished RESULT done"),
                None => format!("heartbeat {node} CPU 10 FOREIGN {}", number % 2),
            },
            11 => match self.waiting.pop() {
                Some(job) => format!("cancel {job} REASON enough"),
                None => format!("heartbeat {node} LABEL l{number}"),
            },
            12 => match self.lease.take() {
                Some((session, lease)) => format!("unbind {session} {lease}"),
                None => format!("bind b{} r{number} LEASE 600000", number % 2),
            },
            13 => format!("register {node} 4 INSTANCE i{number} POOL default LABEL other"),
            14 => format!("deploy d{} SPEC {number}", number % 3),
            _ => format!("claim {node} REQUEST c{number}"),
        }
    }

    /// Remembers what a call gave.
    pub(super) fn heard(&mut self, function: &str, args: &[String], answer: &Answer) {
        match function {
            "dispatch" => {
                if let [node, job] = answer.list() {
                    self.placed.push((job.text(), node.text()));
                }
            }
            "submit" => self.waiting.push(args[0].clone()),
            "pull" => {
                for item in answer.list().first().map(Answer::list).unwrap_or_default() {
                    let job = item.field("job_id").map(Answer::text).unwrap_or_default();
                    self.waiting.retain(|waiting| *waiting != job);
                    self.placed.push((job, args[0].clone()));
                }
            }
            "bind" => {
                let lease = answer.field("lease_id").map(Answer::text);
                self.lease = lease.map(|lease| (args[0].clone(), lease));
            }
            _ => {}
        }
    }
}
