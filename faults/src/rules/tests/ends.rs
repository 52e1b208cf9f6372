//! Jobs that expired, or failed although nobody said so: something must have brought it about.

use super::super::jobs::overtaken;
use super::{Told, fields, text, told};
use crate::outcome::Rule;
use crate::wire::{Answer, Said};

fn submitted() -> Told {
    told()
        .node("n", 1, 1)
        .heard("submit", "a p RETRIES 1", Answer::Int(1))
}

/// A job that its node has, and that waits so long to be acknowledged.
fn under_ack(ms: u64) -> Told {
    let reply = Answer::List(vec![text("n"), text("a")]);
    let line = format!("s - - p JOB a ACK {ms}");
    told().node("n", 1, 1).heard("dispatch", &line, reply)
}

#[test]
fn a_job_that_expired_on_a_node_that_was_there_is_found() {
    let made = told().node("n", 1, 1).dispatched("a", "n").after(1000);
    let spoken = made.ok("heartbeat", "n INCARNATION 1");
    spoken.ends("a", Some("expired")).breaks(Rule::JobKept);
}

#[test]
fn a_job_may_expire_when_its_node_begins_anew() {
    let made = told().node("n", 1, 1).dispatched("a", "n").node("n", 1, 2);
    made.ends("a", Some("expired")).is_good();
}

#[test]
fn a_job_does_not_expire_when_another_node_begins_anew() {
    let made = told().node("n", 1, 1).node("m", 1, 2).dispatched("a", "n");
    let anew = made.node("m", 1, 3);
    anew.ends("a", Some("expired")).breaks(Rule::JobKept);
}

#[test]
fn a_job_whose_node_was_not_told_may_expire_when_any_node_begins_anew() {
    let made = told().node("n", 1, 1).unheard("dispatch", "s - - p JOB a");
    let anew = made.node("n", 1, 2);
    anew.ends("a", Some("expired")).is_good();
}

#[test]
fn what_comes_after_a_job_was_seen_to_be_expired_is_no_cause() {
    told()
        .node("n", 1, 1)
        .dispatched("a", "n")
        .heard("job", "a", fields(&[("status", text("expired"))]))
        .node("n", 1, 2)
        .ends("a", Some("expired"))
        .breaks(Rule::JobKept);
}

#[test]
fn what_comes_after_a_node_was_told_that_its_job_has_ended_is_no_cause() {
    let refused = Said::Refused("WRONG_STATE job a is expired".to_owned());
    told()
        .node("n", 1, 1)
        .dispatched("a", "n")
        .call("complete", "a n finished INCARNATION 1", refused)
        .node("n", 1, 2)
        .ends("a", Some("expired"))
        .breaks(Rule::JobKept);
}

#[test]
fn a_job_that_nobody_acknowledged_may_expire() {
    let late = under_ack(1000).after(1000).ok("sweep", "");
    late.ends("a", Some("expired")).is_good();
}

#[test]
fn a_job_that_was_handed_over_in_time_does_not_expire_for_want_of_it() {
    let taken = under_ack(1000).handed("take", "a", 1, "n", "r1");
    let late = taken.after(1000).ok("sweep", "");
    late.ends("a", Some("expired")).breaks(Rule::JobKept);
}

#[test]
fn a_job_from_the_queue_does_not_expire_with_its_node() {
    let anew = submitted().pulled("a", 1, "n", "r1").node("n", 1, 2);
    anew.ends("a", Some("expired")).breaks(Rule::JobKept);
}

#[test]
fn a_job_that_expired_by_a_jump_of_the_clock_is_counted() {
    let jumped = told().node("n", 1, 1).dispatched("a", "n").jumped();
    let jumped = jumped.ok("sweep", "").ends("a", Some("expired"));
    jumped.is_good();
    assert_eq!(overtaken(&jumped.history, &jumped.ends), 1);
}

#[test]
fn a_job_that_may_have_expired_with_its_node_is_not_counted() {
    let jumped = told().node("n", 1, 1).dispatched("a", "n").jumped();
    let anew = jumped.node("n", 1, 2).ends("a", Some("expired"));
    assert_eq!(overtaken(&anew.history, &anew.ends), 0);
}

#[test]
fn a_job_from_the_queue_that_failed_by_itself_is_found() {
    let pulled = submitted().pulled("a", 1, "n", "r1");
    pulled.ends("a", Some("failed")).breaks(Rule::JobKept);
}

#[test]
fn a_job_from_the_queue_fails_when_its_tries_are_lost() {
    let lost_once = || submitted().pulled("a", 1, "n", "r1").node("n", 1, 2);
    lost_once().ends("a", Some("failed")).breaks(Rule::JobKept);
    let lost_twice = lost_once().pulled("a", 2, "n", "r2").node("n", 1, 3);
    lost_twice.ends("a", Some("failed")).is_good();
}

#[test]
fn a_job_may_expire_when_its_node_is_silent() {
    let silent = || told().node("n", 1, 1).dispatched("a", "n").after(60_000);
    let expired = |told: Told| told.ok("sweep", "").ends("a", Some("expired"));
    expired(silent()).is_good();
    expired(silent().node("n", 1, 2)).is_good();
    let same = silent().ok("heartbeat", "n INCARNATION 1");
    expired(same).breaks(Rule::JobKept);
}
