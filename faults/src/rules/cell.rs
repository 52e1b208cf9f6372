//! What the cells themselves say in the end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Error;
use crate::history::History;
use crate::load::Plan;
use crate::outcome::{Rule, Violation};
use crate::run::Run;
use crate::wire::{Answer, Said, Wire};

use super::Ends;
use super::holds::text_of;

const PATIENCE: Duration = Duration::from_secs(20);
/// What a server says for a moment: a primary of a Cluster that is whole may not know that yet.
const PASSING: [&str; 3] = ["CLUSTERDOWN", "LOADING", "TRYAGAIN"];
const ASKED_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// A call of the test's own, which must be answered: it is made again while a server refuses it for a moment.
pub fn ask(wire: &mut dyn Wire, root: &str, function: &str, line: &str) -> Result<Answer, Error> {
    let words: Vec<&str> = line.split_whitespace().collect();
    ask_words(wire, root, function, &words)
}

/// The same with its arguments as words: a cursor may have spaces in it.
fn ask_words(
    wire: &mut dyn Wire,
    root: &str,
    function: &str,
    words: &[&str],
) -> Result<Answer, Error> {
    let args: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let begun = Instant::now();
    loop {
        match wire.call(root, function, &args) {
            Said::Reply(answer) => return Ok(answer),
            other => {
                let is_passing = other.code().is_some_and(|code| PASSING.contains(&code));
                if !is_passing || begun.elapsed() > PATIENCE {
                    return Err(Error::Call {
                        call: format!("{function} {}", words.join(" ")),
                        said: format!("{other:?}"),
                    });
                }
            }
        }
        sleep(ASKED_AGAIN_AFTER);
    }
}

/// What `lockless_check` names, all pages of it.
pub fn unsound(wire: &mut dyn Wire, root: &str) -> Result<Vec<Violation>, Error> {
    let mut sentences: BTreeSet<String> =
        ask(wire, root, "check", "")?.texts().into_iter().collect();
    let mut cursor = "0".to_owned();
    loop {
        let page = ask_words(wire, root, "check", &["CURSOR", &cursor, "COUNT", "1000"])?;
        let [next, found] = page.list() else { break };
        sentences.extend(found.texts());
        cursor = next.text();
        if cursor == "0" {
            break;
        }
    }
    let violation =
        |sentence| Violation::new(Rule::Sound, format!("{root}: check says {sentence}"));
    Ok(sentences.into_iter().map(violation).collect())
}

/// Fails with what is left in a cell that has work.
pub(crate) fn is_empty(wire: &mut dyn Wire, root: &str) -> Result<(), String> {
    let shown = |error: Error| error.to_string();
    let stats = ask(wire, root, "stats", "").map_err(shown)?;
    let count = |name: &str| stats.field(name).and_then(Answer::int).unwrap_or(0);
    if count("live") > 0 || count("pending") > 0 {
        return Err(format!(
            "{root}: {} live and {} pending",
            count("live"),
            count("pending")
        ));
    }
    let nodes = ask(wire, root, "fleet", "0 1000").map_err(shown)?;
    let Some(nodes) = nodes.list().get(1) else {
        return Ok(());
    };
    for node in nodes.list() {
        if let [name, state, _, held, ..] = node.list()
            && held.int() != Some(0)
        {
            return Err(format!(
                "{root}: node {} ({}) holds {}",
                name.text(),
                state.text(),
                held.text()
            ));
        }
    }
    Ok(())
}

/// What became of every job of a history.
pub(crate) fn ends(run: &Run, wire: &mut dyn Wire, history: &History) -> Result<Ends, Error> {
    let mut ends = Ends::new();
    let mut jobs: BTreeSet<(Arc<str>, &str)> = BTreeSet::new();
    for record in &history.records {
        let job = match record.function {
            "dispatch" => record.option("JOB").unwrap_or(""),
            "submit" => record.word(0),
            _ => continue,
        };
        jobs.insert((record.root.clone(), job));
    }
    for (root, job) in jobs {
        let mut status = None;
        run.wait_for("an answer about a job", PATIENCE, || {
            match wire.call(&root, "job", &[job.to_owned()]) {
                Said::Reply(fields) => {
                    status = Some(text_of(&fields, "status").to_owned());
                    Ok(())
                }
                said if said.code() == Some("NO_SUCH_JOB") => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })?;
        ends.insert((root, job.to_owned()), status);
    }
    Ok(ends)
}

/// An empty cell gives out as many slots as its nodes have, and not one more.
pub(crate) fn not_all_slots(
    run: &Run,
    wire: &mut dyn Wire,
    root: &str,
    plan: &Plan,
) -> Result<Option<Violation>, Error> {
    for number in 0..plan.nodes {
        // Its thread has ended; it may be silent for a while, or lost.
        let heard = ask(wire, root, "heartbeat", &format!("n{number} FOREIGN 0"));
        if heard.is_err() {
            let line = format!("n{number} {} INSTANCE probe", plan.max_jobs);
            ask(wire, root, "register", &line)?;
        }
    }
    let slots = plan.nodes as u64 * plan.max_jobs;
    let mut given = 0;
    let said = loop {
        run.check()?;
        let args = ["probe", "-", "-", "p"].map(str::to_owned);
        match wire.call(root, "dispatch", &args) {
            Said::Reply(_) if given <= slots => given += 1,
            said => break said,
        }
    };
    let is_full = said.code() == Some("NO_AVAILABLE_NODE");
    if given == slots && is_full {
        return Ok(None);
    }
    Ok(Some(Violation::new(
        Rule::FreedOnce,
        format!("{root} has {slots} slots and gave {given} when it was empty, then said {said:?}"),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that says these, one after the other.
    struct Saying(Vec<Said>);

    impl Wire for Saying {
        fn call(&mut self, _: &str, _: &str, _: &[String]) -> Said {
            self.0.remove(0)
        }
    }

    fn refused(line: &str) -> Said {
        Said::Refused(line.to_owned())
    }

    #[test]
    fn what_must_be_answered_is_asked_again_while_a_cluster_is_down_and_for_nothing_else() {
        let down = || refused("CLUSTERDOWN The cluster is down");
        let mut wire = Saying(vec![down(), down(), Said::Reply(Answer::Int(1))]);
        let answer = ask(&mut wire, "scheduler:{main}", "stats", "").unwrap();
        assert_eq!(answer.int(), Some(1));
        for other in [
            refused("ERR lockless defect"),
            Said::Maybe("broken".to_owned()),
        ] {
            let mut wire = Saying(vec![other, Said::Reply(Answer::Int(1))]);
            ask(&mut wire, "scheduler:{main}", "stats", "").unwrap_err();
        }
    }
}
