//! Made-up histories: each rule finds what breaks it, and nothing where nothing does.

mod ends;
mod nodes;
mod sight;
mod undone;

use std::sync::Arc;
use std::time::Duration;

use super::{Ends, judge, recovery};
use crate::history::{Durability, History, Injury, Record};
use crate::outcome::{Rule, Violation};
use crate::wire::{Answer, Said};

const ROOT: &str = "scheduler:{main}";

/// A history that is told call by call. Calls follow each other, a millisecond each, unless something else is said.
struct Told {
    history: History,
    ends: Ends,
    now_us: u64,
}

fn text(text: &str) -> Answer {
    Answer::Text(text.to_owned())
}

fn fields(pairs: &[(&str, Answer)]) -> Answer {
    let flat = pairs
        .iter()
        .flat_map(|(name, value)| [text(name), value.clone()]);
    Answer::List(flat.collect())
}

fn told() -> Told {
    Told {
        history: History {
            records: Vec::new(),
            injuries: Vec::new(),
            durability: Durability::Answered,
            heartbeat_ttl_ms: 60_000,
        },
        ends: Ends::new(),
        now_us: 1000,
    }
}

impl Told {
    fn call(mut self, function: &'static str, line: &str, said: Said) -> Self {
        self.history.records.push(Record {
            root: Arc::from(ROOT),
            function,
            args: line.split(' ').map(str::to_owned).collect(),
            start_us: self.now_us,
            end_us: self.now_us + 500,
            said,
            is_confirmed: false,
        });
        self.now_us += 1000;
        self
    }

    fn heard(self, function: &'static str, line: &str, reply: Answer) -> Self {
        self.call(function, line, Said::Reply(reply))
    }

    fn ok(self, function: &'static str, line: &str) -> Self {
        self.heard(function, line, text("OK"))
    }

    fn unheard(self, function: &'static str, line: &str) -> Self {
        self.call(function, line, Said::Maybe("no reply".to_owned()))
    }

    fn node(self, name: &str, max_jobs: u64, incarnation: i64) -> Self {
        let reply = fields(&[("incarnation", Answer::Int(incarnation))]);
        let line = format!("{name} {max_jobs} INSTANCE i{incarnation}");
        self.heard("register", &line, reply)
    }

    fn dispatched(self, job: &str, node: &str) -> Self {
        let reply = Answer::List(vec![text(node), text(job)]);
        self.heard("dispatch", &format!("s - - p JOB {job}"), reply)
    }

    fn pulled(self, job: &str, attempt: i64, node: &str, request: &str) -> Self {
        self.handed("pull", job, attempt, node, request)
    }

    fn handed(
        self,
        function: &'static str,
        job: &str,
        attempt: i64,
        node: &str,
        request: &str,
    ) -> Self {
        let item = fields(&[
            ("job_id", text(job)),
            ("session_id", text("")),
            ("attempt", Answer::Int(attempt)),
        ]);
        let reply = Answer::List(vec![Answer::List(vec![item]), Answer::List(Vec::new())]);
        self.heard(
            function,
            &format!("{node} COUNT 1 REQUEST {request}"),
            reply,
        )
    }

    fn bound(self, session: &str, request: &str, lease: &str) -> Self {
        let reply = fields(&[
            ("state", text("bound")),
            ("node_id", text("n")),
            ("lease_id", text(lease)),
        ]);
        self.heard(
            "bind",
            &format!("{session} {request} LEASE 10 PREEMPT"),
            reply,
        )
    }

    fn locked(self, owner: &str, token: i64) -> Self {
        let reply = Answer::List(vec![Answer::Int(1), Answer::Int(token)]);
        self.heard("lock", &format!("l {owner} 60000"), reply)
    }

    fn ends(mut self, job: &str, status: Option<&str>) -> Self {
        let key = (Arc::from(ROOT), job.to_owned());
        self.ends.insert(key, status.map(str::to_owned));
        self
    }

    fn after(mut self, ms: u64) -> Self {
        self.now_us += ms * 1000;
        self
    }

    /// The server dies, and is there again at once.
    fn killed(mut self) -> Self {
        self.history.injuries.push(Injury {
            begin_us: self.now_us,
            mended_us: self.now_us + 100,
            healed_us: self.now_us + 100,
            moves_time: false,
        });
        self.now_us += 1000;
        self
    }

    /// The server's clock jumps.
    fn jumped(self) -> Self {
        let mut jumped = self.killed();
        if let Some(injury) = jumped.history.injuries.last_mut() {
            injury.moves_time = true;
        }
        jumped
    }

    fn everysec(mut self) -> Self {
        self.history.durability = Durability::AnsweredBefore(Duration::from_secs(2));
        self
    }

    fn found(&self) -> Vec<Violation> {
        judge(&self.history, &self.ends)
    }

    #[track_caller]
    fn breaks(&self, rule: Rule) {
        let found = self.found();
        assert!(found.iter().any(|one| one.rule == rule), "{found:#?}");
    }

    #[track_caller]
    fn is_good(&self) {
        let found = self.found();
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn a_slot_that_was_given_twice_is_found() {
    told()
        .node("n", 1, 1)
        .dispatched("a", "n")
        .dispatched("b", "n")
        .breaks(Rule::NotOversold);
}

#[test]
fn a_slot_that_may_have_been_given_back_may_be_given_again() {
    told()
        .node("n", 1, 1)
        .dispatched("a", "n")
        .unheard("complete", "a n finished INCARNATION 1")
        .dispatched("b", "n")
        .is_good();
}

#[test]
fn a_refused_word_gives_no_slot_back() {
    let refused = Said::Refused("STALE_NODE it is".to_owned());
    told()
        .node("n", 1, 1)
        .dispatched("a", "n")
        .call("complete", "a n finished INCARNATION 1", refused)
        .dispatched("b", "n")
        .breaks(Rule::NotOversold);
}

#[test]
fn a_grant_that_an_injury_may_have_undone_takes_no_slot_after_it() {
    let given = told().node("n", 1, 1).after(5000).dispatched("a", "n");
    given.killed().dispatched("b", "n").everysec().is_good();
}

#[test]
fn a_grant_that_no_injury_may_undo_takes_its_slot_after_it() {
    let given = told().node("n", 1, 1).dispatched("a", "n").after(5000);
    given
        .killed()
        .dispatched("b", "n")
        .everysec()
        .breaks(Rule::NotOversold);
}

#[test]
fn foreign_work_takes_slots() {
    let busy = told()
        .node("n", 2, 1)
        .ok("heartbeat", "n FOREIGN 1 INCARNATION 1")
        .dispatched("a", "n");
    busy.is_good();
    busy.dispatched("b", "n").breaks(Rule::NotOversold);
}

#[test]
fn what_is_handed_over_was_given_when_it_was_dispatched() {
    told()
        .node("n", 1, 1)
        .unheard("dispatch", "s - - p JOB a")
        .ok("heartbeat", "n FOREIGN 1 INCARNATION 1")
        .handed("take", "a", 1, "n", "q1")
        .is_good();
    // Nobody asked for it before.
    told()
        .node("n", 1, 1)
        .ok("heartbeat", "n FOREIGN 1 INCARNATION 1")
        .handed("pull", "a", 1, "n", "q1")
        .breaks(Rule::NotOversold);
}

#[test]
fn what_is_handed_over_may_also_have_been_given_when_it_was_reserved() {
    told()
        .node("n", 1, 1)
        .unheard("reserve", "n a 60000")
        .ok("heartbeat", "n FOREIGN 1 INCARNATION 1")
        .handed("take", "a", 1, "n", "q1")
        .is_good();
}

#[test]
fn a_reservation_that_was_not_acknowledged_in_time_takes_no_slot() {
    let reserved = || {
        let one = Answer::Int(1);
        told().node("n", 1, 1).heard("reserve", "n a 1000", one)
    };
    reserved().dispatched("b", "n").breaks(Rule::NotOversold);
    reserved().after(1000).dispatched("b", "n").is_good();
}

#[test]
fn a_job_on_two_nodes_is_found() {
    told()
        .node("n", 2, 1)
        .node("m", 2, 2)
        .heard("submit", "a p", Answer::Int(1))
        .pulled("a", 1, "n", "r1")
        .pulled("a", 2, "m", "r2")
        .breaks(Rule::OnOneNode);
}

#[test]
fn a_try_that_was_handed_out_twice_is_found() {
    told()
        .node("n", 2, 1)
        .heard("submit", "a p", Answer::Int(1))
        .pulled("a", 1, "n", "r1")
        .ok("complete", "a n failed ATTEMPT 1 INCARNATION 1")
        .pulled("a", 1, "n", "r2")
        .breaks(Rule::OnOneNode);
}

#[test]
fn the_same_request_may_be_answered_again() {
    told()
        .node("n", 1, 1)
        .heard("submit", "a p", Answer::Int(1))
        .pulled("a", 1, "n", "r1")
        .pulled("a", 1, "n", "r1")
        .is_good();
}

#[test]
fn a_job_that_was_acknowledged_and_is_gone_is_found() {
    let made = told().node("n", 1, 1).dispatched("a", "n");
    made.ends("a", None).breaks(Rule::JobKept);
}

#[test]
fn a_job_that_was_never_acknowledged_may_be_gone() {
    let made = told().node("n", 1, 1).unheard("dispatch", "s - - p JOB a");
    made.ends("a", None).is_good();
}

#[test]
fn a_job_that_never_ends_is_found() {
    let made = told().node("n", 1, 1).dispatched("a", "n");
    made.ends("a", Some("running")).breaks(Rule::JobKept);
}

#[test]
fn an_end_that_nobody_brought_about_is_found() {
    let made = told().node("n", 1, 1).dispatched("a", "n");
    made.ends("a", Some("finished")).breaks(Rule::JobKept);
}

#[test]
fn a_second_end_is_found() {
    told()
        .node("n", 1, 1)
        .dispatched("a", "n")
        .ok("complete", "a n failed INCARNATION 1")
        .heard("job", "a", fields(&[("status", text("failed"))]))
        .unheard("complete", "a n finished INCARNATION 1")
        .ends("a", Some("finished"))
        .breaks(Rule::JobKept);
}

#[test]
fn a_cancellation_that_was_undone_is_found() {
    told()
        .node("n", 1, 1)
        .dispatched("a", "n")
        .ok("complete", "a n finished INCARNATION 1")
        .ok("cancel", "a")
        .ends("a", Some("finished"))
        .breaks(Rule::JobKept);
}

#[test]
fn a_slot_that_was_given_back_twice_is_found() {
    let one = || Answer::Int(1);
    told()
        .node("n", 1, 1)
        .heard("reserve", "n a 1000", one())
        .heard("release", "a n", one())
        .heard("release", "a n", one())
        .breaks(Rule::FreedOnce);
}

#[test]
fn a_second_release_that_gives_nothing_back_is_right() {
    told()
        .node("n", 1, 1)
        .heard("reserve", "n a 1000", Answer::Int(1))
        .heard("release", "a n", Answer::Int(1))
        .heard("release", "a n", Answer::Int(0))
        .is_good();
}

#[test]
fn an_effect_of_an_older_incarnation_is_found() {
    told()
        .node("n", 1, 1)
        .node("n", 1, 2)
        .ok("heartbeat", "n INCARNATION 1")
        .breaks(Rule::Fenced);
}

#[test]
fn an_incarnation_that_was_given_twice_is_found() {
    let reply = || fields(&[("incarnation", Answer::Int(1))]);
    told()
        .heard("register", "n 1 INSTANCE a", reply())
        .heard("register", "m 1 INSTANCE b", reply())
        .breaks(Rule::Fenced);
}

#[test]
fn an_effect_of_a_superseded_lease_is_found() {
    told()
        .node("n", 9, 1)
        .bound("b", "r1", "1-5")
        .bound("b", "r2", "2-6")
        .heard("unbind", "b 1-5", Answer::Int(1))
        .breaks(Rule::Fenced);
}

#[test]
fn a_token_that_does_not_grow_is_found() {
    told()
        .locked("o", 7)
        .heard("unlock", "l o", Answer::Int(1))
        .locked("p", 7)
        .breaks(Rule::Fenced);
}

#[test]
fn a_lock_with_two_owners_is_found() {
    told().locked("o", 7).locked("p", 8).breaks(Rule::Fenced);
}

#[test]
fn a_lock_may_end_within_the_millisecond_before_its_time() {
    let locked = told().locked("o", 7);
    locked.after(59_998).locked("p", 8).is_good();
}

#[test]
fn a_recovery_counts_from_the_end_of_the_injury() {
    let history = told()
        .node("n", 9, 1)
        .killed()
        .after(50)
        .dispatched("a", "n")
        .history;
    let took = recovery::longest(&history);
    assert_eq!(took, Some(Duration::from_micros(1000 - 100 + 50_500)));
}

#[test]
fn a_recovery_is_work_that_a_node_was_found_for() {
    let history = told()
        .node("n", 9, 1)
        .killed()
        .ok("submit", "b p")
        .after(50)
        .dispatched("a", "n")
        .history;
    assert!(recovery::longest(&history) > Some(Duration::from_millis(50)));
}

#[test]
fn an_answer_told_again_is_no_recovery() {
    let history = told()
        .node("n", 9, 1)
        .dispatched("a", "n")
        .killed()
        .dispatched("a", "n")
        .after(50)
        .dispatched("b", "n")
        .history;
    assert!(recovery::longest(&history) > Some(Duration::from_millis(50)));
}

#[test]
fn a_cell_that_is_broken_again_before_all_is_whole_had_not_recovered_either() {
    let mut told = told().node("n", 9, 1).killed().after(70).killed();
    // It takes long until the replicas have caught up, and a failover that nobody asked for comes before.
    told.history.injuries[0].healed_us = told.now_us;
    let history = told.after(20).dispatched("a", "n").history;
    let took = recovery::longest(&history);
    assert_eq!(took, Some(Duration::from_micros(70_000 + 1000 - 100)));
}

#[test]
fn a_cell_that_is_broken_again_had_not_recovered_until_then() {
    let history = told()
        .node("n", 9, 1)
        .killed()
        .after(70)
        .killed()
        .dispatched("a", "n")
        .history;
    assert!(recovery::longest(&history) > Some(Duration::from_millis(70)));
}
