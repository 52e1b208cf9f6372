//! What a node's end, and a call that is made at some moment while others are, say of its slots.

use super::{Told, told};
use crate::outcome::Rule;
use crate::wire::Answer;

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

/// A node of one slot that said nothing for longer than it may.
fn silent() -> Told {
    let spoken = told().node("n", 1, 1).ok("heartbeat", "n INCARNATION 1");
    spoken.after(60_000)
}

#[test]
fn a_slot_that_was_given_twice_while_its_node_was_silent_is_found() {
    let given = silent().dispatched("a", "n").dispatched("b", "n");
    given.breaks(Rule::NotOversold);
    // It was not even lost.
    let spoken = given.ok("heartbeat", "n INCARNATION 1");
    spoken.breaks(Rule::NotOversold);
}

#[test]
fn a_slot_of_a_node_that_was_silent_is_given_again_once_it_registers() {
    let held = || told().node("n", 1, 1).dispatched("a", "n").after(60_000);
    held().dispatched("b", "n").breaks(Rule::NotOversold);
    held().node("n", 1, 2).dispatched("b", "n").is_good();
    // Perhaps it did.
    let unheard = held().unheard("register", "n 1 INSTANCE i1");
    unheard.dispatched("b", "n").is_good();
}

#[test]
fn a_slot_that_was_given_is_given_once_even_if_it_was_free_soon() {
    let held = told().node("n", 1, 1).dispatched("a", "n");
    let ended = held.unheard("complete", "b n finished INCARNATION 1");
    ended.dispatched("b", "n").breaks(Rule::NotOversold);
}

#[test]
fn what_was_given_while_an_injury_may_undo_it_takes_no_slot_that_is_kept() {
    let held = told().node("n", 1, 1).dispatched("a", "n").after(5000);
    let mut given = held.killed().dispatched("b", "n").everysec();
    given.breaks(Rule::NotOversold);
    // Whoever gave it may have been another server, of which nothing is left.
    given.history.injuries[0].healed_us = given.now_us;
    given.is_good();
}

/// A job from the queue that a node has, which then is silent, so that another one may have it.
fn on_another_after_a_silence() -> Told {
    let nodes = told().node("n", 1, 1).node("m", 1, 2);
    let pulled = nodes.heard("submit", "a p", Answer::Int(1));
    let silent = pulled.pulled("a", 1, "n", "r1").after(60_000);
    silent.pulled("a", 2, "m", "r2")
}

#[test]
fn a_job_of_a_node_that_was_silent_may_go_to_another() {
    on_another_after_a_silence().is_good();
    on_another_after_a_silence().node("n", 1, 3).is_good();
}

#[test]
fn a_job_of_a_node_that_is_still_the_same_goes_to_no_other() {
    let spoken = on_another_after_a_silence().ok("heartbeat", "n INCARNATION 1");
    spoken.breaks(Rule::OnOneNode);
}

#[test]
fn a_node_whose_loss_was_undone_is_still_the_same() {
    let undone = on_another_after_a_silence().killed().everysec();
    undone.ok("heartbeat", "n INCARNATION 1").is_good();
}
