//! What each call costs where there are deployments, in commands: what the headers of the functions add up to.

use super::costs::{calls_of, promised};
use crate::{after, run};

const N1: &str = "register n1 4 PAIR en fr";
const N2: &str = "register n2 4 PAIR en fr";
const D: &str = "deploy d";
const CLAIM: &str = "claim n1";
/// The cell has had a deployment, and who may claim is known.
const WARM: [&str; 2] = ["deploy warm", "undeploy warm"];

/// Calls after N1, N2 and WARM: what comes before, the call, and which of its header's numbers add up to its cost.
const DEPLOYED: &[(&[&str], &str, &[usize])] = &[
    (&[], D, &[0]),
    (&[D], D, &[4]),
    (&[D, CLAIM], "deploy d SPEC s", &[5]),
    (&[D, CLAIM], "deploy d ENABLED false", &[6]),
    (&[D], "undeploy d", &[0]),
    (&[D, CLAIM], "undeploy d", &[0, 1]),
    (&[], CLAIM, &[0]),
    (&[D], CLAIM, &[0, 1]),
    (&[D], "claim n1 REQUEST q", &[0, 1, 2]),
    (&[D, CLAIM, "undeploy d"], CLAIM, &[0, 3]),
    (&[D, "claim n1 REQUEST q"], "claim n1 REQUEST q", &[4]),
    (&[D], "deployment d", &[0]),
    (&[D, CLAIM], "deployment d", &[0, 1]),
    (&[], "deployments 0 9", &[0]),
    (&[D, "deploy e"], "deployments 0 9", &[0, 1, 1]),
    (
        &[D, "deploy e", CLAIM, "claim n2"],
        "deployments 0 9",
        &[0, 2, 2],
    ),
];

/// The first deployment of a cell with so many nodes has their places made.
const FIRST: &[(&[&str], &[usize])] = &[
    (&[], &[0, 1, 3]),
    (&["register n1 4"], &[0, 1, 2]),
    (&["register n1 4", "register n2 4"], &[0, 1, 2, 2]),
];

fn wrong(before: &[&str], line: &str, calls: usize, parts: &[usize]) -> Option<String> {
    let numbers = promised(line.split(' ').next().unwrap());
    let said: usize = parts.iter().map(|part| numbers[*part]).sum();
    let told = || format!("{line} after {before:?}: {calls} calls, its header says {said}");
    (calls != said).then(told)
}

#[test]
fn each_call_on_deployments_costs_what_the_headers_say() {
    let mut all = Vec::new();
    for (before, line, parts) in DEPLOYED {
        let mut host = after(&[N1, N2]);
        run(&mut host, &WARM);
        run(&mut host, before);
        all.extend(wrong(before, line, calls_of(&mut host, line), parts));
    }
    for (before, parts) in FIRST {
        let calls = calls_of(&mut after(before), D);
        all.extend(wrong(before, D, calls, parts));
    }
    assert_eq!(all, Vec::<String>::new());
}

/// What each of these costs more once the cell has had a deployment, for a node of one pool: its place there is set.
const DEARER: &[(&str, usize)] = &[
    ("heartbeat n1", 0),
    ("heartbeat n1 CPU 5", 5),
    ("heartbeat n1 JOBS 3", 0),
    ("drain n1 on", 5),
    ("drain n1 off", 0),
    ("register n1 4 PAIR en fr", 5),
    ("register n3 4 PAIR en fr", 5),
    ("deregister n1", 4),
    ("dispatch s - - p JOB j", 0),
    ("submit j p", 0),
    ("pull n1", 0),
];

#[test]
fn a_cell_that_had_a_deployment_pays_for_the_places_of_nodes_and_nothing_else() {
    for (line, more) in DEARER {
        let mut host = after(&[N1, N2]);
        let without = calls_of(&mut host, line);
        let mut host = after(&[N1, N2]);
        run(&mut host, &WARM);
        let with = calls_of(&mut host, line);
        assert_eq!(with, without + more, "{line}");
    }
}
