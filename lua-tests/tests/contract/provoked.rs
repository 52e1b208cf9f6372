//! How each error of each function comes about: the calls before, and the call that is refused.

/// Function, code, calls before (with `pass <ms>` for time), the call's arguments.
pub(crate) type Row = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
);

pub(crate) const N1: &str = "register n1 1 POOL a PAIR en fr";
const N2: &str = "register n2 1 POOL b PAIR en de";
pub(crate) const ON_N1: &str = "dispatch s en fr p JOB j";
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

pub(crate) const Q: &str = "submit j p RETRIES 0";
pub(crate) const PULL: &str = "pull n1";
pub(crate) const FAILED: &str = "complete j n1 failed";
/// A deployment that N1 may claim.
pub(crate) const D: &str = "deploy d POOL a";
pub(crate) const CLAIM: &str = "claim n1";
/// A sample of a calm machine.
pub(crate) const CALM: &str = "n1 MEM 20 USED 2000 TOTAL 10000 AVAIL 8000 SWAP 0 CPU 10";
pub(crate) const HOT: &str =
    "tick n1 MEM 99 USED 9900 TOTAL 10000 AVAIL 100 SWAP 0 CPU 10 REQUEST q";

pub(crate) const ROWS: &[Row] = &[
    ("register", "STALE_NODE", &[N1], "n1 1 INCARNATION 7"),
    ("heartbeat", "UNKNOWN_NODE", &[], "n1"),
    ("heartbeat", "STALE_NODE", &LOST, "n1"),
    ("drain", "UNKNOWN_NODE", &[N1], "n2 on"),
    ("drain", "STALE_NODE", &[N1], "n1 on INCARNATION 7"),
    ("deregister", "UNKNOWN_NODE", &[N1], "n2"),
    ("deregister", "STALE_NODE", &[N1], "n1 INCARNATION 7"),
    ("node", "UNKNOWN_NODE", &[N1], "n2"),
    ("holds", "UNKNOWN_NODE", &[N1], "n2 0 10"),
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
    ("submit", "JOB_EXISTS", &[N1, Q], "j other RETRIES 0"),
    ("pull", "UNKNOWN_NODE", &[N1], "n2"),
    ("pull", "STALE_NODE", &LOST, "n1"),
    ("tick", "UNKNOWN_NODE", &[], CALM),
    ("tick", "STALE_NODE", &LOST, CALM),
    ("stopped", "UNKNOWN_NODE", &[N1, Q, PULL], "j n2 ok"),
    ("stopped", "NO_SUCH_JOB", &[N1], "j n1 ok"),
    ("stopped", "NODE_MISMATCH", &[N1, N2, Q, PULL], "j n2 ok"),
    (
        "stopped",
        "STALE_NODE",
        &[N1, Q, PULL],
        "j n1 ok INCARNATION 7",
    ),
    (
        "stopped",
        "WRONG_STATE",
        &[N1, ON_N1, "ack j n1"],
        "j n1 ok",
    ),
    ("undeploy", "NO_SUCH_DEPLOYMENT", &[N1, D], "e"),
    ("deployment", "NO_SUCH_DEPLOYMENT", &[N1, D], "e"),
    ("deployment", "NODE_MISMATCH", &[N1, D], "d NODE n1"),
    ("claim", "UNKNOWN_NODE", &[N1, D], "n2"),
    ("claim", "STALE_NODE", &LOST, "n1"),
    ("retry", "NO_SUCH_JOB", &[N1], "j"),
    ("retry", "WRONG_STATE", &[N1, Q, PULL], "j"),
    ("model_unavailable", "UNKNOWN_NODE", &[N1], "n2 m"),
    ("model_unavailable", "STALE_NODE", &LOST, "n1 m"),
    ("renew", "NO_SUCH_SESSION", &[N1], "s 1-1"),
    ("session", "NO_SUCH_SESSION", &[N1], "s"),
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
        ("stopped", "UNKNOWN_NODE", &[N1], "ghost n2 ok"),
        "NO_SUCH_JOB",
    ),
    (
        ("stopped", "UNKNOWN_NODE", &[N1, Q, PULL], "j n2 failed"),
        "NODE_MISMATCH",
    ),
    (
        ("stopped", "NO_SUCH_JOB", &[N1], "ghost n1 ok INCARNATION 7"),
        "STALE_NODE",
    ),
    (
        (
            "stopped",
            "NODE_MISMATCH",
            &[N1, N2, Q, PULL],
            "j n2 ok INCARNATION 7",
        ),
        "STALE_NODE",
    ),
    (
        (
            "stopped",
            "NODE_MISMATCH",
            &[N1, N2, Q, PULL, FAILED],
            "j n2 ok",
        ),
        "WRONG_STATE",
    ),
    (
        (
            "stopped",
            "STALE_NODE",
            &[N1, Q, PULL, FAILED],
            "j n1 ok INCARNATION 7",
        ),
        "WRONG_STATE",
    ),
    (
        (
            "complete",
            "NODE_MISMATCH",
            &[N1, N2, "submit j p", PULL, FAILED],
            "j n2 finished",
        ),
        "WRONG_STATE",
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
