//! Histories made by hand: those that some order explains, and those that none does.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use super::call::{Call, Word};
use super::controls::MISTAKES;
use super::history::{Event, Reply};
use super::judge::{Problem, judge};
use super::names::{
    InstanceId, JobId, LimitName, LockName, NodeId, Note, OwnerId, RequestId, SessionId,
};
use crate::wire::Answer;

const NODE: NodeId = NodeId(0);

fn text(text: &str) -> Answer {
    Answer::Text(text.to_owned())
}

/// A reply in words: a code, a number, a list of words in brackets, or a word.
fn reply(line: &str) -> Reply {
    let is_code = line.len() > 2
        && line
            .chars()
            .all(|letter| letter.is_ascii_uppercase() || letter == '_');
    if is_code {
        return Reply::Refused(line.to_owned());
    }
    let list = line
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    Reply::Answer(match list {
        Some("; ") => Answer::List(vec![Answer::List(Vec::new()), Answer::List(Vec::new())]),
        Some(words) => Answer::List(words.split_whitespace().map(text).collect()),
        None => text(line),
    })
}

/// A history, each call from a caller of its own: when it was sent, when the reply was there, and the reply.
fn history(calls: &[(u64, Call, u64, &str)]) -> Vec<Event> {
    let event = |(caller, (begin, call, end, said)): (usize, &(u64, Call, u64, &str))| Event {
        caller,
        call: call.clone(),
        begin: *begin,
        end: (*said != "?").then(|| (*end, reply(said))),
    };
    calls.iter().enumerate().map(event).collect()
}

/// The same, one call after the other.
fn in_turn(calls: &[(Call, &'static str)]) -> Vec<Event> {
    let timed: Vec<(u64, Call, u64, &str)> = calls
        .iter()
        .zip((0..).step_by(2))
        .map(|((call, said), begin)| (begin, call.clone(), begin + 1, *said))
        .collect();
    history(&timed)
}

fn is_explained(events: &[Event]) -> bool {
    match judge(events) {
        Ok(()) => true,
        Err(Problem::NotLinearizable { .. }) => false,
        Err(Problem::TooLarge) => panic!("too large"),
    }
}

fn register(max_jobs: u32) -> Call {
    Call::Register {
        node: NODE,
        max_jobs,
        instance: Some(InstanceId(0)),
        has_label: false,
    }
}

fn dispatch(job: u8) -> Call {
    Call::Dispatch {
        session: SessionId(0),
        payload: Note(0),
        job: JobId(job),
        needs_label: false,
        needs_ack: false,
    }
}

fn complete(job: u8, incarnation: Option<u64>) -> Call {
    Call::Word {
        word: Word::Finished(Note(0)),
        job: JobId(job),
        node: NODE,
        incarnation,
    }
}

fn look() -> Call {
    Call::Node { node: NODE }
}

/// What `node` says of a node of one slot with so many held.
fn held(number: u32) -> String {
    let state = if number == 0 { "ready" } else { "full" };
    format!(
        "[state {state} max_jobs 1 current_jobs {number} foreign 0 effective {number} draining false online true incarnation 1]"
    )
}

const NEW: &str = "[incarnation 1 held 0]";

#[test]
fn one_call_after_the_other_is_explained() {
    assert!(is_explained(&in_turn(&[
        (register(1), NEW),
        (dispatch(0), "[n0 j0]"),
        (dispatch(1), "NO_AVAILABLE_NODE"),
        (complete(0, None), "OK"),
        (dispatch(1), "[n0 j1]"),
    ])));
}

#[test]
fn a_slot_given_twice_is_seen() {
    let both = [
        (0, register(1), 1, NEW),
        (2, dispatch(0), 5, "[n0 j0]"),
        (3, dispatch(1), 4, "[n0 j1]"),
    ];
    assert!(!is_explained(&history(&both)));
}

#[test]
fn a_completion_that_frees_twice_is_seen() {
    let calls = [
        (register(1), NEW),
        (dispatch(0), "[n0 j0]"),
        (complete(0, None), "OK"),
        (dispatch(1), "[n0 j1]"),
        (complete(0, None), "OK"),
        (dispatch(2), "[n0 j2]"),
    ];
    assert!(is_explained(&in_turn(&calls[..5])));
    assert!(!is_explained(&in_turn(&calls)));
}

#[test]
fn calls_that_overlap_may_have_happened_in_either_order() {
    for said in ["NO_AVAILABLE_NODE", "[n0 j1]"] {
        let calls = [
            (0, register(1), 1, NEW),
            (2, dispatch(0), 3, "[n0 j0]"),
            (4, complete(0, None), 7, "OK"),
            (5, dispatch(1), 6, said),
        ];
        assert!(is_explained(&history(&calls)), "{said}");
    }
}

#[test]
fn a_reply_that_was_there_before_a_call_was_sent_counts() {
    assert!(!is_explained(&in_turn(&[
        (register(1), NEW),
        (dispatch(0), "[n0 j0]"),
        (complete(0, None), "OK"),
        (dispatch(1), "NO_AVAILABLE_NODE"),
    ])));
}

#[test]
fn a_call_without_a_reply_may_be_made_once_at_any_time_or_never() {
    for (first, second, is_so) in [
        (0, 0, true),
        (0, 1, true),
        (1, 1, true),
        (1, 0, false),
        (0, 2, false),
    ] {
        let calls = [
            (0, register(1), 1, NEW.to_owned()),
            (2, dispatch(0), 0, "?".to_owned()),
            (3, look(), 4, held(first)),
            (5, look(), 6, held(second)),
        ];
        let calls: Vec<(u64, Call, u64, &str)> = calls
            .iter()
            .map(|(begin, call, end, said)| (*begin, call.clone(), *end, said.as_str()))
            .collect();
        assert_eq!(
            is_explained(&history(&calls)),
            is_so,
            "{first}, then {second}"
        );
    }
}

#[test]
fn a_word_of_an_older_incarnation_that_is_heard_is_seen() {
    let other = Call::Register {
        node: NODE,
        max_jobs: 1,
        instance: Some(InstanceId(1)),
        has_label: false,
    };
    for (said, is_so) in [("STALE_NODE", true), ("OK", false)] {
        let calls = [
            (register(1), NEW),
            (other.clone(), "[incarnation 2 held 0]"),
            (dispatch(0), "[n0 j0]"),
            (complete(0, Some(1)), said),
        ];
        assert_eq!(is_explained(&in_turn(&calls)), is_so, "{said}");
    }
}

#[test]
fn two_who_have_a_lock_and_a_token_that_shrinks_are_seen() {
    let lock = |owner| Call::Lock {
        name: LockName(0),
        owner: OwnerId(owner),
    };
    let unlock = Call::Unlock {
        name: LockName(0),
        owner: OwnerId(0),
    };
    let given = (lock(0), "[1 70]");
    assert!(is_explained(&in_turn(&[
        given.clone(),
        (lock(1), "[0 o0]")
    ])));
    assert!(!is_explained(&in_turn(&[
        given.clone(),
        (lock(1), "[1 71]")
    ])));
    let given_up = (unlock, "1");
    assert!(is_explained(&in_turn(&[
        given.clone(),
        given_up.clone(),
        (lock(1), "[1 71]")
    ])));
    assert!(!is_explained(&in_turn(&[
        given,
        given_up,
        (lock(1), "[1 70]")
    ])));
}

#[test]
fn a_limit_that_is_passed_is_seen() {
    let ask = Call::Limit {
        name: LimitName(0),
        request: None,
    };
    let mut calls = vec![
        (ask.clone(), "[1 2 0]"),
        (ask.clone(), "[1 1 0]"),
        (ask.clone(), "[1 0 0]"),
        (ask.clone(), "[0 0 90]"),
    ];
    assert!(is_explained(&in_turn(&calls)));
    calls[3].1 = "[1 0 0]";
    assert!(!is_explained(&in_turn(&calls)));
}

#[test]
fn a_lease_that_was_preempted_and_goes_on_is_seen() {
    let bind = |request| Call::Bind {
        session: SessionId(0),
        request: RequestId(request),
        needs_label: false,
        preempts: true,
    };
    let renew = Call::Renew {
        session: SessionId(0),
        lease: "1-5".into(),
    };
    for (said, is_so) in [("LEASE_MISMATCH", true), ("95", false)] {
        let calls = [
            (register(1), NEW),
            (
                bind(0),
                "[state bound node_id n0 lease_id 1-5 lease_expire_ts 90]",
            ),
            (
                bind(1),
                "[state bound node_id n0 lease_id 2-5 lease_expire_ts 91]",
            ),
            (renew.clone(), said),
        ];
        assert_eq!(is_explained(&in_turn(&calls)), is_so, "{said}");
    }
}

#[test]
fn a_job_that_stops_keeps_its_slot() {
    let cancel = Call::Cancel { job: JobId(0) };
    for (said, is_so) in [("NO_AVAILABLE_NODE", true), ("[n0 j1]", false)] {
        let calls = [
            (register(1), NEW),
            (dispatch(0), "[n0 j0]"),
            (cancel.clone(), "OK"),
            (dispatch(1), said),
        ];
        assert_eq!(is_explained(&in_turn(&calls)), is_so, "{said}");
    }
}

#[test]
fn a_job_that_waits_and_is_not_handed_over_is_seen() {
    let submit = Call::Submit {
        job: JobId(0),
        payload: Note(0),
        priority: 5,
        needs_label: false,
    };
    let pull = Call::Pull {
        node: NODE,
        count: 1,
        request: None,
        incarnation: None,
    };
    assert!(is_explained(&in_turn(&[
        (register(1), NEW),
        (pull.clone(), "[; ]")
    ])));
    assert!(!is_explained(&in_turn(&[
        (register(1), NEW),
        (submit, "1"),
        (pull, "[; ]")
    ])));
}

#[test]
fn what_has_nothing_to_do_with_it_is_not_told() {
    let calls = [
        (register(1), NEW),
        (look(), ""),
        (dispatch(0), "[n0 j0]"),
        (complete(0, None), "OK"),
        (dispatch(1), "[n0 j1]"),
        (complete(9, None), "NO_SUCH_JOB"),
        (dispatch(2), "[n0 j2]"),
        (complete(2, None), "OK"),
    ];
    let seen = held(0);
    let calls: Vec<(u64, Call, u64, &str)> = calls
        .iter()
        .zip((0..).step_by(2))
        .map(|((call, said), begin)| {
            let said = if said.is_empty() { &seen } else { *said };
            (begin, call.clone(), begin + 1, said)
        })
        .collect();
    let Err(Problem::NotLinearizable { smallest, left_out }) = judge(&history(&calls)) else {
        panic!("a slot was given twice");
    };
    let told: Vec<Call> = smallest.into_iter().map(|event| event.call).collect();
    assert_eq!(told, [register(1), dispatch(1), dispatch(2)]);
    assert_eq!(left_out, 4);
}

#[test]
fn every_mistake_can_be_made_in_the_library() {
    for mistake in MISTAKES {
        let wrong = mistake.library().unwrap();
        assert_ne!(wrong, lockless_functions::LIBRARY, "{}", mistake.summary);
    }
}
