//! A node of the largest description costs commands by its pools and by its pairs, not by one times the other: no call may hold the server for long.

use super::costs::calls_of;
use crate::cell::in_process;

const POOLS: usize = 64;
const PAIRS: usize = 256;
/// Per pool, and per pair: its attribute, its class's set, its count, both when it comes and when it goes.
const MOST: usize = 12 * (POOLS + PAIRS);

fn described(from: usize) -> String {
    let pools = (from..from + POOLS).map(|number| format!(" POOL p{number}"));
    let pairs = (from..from + PAIRS).map(|number| format!(" PAIR a{number} b{number}"));
    let options: String = pools.chain(pairs).collect();
    format!("register n 4{options}")
}

#[test]
fn a_node_of_the_largest_description_costs_by_its_pools_and_its_pairs() {
    let mut host = in_process();
    // It comes, changes into another that has nothing in common with it, and goes.
    for line in [described(0), described(1000), "deregister n".to_owned()] {
        let calls = calls_of(&mut host, &line);
        assert!(calls <= MOST, "{calls} calls for {line:.20}");
    }
}
