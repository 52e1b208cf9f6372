//! How each error of each function comes about: the calls before, and the call that is refused.

/// Function, code, calls before (with `pass <ms>` for time), the call's arguments.
pub(crate) type Row = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
);

const N1: &str = "register n1 1 POOL a PAIR en fr";
const N2: &str = "register n2 1 POOL b PAIR en de";
const ON_N1: &str = "dispatch s en fr p JOB j";
/// No call for longer than presence lasts is an outage, so the time passes in steps.
const LOST: [&str; 10] = [
    N1,
    ON_N1,
    "pass 9000",
    "sweep",
    "pass 9000",
    "sweep",
    "pass 9000",
    "sweep",
    "pass 9000",
    "sweep",
];

pub(crate) const ROWS: &[Row] = &[
    ("register", "STALE_NODE", &[N1], "n1 1 INCARNATION 7"),
    ("heartbeat", "UNKNOWN_NODE", &[], "n1"),
    ("heartbeat", "STALE_NODE", &LOST, "n1"),
    ("drain", "UNKNOWN_NODE", &[N1], "n2 on"),
    ("drain", "STALE_NODE", &[N1], "n1 on INCARNATION 7"),
    ("deregister", "UNKNOWN_NODE", &[N1], "n2"),
    ("deregister", "STALE_NODE", &[N1], "n1 INCARNATION 7"),
    ("node", "UNKNOWN_NODE", &[N1], "n2"),
    (
        "dispatch",
        "WRONG_STATE",
        &[N1, ON_N1, "cancel j"],
        "s en fr p JOB j",
    ),
    (
        "dispatch",
        "JOB_EXISTS",
        &["register n1 2", "dispatch s - - p JOB j"],
        "s - - other JOB j",
    ),
    ("dispatch", "NO_POOL_FOR_LANG_PAIR", &[N1], "s en de p"),
    ("dispatch", "EMPTY_POOL", &[N1], "s en fr p POOL b"),
    ("dispatch", "NO_AVAILABLE_NODE", &[N1, ON_N1], "s en fr p"),
    ("reserve", "UNKNOWN_NODE", &[], "n1 j 5000"),
    (
        "reserve",
        "NODE_MISMATCH",
        &[N1, N2, "reserve n1 j 5000"],
        "n2 j 5000",
    ),
    (
        "reserve",
        "WRONG_STATE",
        &[N1, "reserve n1 j 5000", "cancel j"],
        "n1 j 5000",
    ),
    ("reserve", "JOB_EXISTS", &[N1, ON_N1], "n1 j 5000"),
    ("ack", "UNKNOWN_NODE", &[N1, ON_N1], "j n2"),
    ("ack", "NO_SUCH_JOB", &[N1], "j n1"),
    ("ack", "NODE_MISMATCH", &[N1, N2, ON_N1], "j n2"),
    ("ack", "STALE_NODE", &[N1, ON_N1], "j n1 INCARNATION 7"),
    ("ack", "WRONG_STATE", &[N1, ON_N1, "cancel j"], "j n1"),
    ("take", "UNKNOWN_NODE", &[], "n1"),
    ("take", "STALE_NODE", &LOST, "n1"),
    ("release", "UNKNOWN_NODE", &[N1, ON_N1], "j n2"),
    ("release", "NODE_MISMATCH", &[N1, N2, ON_N1], "j n2"),
    ("release", "STALE_NODE", &[N1, ON_N1], "j n1 INCARNATION 7"),
    ("release", "WRONG_STATE", &[N1, ON_N1, "ack j n1"], "j n1"),
    ("complete", "UNKNOWN_NODE", &[N1, ON_N1], "j n2 finished"),
    ("complete", "NO_SUCH_JOB", &[N1], "j n1 finished"),
    (
        "complete",
        "NODE_MISMATCH",
        &[N1, N2, ON_N1],
        "j n2 finished",
    ),
    ("complete", "STALE_NODE", &LOST, "j n1 finished"),
    (
        "complete",
        "WRONG_STATE",
        &[N1, ON_N1, "complete j n1 failed"],
        "j n1 finished",
    ),
    ("extend", "UNKNOWN_NODE", &[N1, ON_N1], "j n2 5000"),
    ("extend", "NO_SUCH_JOB", &[N1], "j n1 5000"),
    ("extend", "NODE_MISMATCH", &[N1, N2, ON_N1], "j n2 5000"),
    (
        "extend",
        "STALE_NODE",
        &[N1, ON_N1],
        "j n1 5000 INCARNATION 7",
    ),
    (
        "extend",
        "WRONG_STATE",
        &[N1, "reserve n1 j 5000"],
        "j n1 5000",
    ),
    ("cancel", "NO_SUCH_JOB", &[], "j"),
    (
        "cancel",
        "WRONG_STATE",
        &[N1, ON_N1, "complete j n1 finished"],
        "j",
    ),
    ("job", "NO_SUCH_JOB", &[N1], "j"),
    ("bind", "NO_POOL_FOR_LANG_PAIR", &[N1], "s r PAIR en de"),
    ("bind", "EMPTY_POOL", &[N1], "s r POOL b"),
    ("bind", "NO_AVAILABLE_NODE", &[N1, ON_N1], "s r"),
    (
        "bind",
        "LEASE_MISMATCH",
        &[N1, "bind s r", "bind s q PREEMPT"],
        "s r",
    ),
    ("model_unavailable", "UNKNOWN_NODE", &[N1], "n2 m"),
    ("model_unavailable", "STALE_NODE", &LOST, "n1 m"),
    ("renew", "NO_SUCH_SESSION", &[N1], "s 1-1"),
    ("renew", "LEASE_MISMATCH", &[N1, "bind s r"], "s 1-1"),
];

/// Two things are wrong at once: the code of the row is the one given, the code last is the other.
pub(crate) const BOTH: &[(Row, &str)] = &[
    (("ack", "UNKNOWN_NODE", &[N1], "ghost n2"), "NO_SUCH_JOB"),
    (
        ("complete", "UNKNOWN_NODE", &[N1], "ghost n2 finished"),
        "NO_SUCH_JOB",
    ),
    (
        ("extend", "UNKNOWN_NODE", &[N1, ON_N1], "j n2 5000"),
        "NODE_MISMATCH",
    ),
    (
        ("release", "UNKNOWN_NODE", &[N1, ON_N1], "j n2"),
        "NODE_MISMATCH",
    ),
    (
        (
            "reserve",
            "UNKNOWN_NODE",
            &[N1, "reserve n1 j 5000"],
            "n2 j 5000",
        ),
        "NODE_MISMATCH",
    ),
    (
        ("reserve", "UNKNOWN_NODE", &[N1, ON_N1], "n2 j 5000"),
        "JOB_EXISTS",
    ),
    (
        ("ack", "NO_SUCH_JOB", &[N1], "ghost n1 INCARNATION 7"),
        "STALE_NODE",
    ),
    (
        (
            "complete",
            "NO_SUCH_JOB",
            &[N1],
            "ghost n1 finished INCARNATION 7",
        ),
        "STALE_NODE",
    ),
    (
        (
            "ack",
            "NODE_MISMATCH",
            &[N1, N2, ON_N1],
            "j n2 INCARNATION 7",
        ),
        "STALE_NODE",
    ),
    (
        (
            "extend",
            "NODE_MISMATCH",
            &[N1, N2, ON_N1],
            "j n2 5000 INCARNATION 7",
        ),
        "STALE_NODE",
    ),
    (
        (
            "release",
            "NODE_MISMATCH",
            &[N1, N2, ON_N1],
            "j n2 INCARNATION 7",
        ),
        "STALE_NODE",
    ),
    (
        (
            "release",
            "NODE_MISMATCH",
            &[N1, N2, ON_N1, "ack j n1"],
            "j n2",
        ),
        "WRONG_STATE",
    ),
    (
        (
            "complete",
            "NODE_MISMATCH",
            &[N1, N2, ON_N1, "complete j n1 finished"],
            "j n2 failed",
        ),
        "WRONG_STATE",
    ),
    (
        ("reserve", "NODE_MISMATCH", &[N1, N2, ON_N1], "n2 j 5000"),
        "JOB_EXISTS",
    ),
    (
        (
            "reserve",
            "NODE_MISMATCH",
            &[N1, N2, "reserve n1 j 5000", "cancel j"],
            "n2 j 5000",
        ),
        "WRONG_STATE",
    ),
    (
        (
            "ack",
            "STALE_NODE",
            &[N1, ON_N1, "cancel j"],
            "j n1 INCARNATION 7",
        ),
        "WRONG_STATE",
    ),
    (
        (
            "release",
            "STALE_NODE",
            &[N1, ON_N1, "ack j n1"],
            "j n1 INCARNATION 7",
        ),
        "WRONG_STATE",
    ),
    (
        (
            "complete",
            "STALE_NODE",
            &[N1, ON_N1, "complete j n1 failed"],
            "j n1 finished INCARNATION 7",
        ),
        "WRONG_STATE",
    ),
    (
        (
            "extend",
            "STALE_NODE",
            &[N1, ON_N1, "cancel j"],
            "j n1 5000 INCARNATION 7",
        ),
        "WRONG_STATE",
    ),
    (
        (
            "dispatch",
            "WRONG_STATE",
            &[N1, ON_N1, "cancel j"],
            "s en fr p JOB j",
        ),
        "NO_AVAILABLE_NODE",
    ),
    (
        (
            "dispatch",
            "JOB_EXISTS",
            &[N1, ON_N1],
            "s en fr other JOB j",
        ),
        "NO_AVAILABLE_NODE",
    ),
    (
        ("dispatch", "JOB_EXISTS", &[N1, ON_N1], "s fi sv p JOB j"),
        "NO_POOL_FOR_LANG_PAIR",
    ),
    (
        (
            "dispatch",
            "JOB_EXISTS",
            &[N1, ON_N1],
            "s en fr other JOB j POOL z",
        ),
        "EMPTY_POOL",
    ),
    (
        (
            "dispatch",
            "NO_POOL_FOR_LANG_PAIR",
            &[N1],
            "s fi sv p POOL z",
        ),
        "EMPTY_POOL",
    ),
    (
        ("dispatch", "EMPTY_POOL", &[N1, ON_N1], "s en fr p POOL z"),
        "NO_AVAILABLE_NODE",
    ),
    (
        ("bind", "EMPTY_POOL", &[N1, ON_N1], "s r POOL z"),
        "NO_AVAILABLE_NODE",
    ),
    (
        (
            "bind",
            "NO_POOL_FOR_LANG_PAIR",
            &[N1],
            "s r PAIR fi sv POOL z",
        ),
        "EMPTY_POOL",
    ),
];

/// A call of each function that the contract allows, on a cell with one node, a job on it and the session b bound to it.
pub(crate) const ALLOWED: &[(&str, &str)] = &[
    ("register", "n2 1"),
    ("heartbeat", "n1"),
    ("drain", "n1 on"),
    ("deregister", "n1"),
    ("node", "n1"),
    ("nodes", "0 10"),
    ("dispatch", "s - - p"),
    ("reserve", "n1 k 5000"),
    ("ack", "j n1"),
    ("take", "n1"),
    ("release", "j n1"),
    ("complete", "j n1 finished"),
    ("extend", "j n1 5000"),
    ("cancel", "j"),
    ("job", "j"),
    ("jobs", "dispatched 0 10"),
    ("bind", "s r"),
    ("renew", "b 1-1767225600000"),
    ("unbind", "b 1-1767225600000"),
    ("model_unavailable", "n1 m"),
    ("limit", "l 2 1000"),
    ("lock", "l a 1000"),
    ("unlock", "l a"),
    ("config", "events all"),
    ("stats", ""),
    ("snapshot", ""),
    ("overview", ""),
    ("explain", "s - -"),
    ("check", ""),
    ("sweep", ""),
    ("events", "- 10"),
    ("listen", ""),
    ("version", ""),
];

/// A call of each write function that changes something, and what comes before it.
pub(crate) const CHANGING: &[(&[&str], &str)] = &[
    (&[], "register n1 4 POOL a PAIR en fr LABEL gpu INSTANCE i"),
    (&[N1, "pass 100"], "heartbeat n1 CPU 99 LABEL gpu JOBS 3"),
    (&[N1], "drain n1 on"),
    (&[N1, ON_N1], "deregister n1"),
    (&[N1], "dispatch s en fr p JOB j"),
    (&[N1, "bind s r"], "dispatch s en fr p JOB j"),
    (&[N1], "reserve n1 j 5000"),
    (&[N1, ON_N1], "ack j n1"),
    (&[N1, ON_N1], "take n1 REQUEST q"),
    (&[N1, ON_N1], "release j n1"),
    (&[N1, "reserve n1 j 5000"], "release j n1"),
    (&[N1, ON_N1], "complete j n1 finished RESULT r"),
    (&[N1, ON_N1], "complete j n1 failed REASON r"),
    (&[N1, "bind s r", ON_N1], "complete j n1 finished"),
    (&[N1, ON_N1, "pass 100"], "extend j n1 5000 PROGRESS half"),
    (&[N1, ON_N1], "cancel j"),
    (&[N1, ON_N1, "ack j n1"], "cancel j REASON r"),
    (&[N1], "bind s r LEASE 5000"),
    (&[N1, "bind s q"], "bind s r PREEMPT"),
    (
        &[N1, "bind s r LEASE 5000", "pass 100"],
        "renew s 1-1767225600000 LEASE 9000",
    ),
    (&[N1, "bind s r"], "unbind s 1-1767225600000"),
    (
        &["register n1 4 LABEL model:m@1"],
        "model_unavailable n1 m@1 REQUEST q",
    ),
    (&[N1], "limit l 1 5000 REQUEST q"),
    (&[N1, "limit l 1 5000"], "limit l 1 5000 REQUEST q"),
    (&[N1], "lock l a 5000"),
    (&[N1, "lock l a 5000"], "unlock l a"),
    (&[N1], "config job_ttl_ms 5000 events all"),
    (&[N1, ON_N1], "snapshot"),
    (
        &[N1, "dispatch s en fr p JOB j ACK 1000", "pass 2000"],
        "sweep",
    ),
    (&[N1, "bind s r LEASE 1000", "pass 2000"], "sweep"),
    (&[N1], "listen"),
];
