//! What is said about a job that ended: its result as JSON, and why it failed.

use serde::Serialize;

use crate::guarded::Ending;
use crate::output::Tail;

/// How a job's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// What it ended with, unless by a signal.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The end of what it wrote.
    pub output: String,
    /// Whether it wrote more than that.
    pub truncated: bool,
    /// How long it ran.
    pub ms: u64,
}

impl Outcome {
    /// How it ended, with the end of what it wrote.
    pub fn new(ending: Ending, tail: &Tail) -> Self {
        let (output, truncated) = tail.text();
        Self {
            exit_code: ending.exit_code,
            signal: ending.signal,
            output,
            truncated,
            ms: ending.ms,
        }
    }

    /// Whether it ended well.
    pub fn is_success(&self) -> bool {
        self.exit_code == Some(0)
    }

    /// Why it failed.
    pub fn reason(&self) -> String {
        match (self.exit_code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "it is unknown how the process ended".to_owned(),
        }
    }

    /// The result as JSON of at most so many bytes: the output loses its beginning, if need be. None if even an empty output is
    /// too long.
    pub fn json(&self, limit_bytes: usize) -> Option<String> {
        let whole = written(self);
        if whole.len() <= limit_bytes {
            return Some(whole);
        }
        let mut shorter = Self {
            truncated: true,
            ..self.clone()
        };
        let excess = written(&shorter).len().saturating_sub(limit_bytes);
        let mut saved = 0;
        let cut = self
            .output
            .char_indices()
            .find(|(_, character)| {
                let is_enough = saved >= excess;
                saved += json_len(*character);
                is_enough
            })
            .map_or(self.output.len(), |(at, _)| at);
        shorter.output.drain(..cut);
        Some(written(&shorter)).filter(|json| json.len() <= limit_bytes)
    }
}

fn written(outcome: &Outcome) -> String {
    // Text and numbers can always be written.
    serde_json::to_string(outcome).unwrap_or_default()
}

/// How many bytes a character takes in a JSON string.
fn json_len(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(output: &str) -> Outcome {
        Outcome {
            exit_code: Some(0),
            signal: None,
            output: output.to_owned(),
            truncated: false,
            ms: 12,
        }
    }

    #[test]
    fn what_fits_is_not_cut() {
        let json = outcome("hello\n").json(1000).expect("it fits");
        assert_eq!(
            json,
            r#"{"exit_code":0,"signal":null,"output":"hello\n","truncated":false,"ms":12}"#
        );
    }

    #[test]
    fn the_beginning_is_cut_until_the_whole_fits_exactly_as_far_as_needed() {
        for output in ["x".repeat(500), "\u{1}é\"\n".repeat(100), "€".repeat(200)] {
            for limit in 80..400 {
                let json = outcome(&output).json(limit).expect("it fits");
                assert!(
                    json.len() <= limit && json.len() + 6 > limit,
                    "{limit}: {json}"
                );
                let read: serde_json::Value = serde_json::from_str(&json).expect("JSON");
                assert!(output.ends_with(read["output"].as_str().expect("text")));
                assert_eq!(read["truncated"], true);
            }
        }
    }

    #[test]
    fn what_can_not_fit_is_nothing() {
        assert_eq!(outcome("x").json(20), None);
    }
}
