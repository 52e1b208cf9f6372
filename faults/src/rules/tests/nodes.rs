//! What a node's end, and a call that is made at some moment while others are, say of its slots.

use super::told;
use crate::outcome::Rule;

#[test]
fn what_is_given_while_a_node_registers_anew_may_have_ended_with_it() {
    let mut given = told()
        .node("n", 1, 1)
        .node("n", 1, 2)
        .dispatched("a", "n")
        .dispatched("b", "n");
    given.breaks(Rule::NotOversold);
    // The word of the new incarnation is answered after the grant.
    given.history.records[1].end_us = given.history.records[2].end_us + 1;
    given.is_good();
}

#[test]
fn what_is_given_after_a_node_was_answered_is_held() {
    let mut given = told()
        .node("n", 1, 1)
        .unheard("register", "n 1 INSTANCE i2")
        .node("n", 1, 2)
        .dispatched("a", "n")
        .dispatched("b", "n");
    given.breaks(Rule::NotOversold);
    // Until the node is answered, what it asked for may still be done.
    given.history.records[2].end_us = given.history.records[3].end_us + 1;
    given.is_good();
}
