//! What a fault showed.

use std::time::Duration;

/// What was found wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule that was broken.
    pub rule: Rule,
    /// What was seen, in a sentence.
    pub sentence: String,
}

impl Violation {
    /// A violation of a rule.
    pub fn new(rule: Rule, sentence: impl Into<String>) -> Self {
        Self {
            rule,
            sentence: sentence.into(),
        }
    }
}

/// What must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// `lockless_check` finds nothing.
    Sound,
    /// No grant while a node is full.
    NotOversold,
    /// A job is on one node at a time.
    OnOneNode,
    /// A job that was acknowledged as durable is there, and reaches one end.
    JobKept,
    /// A slot is given back once.
    FreedOnce,
    /// Words of an older incarnation, lease or token have no effect.
    Fenced,
    /// Some order of the calls, one after the other, explains every reply.
    Linearizable,
    /// Nothing ends before its time but what a jump of the clock overtakes.
    Deadline,
    /// The cell takes work again soon enough.
    Recovers,
    /// What is particular to one fault.
    Fault,
    /// A control run that loses nothing shows that the test sees nothing.
    Blind,
}

impl Rule {
    /// Whether what breaks it is something lost: an acknowledged job, slot or fence.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::Recovers | Self::Fault | Self::Blind)
    }
}

/// What was done and what was seen, in one kind of run.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    /// Calls that were made.
    pub operations: u64,
    /// Those that got no reply.
    pub maybes: u64,
    /// What was found wrong.
    pub violations: Vec<Violation>,
}

impl Tally {
    /// How much of what was found is something lost.
    pub fn losses(&self) -> u64 {
        let losses = self.violations.iter().filter(|one| one.rule.is_loss());
        losses.count() as u64
    }

    /// Both together.
    pub fn add(&mut self, other: Tally) {
        self.operations += other.operations;
        self.maybes += other.maybes;
        self.violations.extend(other.violations);
    }
}

/// What a fault showed.
#[derive(Debug, Default, Clone)]
pub struct Outcome {
    /// How often something was broken.
    pub rounds: u64,
    /// The run with what protects.
    pub protected: Tally,
    /// The run without; none where it would say nothing.
    pub control: Option<Tally>,
    /// The longest time from healing to the first work taken.
    pub recovery: Option<Duration>,
    /// What else is worth saying, a sentence each.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Notes a recovery; the longest counts.
    pub fn recovered_in(&mut self, took: Duration) {
        self.recovery = self.recovery.max(Some(took));
    }

    /// A part of the control run, over all rounds. Each must lose something by itself: that one part sees a loss says nothing of another.
    pub fn add_control(&mut self, part: &str, tally: Tally) {
        if tally.losses() == 0 {
            let sentence =
                format!("{part} lost nothing in the control run: the test is blind there");
            let blind = Violation::new(Rule::Blind, sentence);
            self.protected.violations.push(blind);
        }
        self.notes
            .push(format!("control, {part}: {} losses", tally.losses()));
        self.control.get_or_insert_default().add(tally);
    }

    /// What makes the run fail: violations, and a control run that saw none.
    pub fn failures(&self) -> Vec<Violation> {
        let mut failures = self.protected.violations.clone();
        if self
            .control
            .as_ref()
            .is_some_and(|control| control.losses() == 0)
        {
            failures.push(Violation::new(
                Rule::Blind,
                "the control run lost nothing: the test is blind",
            ));
        }
        failures
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Rule, Tally, Violation};

    fn lost() -> Tally {
        Tally {
            violations: vec![Violation::new(Rule::JobKept, "job j is gone")],
            ..Tally::default()
        }
    }

    #[test]
    fn a_control_run_that_loses_nothing_is_a_failure() {
        let outcome = Outcome {
            control: Some(Tally::default()),
            ..Outcome::default()
        };
        assert_eq!(outcome.failures()[0].rule, Rule::Blind);
    }

    #[test]
    fn a_control_run_that_loses_is_none() {
        let outcome = Outcome {
            control: Some(lost()),
            ..Outcome::default()
        };
        assert!(outcome.failures().is_empty());
    }

    #[test]
    fn a_part_of_the_control_run_that_loses_nothing_is_a_failure() {
        let mut outcome = Outcome::default();
        outcome.add_control("the one", lost());
        assert!(outcome.failures().is_empty());
        outcome.add_control("the other", Tally::default());
        assert_eq!(outcome.failures()[0].rule, Rule::Blind);
    }

    #[test]
    fn a_loss_in_the_protected_run_is_a_failure() {
        let outcome = Outcome {
            protected: lost(),
            ..Outcome::default()
        };
        assert_eq!(outcome.failures().len(), 1);
    }
}
