//! Every write function on each of its ways through: what was said before, and the call that is to be interrupted.

/// A call, and how the cell came to be as it finds it.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// Calls, and `pass <ms>` for time.
    pub(crate) before: &'static [&'static str],
    pub(crate) call: &'static str,
    /// Whether the repeated call gives the reply of an undisturbed one.
    pub(crate) replies_the_same: bool,
}

const fn same(name: &'static str, before: &'static [&'static str], call: &'static str) -> Scenario {
    Scenario {
        name,
        before,
        call,
        replies_the_same: true,
    }
}

/// A reply that says what was done: less is left to do for whoever repeats the call.
const fn counts(
    name: &'static str,
    before: &'static [&'static str],
    call: &'static str,
) -> Scenario {
    Scenario {
        name,
        before,
        call,
        replies_the_same: false,
    }
}

const N1: &str = "register n1 4 POOL a PAIR en fr LABEL gpu";
const N2: &str = "register n2 4 POOL a PAIR en fr LABEL gpu";
const DISPATCHED: &str = "dispatch s en fr p JOB j";
const UNDER_ACK: &str = "dispatch s en fr p JOB j ACK 5000";
const ACK: &str = "ack j n1";
const CANCEL: &str = "cancel j";

pub(crate) const SCENARIOS: &[Scenario] = &[
    same("the first node of a cell", &[], N1),
    same("a second node of the same class", &[N1], N2),
    same(
        "a second node of another class",
        &[N1],
        "register n2 2 POOL a POOL b PAIR en fr PAIR en de LABEL big REGION eu",
    ),
    same("a node again, unchanged", &[N1, DISPATCHED], N1),
    same(
        "a node again, of another class",
        &[N1, N2, DISPATCHED],
        "register n1 3 POOL b PAIR en de LABEL big",
    ),
    same(
        "a node again, the last of its class",
        &[N1, DISPATCHED],
        "register n1 3 POOL a POOL b PAIR en de PAIR en fr",
    ),
    same(
        "a node again, drained and into another class",
        &[N1, "drain n1 on"],
        "register n1 2 POOL b",
    ),
    same(
        "a new instance with holds",
        &[
            "register n1 4 INSTANCE x POOL a PAIR en fr",
            DISPATCHED,
            "dispatch s en fr q JOB k",
            "ack k n1",
        ],
        "register n1 4 INSTANCE y POOL a PAIR en fr",
    ),
    same(
        "a new instance with holds, of another class",
        &["register n1 4 INSTANCE x POOL a PAIR en fr", DISPATCHED],
        "register n1 2 INSTANCE y POOL b PAIR en de",
    ),
    same(
        "a node after it was lost",
        &[
            N1,
            DISPATCHED,
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
        ],
        N1,
    ),
    same(
        "a node after it was lost, of another class",
        &[
            N1,
            N2,
            "pass 9000",
            "heartbeat n2",
            "pass 9000",
            "heartbeat n2",
            "pass 9000",
            "heartbeat n2",
            "pass 9000",
            "sweep",
        ],
        "register n1 1 POOL z LABEL big",
    ),
    same(
        "a heartbeat",
        &[N1, DISPATCHED, "pass 3000"],
        "heartbeat n1",
    ),
    same(
        "a heartbeat with labels",
        &[N1, N2, DISPATCHED],
        "heartbeat n1 LABEL big LABEL gpu",
    ),
    same(
        "a heartbeat with labels of the last of a class",
        &[N1, DISPATCHED],
        "heartbeat n1 LABEL big CAPS {}",
    ),
    same(
        "a heartbeat with labels of a class that is there",
        &[N1, "register n2 4 POOL a PAIR en fr LABEL big", DISPATCHED],
        "heartbeat n1 LABEL big",
    ),
    same(
        "a heartbeat of a busy node",
        &[N1, DISPATCHED],
        "heartbeat n1 CPU 99 MEM 10 GPU -1",
    ),
    same(
        "a heartbeat of an offline node",
        &[N1],
        "heartbeat n1 ONLINE false",
    ),
    same(
        "a heartbeat with a total",
        &[N1, DISPATCHED, UNDER_ACK],
        "heartbeat n1 JOBS 3",
    ),
    same(
        "a heartbeat with foreign work and a stop",
        &[N1, DISPATCHED, ACK, CANCEL],
        "heartbeat n1 FOREIGN 2",
    ),
    same(
        "a heartbeat that looks at far deadlines",
        &[
            N1,
            "dispatch s en fr p JOB j TTL 5000000",
            "register n1 4 POOL a PAIR en fr LABEL gpu",
            "config heartbeat_ttl_ms 1800000",
            "heartbeat n1",
            "pass 1799000",
        ],
        "heartbeat n1",
    ),
    same("draining", &[N1, DISPATCHED], "drain n1 on"),
    same("draining no more", &[N1, "drain n1 on"], "drain n1 off"),
    counts("leaving without holds", &[N1, N2], "deregister n1"),
    counts(
        "leaving as the last of its class with holds",
        &[
            N1,
            DISPATCHED,
            "dispatch s en fr q JOB k",
            "ack k n1",
            "cancel k",
        ],
        "deregister n1",
    ),
    counts(
        "leaving with more holds than one call settles",
        &["register n1 40", "fill 30"],
        "deregister n1",
    ),
    counts(
        "leaving after it was lost",
        &[
            N1,
            DISPATCHED,
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
        ],
        "deregister n1",
    ),
    same("the first job of a session", &[N1, N2], DISPATCHED),
    same(
        "a further job of a session",
        &[N1, "dispatch s en fr p JOB i"],
        DISPATCHED,
    ),
    same("a job under ACK", &[N1], UNDER_ACK),
    same(
        "a job with a short run limit",
        &[N1],
        "dispatch s en fr p JOB j TTL 2000",
    ),
    same("a job without an id", &[N1, N2], "dispatch s en fr p"),
    same(
        "a job without an id under ACK",
        &[N1, N2, "dispatch s en fr p"],
        "dispatch s en fr p ACK -",
    ),
    same(
        "a job for the last slot",
        &["register n1 1"],
        "dispatch s - - p JOB j",
    ),
    same(
        "a job without pair while someone takes",
        &[N1, "take n1"],
        "dispatch s - - p JOB j POOL a REQUIRE gpu",
    ),
    same("a job again", &[N1, DISPATCHED], DISPATCHED),
    same("a reservation", &[N1], "reserve n1 j 5000"),
    same("a far reservation", &[N1], "reserve n1 j 5000000"),
    same(
        "a reservation again",
        &[N1, "reserve n1 j 5000", "pass 1000"],
        "reserve n1 j 5000",
    ),
    same(
        "a reservation after it was released",
        &[N1, "reserve n1 j 5000", "release j n1"],
        "reserve n1 j 5000",
    ),
    same("an acknowledgement", &[N1, DISPATCHED], ACK),
    same(
        "an acknowledgement under ACK",
        &[N1, UNDER_ACK, "pass 1100"],
        ACK,
    ),
    counts(
        "a take",
        &[
            N1,
            DISPATCHED,
            "dispatch s en fr q JOB k ACK 5000",
            "pass 1100",
        ],
        "take n1",
    ),
    same(
        "a take with REQUEST",
        &[N1, DISPATCHED, "dispatch s en fr q JOB k ACK 5000"],
        "take n1 REQUEST r",
    ),
    same(
        "a take with a stop",
        &[N1, DISPATCHED, ACK, CANCEL],
        "take n1 REQUEST r",
    ),
    counts(
        "releasing a reservation",
        &[N1, "reserve n1 j 5000"],
        "release j n1",
    ),
    counts(
        "releasing a dispatched job",
        &[N1, DISPATCHED],
        "release j n1",
    ),
    counts(
        "releasing a job under ACK",
        &[N1, UNDER_ACK],
        "release j n1",
    ),
    counts(
        "releasing what is to stop",
        &[N1, DISPATCHED, CANCEL],
        "release j n1",
    ),
    same(
        "finishing",
        &[N1, DISPATCHED, ACK],
        "complete j n1 finished RESULT r",
    ),
    same(
        "finishing what was not acknowledged",
        &[N1, UNDER_ACK],
        "complete j n1 finished",
    ),
    same(
        "finishing on a node that changed class",
        &[N1, DISPATCHED, ACK, "register n1 2 POOL b"],
        "complete j n1 finished",
    ),
    same(
        "failing",
        &[N1, DISPATCHED, ACK],
        "complete j n1 failed REASON why RESULT r",
    ),
    same(
        "having stopped what was cancelled",
        &[N1, DISPATCHED, ACK, CANCEL],
        "complete j n1 finished",
    ),
    same(
        "having stopped what ran too long",
        &[
            N1,
            "dispatch s en fr p JOB j TTL 2000",
            ACK,
            "pass 2500",
            "sweep",
        ],
        "complete j n1 failed",
    ),
    same(
        "extending",
        &[N1, DISPATCHED, ACK],
        "extend j n1 2000 PROGRESS half",
    ),
    same(
        "cancelling a reservation",
        &[N1, "reserve n1 j 5000"],
        "cancel j REASON why",
    ),
    same("cancelling a job under ACK", &[N1, UNDER_ACK], CANCEL),
    same("cancelling a dispatched job", &[N1, DISPATCHED], CANCEL),
    same("cancelling a running job", &[N1, DISPATCHED, ACK], CANCEL),
    same(
        "settings of a new cell",
        &[],
        "config heartbeat_ttl_ms 5000",
    ),
    same("settings", &[N1], "config heartbeat_ttl_ms 5000 events all"),
    counts(
        "sweeping a lost node",
        &[
            N1,
            DISPATCHED,
            "dispatch s en fr q JOB k",
            "ack k n1",
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
            "pass 4000",
        ],
        "sweep",
    ),
    counts(
        "sweeping a lost node's stopping job",
        &[
            N1,
            DISPATCHED,
            ACK,
            CANCEL,
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
            "pass 4000",
        ],
        "sweep",
    ),
    counts(
        "sweeping an overdue reservation",
        &[N1, UNDER_ACK, "pass 6000"],
        "sweep",
    ),
    counts(
        "sweeping a passed run limit before the acknowledgement",
        &[N1, "dispatch s en fr p JOB j TTL 2000", "pass 2500"],
        "sweep",
    ),
    counts(
        "sweeping a passed run limit",
        &[N1, "dispatch s en fr p JOB j TTL 2000", ACK, "pass 2500"],
        "sweep",
    ),
    counts(
        "sweeping a forgotten node",
        &[
            "config forget_node_ms 1000",
            N1,
            N2,
            "pass 9000",
            "heartbeat n2",
            "pass 9000",
            "heartbeat n2",
            "pass 9000",
            "heartbeat n2",
            "pass 9000",
            "sweep",
            "heartbeat n2",
            "pass 2000",
        ],
        "sweep",
    ),
    counts(
        "sweeping the boxes",
        &[
            "config keep_finished_ms 1000",
            N1,
            DISPATCHED,
            "complete j n1 failed",
            "dispatch s en fr p JOB k",
            "release k n1",
            "pass 2500",
        ],
        "sweep",
    ),
    counts(
        "sweeping after an outage",
        &[N1, UNDER_ACK, "pass 100000"],
        "sweep",
    ),
    same(
        "a job that settles a lost node first",
        &[
            N1,
            DISPATCHED,
            ACK,
            "dispatch s en fr p JOB k",
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
            "pass 9000",
            N2,
            "pass 4000",
        ],
        "dispatch s en fr p JOB m",
    ),
    same(
        "a job that settles a reservation of its node first",
        &["register n1 1", "reserve n1 i 1000", "pass 2000"],
        "dispatch s - - p JOB m",
    ),
    same(
        "a finish that settles another job first",
        &[
            N1,
            "dispatch s en fr p JOB i TTL 1000",
            "ack i n1",
            DISPATCHED,
            "pass 2000",
        ],
        "complete j n1 finished",
    ),
    same(
        "a registration that settles its own loss first",
        &[
            N1,
            DISPATCHED,
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
            "pass 9000",
            "sweep",
            "pass 4000",
        ],
        N1,
    ),
];
