//! Random calls of the queue's functions.

use lockless_lua_tests::Reply;

use super::generator::{Call, Generator, LABELS, NODES, PAIRS, POOLS, REGIONS};
use crate::cell::{code, field, list, text};

/// Settings of the queue and the dynamic scheduler, and values that make a difference here.
pub(super) const QUEUE_SETTINGS: [(&str, &[&str]); 11] = [
    ("preempt_count_per_tick", &["0", "1", "3"]),
    ("max_workers", &["1", "3", "100"]),
    ("max_start_per_tick_normal", &["1", "2", "10"]),
    ("max_start_per_tick_high", &["0", "1"]),
    ("high_mode_priority_cutoff", &["0", "5"]),
    ("ema_alpha", &["0.3", "1"]),
    ("emergency_cooldown_ticks", &["0", "1", "2"]),
    ("dry_run", &["true", "false"]),
    ("retry_backoff_ms", &["0", "1", "1000"]),
    ("retry_backoff_max_ms", &["500", "300000"]),
    ("tick_scan_limit", &["1", "3", "128"]),
];

/// Samples of a calm, a loaded and an overloaded machine of 10,000 MB.
const SAMPLES: [&str; 6] = [
    "MEM 20 USED 2000 TOTAL 10000 AVAIL 8000 SWAP 0 CPU 10",
    "MEM 25.5 USED 2550 TOTAL 10000 AVAIL 7450 SWAP 1 CPU 30 GPU_USED 100 GPU_TOTAL 1000",
    "MEM 60 USED 6000 TOTAL 10000 AVAIL 4000 SWAP 0 CPU 60",
    "MEM 82 USED 8200 TOTAL 10000 AVAIL 1800 SWAP 5 CPU 88",
    "MEM 97 USED 9700 TOTAL 10000 AVAIL 300 SWAP 60 CPU 95",
    "MEM 30 USED 3000 TOTAL 10000 AVAIL 7000 SWAP 0 CPU 20 GPU_USED 990 GPU_TOTAL 1000",
];

impl Generator {
    /// Notes which jobs were submitted, and which node was handed them.
    pub(super) fn learn_queued(&mut self, call: &Call, reply: &Reply) {
        if code(reply).is_some() {
            return;
        }
        let items = match call.function {
            "pull" => &list(reply)[0],
            "tick" => field(reply, "start"),
            "submit" => {
                let node = self.pick(&NODES).to_owned();
                self.granted.push((call.arg(0), node));
                return;
            }
            _ => return,
        };
        for item in list(items) {
            self.granted.push((text(&list(item)[1]), call.arg(0)));
        }
    }

    pub(super) fn queue_arguments(&mut self, function: &str) -> Vec<String> {
        let mut args = Vec::new();
        let mut node = self.pick(&NODES).to_owned();
        match function {
            "submit" => return self.submission(),
            "stopped" => {
                let [job, on] = self.job_and_node();
                node = on;
                let outcome = self.pick(&["ok", "ok", "failed"]).to_owned();
                args.extend([job, node.clone(), outcome]);
            }
            "pull" => {
                args.push(node.clone());
                self.some(&mut args, 3, "COUNT", &["1", "2", "256"]);
                self.some(&mut args, 2, "REQUEST", &["q1", "q2"]);
            }
            _ => {
                args.push(node.clone());
                let at = match self.random.u32(..10) {
                    0..5 => 0,
                    _ => self.random.usize(..SAMPLES.len()),
                };
                args.extend(SAMPLES[at].split(' ').map(str::to_owned));
                self.some(&mut args, 2, "REQUEST", &["q1", "q2"]);
            }
        }
        self.incarnation(&mut args, &node);
        args
    }

    /// A new job, or now and then one that may be there.
    fn submission(&mut self) -> Vec<String> {
        self.next_job += 1;
        let job = if self.one_in(10) {
            self.job_and_node()[0].clone()
        } else {
            format!("q{}", self.next_job)
        };
        let payload = self.pick(&["", "{}", "payload", "\u{0}\u{ff}"]);
        let mut args = vec![job, payload.to_owned()];
        self.some(&mut args, 3, "POOL", &POOLS);
        if self.one_in(6) {
            let [source, target] = PAIRS[self.random.usize(..4)];
            self.option(&mut args, 1, &["PAIR", source, target]);
        }
        self.some(&mut args, 12, "REGION", &REGIONS);
        self.some(&mut args, 8, "REQUIRE", &LABELS);
        self.some(&mut args, 16, "REQUIRE", &LABELS);
        self.some(&mut args, 2, "PRIORITY", &["0", "1", "5", "9", "1000"]);
        self.some(&mut args, 4, "MEM_MB", &["0", "100", "4000", "9000"]);
        self.some(&mut args, 6, "CPU", &["0", "1.5", "40", "100"]);
        self.some(&mut args, 6, "GPU_MB", &["0", "50", "900"]);
        self.some(&mut args, 4, "PREEMPTIBLE", &["yes", "no"]);
        self.some(&mut args, 2, "RETRIES", &["0", "1", "2", "100"]);
        self.some(&mut args, 5, "DELAY", &["0", "1", "900", "5000", "60000"]);
        self.some(
            &mut args,
            3,
            "TTL",
            &["1", "700", "5000", "3599999", "7200000"],
        );
        args
    }
}
