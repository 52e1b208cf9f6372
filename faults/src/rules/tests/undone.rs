//! A job whose end was kept, and that a node is said to have after that.

use super::{Told, text, told};
use crate::outcome::Rule;
use crate::wire::Answer;

impl Told {
    fn holds(self, state: &str, job: &str, node: &str) -> Self {
        let hold = Answer::List([state, job, "", "", ""].map(text).to_vec());
        let reply = Answer::List(vec![text("0"), Answer::List(vec![hold])]);
        self.heard("holds", &format!("{node} 0 100"), reply)
    }
}

fn finished() -> Told {
    told()
        .node("n", 1, 1)
        .dispatched("a", "n")
        .ok("complete", "a n finished ATTEMPT 1 INCARNATION 1")
}

fn failed() -> Told {
    told()
        .node("n", 1, 1)
        .heard("submit", "a p", Answer::Int(1))
        .pulled("a", 1, "n", "r1")
        .ok("complete", "a n failed ATTEMPT 1 INCARNATION 1")
}

#[test]
fn an_end_that_was_undone_is_found() {
    let again = "a n finished INCARNATION 1";
    finished()
        .holds("running", "a", "n")
        .ok("complete", again)
        .ends("a", Some("finished"))
        .breaks(Rule::JobKept);
}

#[test]
fn an_end_that_a_kill_may_undo_may_be_undone() {
    let killed = finished().killed().everysec();
    killed.holds("running", "a", "n").is_good();
}

#[test]
fn an_end_that_no_kill_may_undo_is_kept() {
    let killed = finished().after(5000).killed().everysec();
    killed.holds("running", "a", "n").breaks(Rule::JobKept);
}

#[test]
fn what_is_to_stop_has_ended_and_is_held() {
    finished().holds("stopping", "a", "n").is_good();
}

#[test]
fn a_try_that_failed_is_over() {
    failed().holds("running", "a", "n").breaks(Rule::JobKept);
}

#[test]
fn a_job_is_held_again_in_its_next_try() {
    let next = failed().pulled("a", 2, "n", "r2");
    next.holds("running", "a", "n").is_good();
}

#[test]
fn a_pull_that_was_not_answered_may_have_handed_it_out() {
    let next = failed().unheard("pull", "n COUNT 1 REQUEST r2");
    next.holds("running", "a", "n").is_good();
}
