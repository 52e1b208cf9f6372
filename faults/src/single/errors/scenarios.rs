//! The scenarios, as the in-process tests have them.

/// A call, and how the cell came to be as it finds it.
#[derive(Default)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) before: Vec<&'static str>,
    pub(super) call: &'static str,
    pub(super) again: Again,
}

impl Scenario {
    /// The function it calls.
    pub(super) fn function(&self) -> &'static str {
        self.call.split(' ').next().unwrap_or_default()
    }

    /// Whether something is damaged before the call is made: then it is no wonder if slots are given that are not there.
    pub(super) fn is_damaged(&self) -> bool {
        let damages = |line: &&str| line.starts_with("redis ") || line.starts_with("state ");
        self.before.iter().any(damages)
    }
}

/// What making an interrupted call again gives.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// The reply and the state of an undisturbed call.
    #[default]
    TheSame,
    /// The same state; the reply says what was left to do.
    TheSameState,
    /// Perhaps another choice, in which nothing is lost.
    NothingLost,
    /// A list of what was done. Made again until that is nothing, it leaves a sound cell.
    UntilNothing,
}

const TEXT: &str = include_str!("../../../../lua-tests/tests/injection/scenarios.txt");

/// All of them.
pub(super) fn all() -> Vec<Scenario> {
    let blocks = TEXT.split("\n\n").filter(|block| !block.starts_with('#'));
    blocks.map(read).collect()
}

fn read(block: &'static str) -> Scenario {
    let mut scenario = Scenario::default();
    for line in block.lines() {
        match line.trim_start().split_once(' ') {
            _ if !line.starts_with(' ') => scenario.name = line,
            Some((mark @ (">" | "~" | "?" | "!"), call)) => {
                scenario.call = call;
                scenario.again = match mark {
                    ">" => Again::TheSame,
                    "~" => Again::TheSameState,
                    "!" => Again::UntilNothing,
                    _ => Again::NothingLost,
                };
            }
            _ => scenario.before.push(line.trim_start()),
        }
    }
    scenario
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lockless_functions::api::Mode;
    use lockless_functions::contract;

    use super::all;

    #[test]
    fn every_write_function_has_a_scenario() {
        let tried: BTreeSet<String> = all()
            .iter()
            .map(|scenario| format!("lockless_{}", scenario.function()))
            .collect();
        for function in &contract().functions {
            let is_tried = function.mode != Mode::Write || tried.contains(&function.name);
            assert!(is_tried, "{} has none", function.name);
        }
    }

    #[test]
    fn every_line_of_a_scenario_is_one_that_can_be_played() {
        let functions = &contract().functions;
        for scenario in all() {
            for line in scenario.before.iter().chain([&scenario.call]) {
                let verb = line.split(' ').next().unwrap_or_default();
                let is_function = functions
                    .iter()
                    .any(|function| function.name == format!("lockless_{verb}"));
                let is_known = is_function || ["pass", "fill", "redis", "state"].contains(&verb);
                assert!(is_known, "{}: {line}", scenario.name);
            }
        }
    }
}
