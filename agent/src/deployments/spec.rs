//! A deployment's SPEC: the command it names, and when that is started again.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::allow::AllowList;
use crate::pace::Backoff;
use crate::payload::{self, Command};

/// Shorter pauses would only keep the machine busy.
const PAUSE_LEAST_MS: u64 = 10;
const PAUSE_MOST_MS: u64 = 86_400_000;

/// When a command that ended is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// However it ended.
    #[default]
    Always,
    /// Unless it ended with 0.
    OnFailure,
    /// It is not.
    Never,
}

/// What a SPEC looks like.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    argv: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    #[serde(default)]
    restart: Restart,
    #[serde(default = "first_pause_ms")]
    restart_backoff_ms: u64,
    #[serde(default = "longest_pause_ms")]
    restart_backoff_max_ms: u64,
}

fn first_pause_ms() -> u64 {
    1000
}

fn longest_pause_ms() -> u64 {
    60_000
}

/// A deployment that may be run here.
#[derive(Debug, PartialEq, Eq)]
pub struct Spec {
    /// What is run.
    pub command: Command,
    /// When it is run again.
    pub restart: Restart,
    first_pause: Duration,
    longest_pause: Duration,
}

impl Spec {
    /// Reads a SPEC. The error is a sentence for whoever deployed it.
    pub fn read(spec: &Value, allow: &AllowList) -> Result<Self, String> {
        if !spec.is_object() {
            return Err(
                "the SPEC is not a JSON object: it takes argv, env, cwd, restart, restart_backoff_ms, restart_backoff_max_ms"
                    .to_owned(),
            );
        }
        let written = Written::deserialize(spec)
            .map_err(|error| payload::in_one_line(&format!("the SPEC can't be read: {error}")))?;
        for (name, ms) in [
            ("restart_backoff_ms", written.restart_backoff_ms),
            ("restart_backoff_max_ms", written.restart_backoff_max_ms),
        ] {
            if !(PAUSE_LEAST_MS..=PAUSE_MOST_MS).contains(&ms) {
                return Err(format!(
                    "{name} takes a whole number from {PAUSE_LEAST_MS} to {PAUSE_MOST_MS}, given {ms}"
                ));
            }
        }
        Ok(Self {
            command: payload::command(&written.argv, written.env, written.cwd, allow)?,
            restart: written.restart,
            first_pause: Duration::from_millis(written.restart_backoff_ms),
            longest_pause: Duration::from_millis(written.restart_backoff_max_ms),
        })
    }

    /// Whether a command that ended so is started again.
    pub fn is_started_again(&self, is_success: bool) -> bool {
        match self.restart {
            Restart::Always => true,
            Restart::OnFailure => !is_success,
            Restart::Never => false,
        }
    }

    /// The pauses before it is.
    pub fn pauses(&self) -> Backoff {
        Backoff::new(self.first_pause, self.longest_pause)
    }

    /// Whether a command that ran for so long ran well, so that the pauses begin anew.
    pub fn ran_well(&self, time: Duration) -> bool {
        time >= self.longest_pause
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::allow::Allowed;

    fn tried(spec: &Value) -> Result<Spec, String> {
        let sh = Allowed {
            path: "/bin/sh".into(),
            ..Allowed::default()
        };
        Spec::read(spec, &AllowList::new(&[sh]).expect("a list"))
    }

    #[test]
    fn a_spec_is_read_with_defaults_for_the_rest() {
        let spec = tried(&json!({"argv": ["sh", "-c", "true"]})).expect("a spec");
        assert_eq!(spec.command.arguments, ["-c", "true"]);
        assert_eq!(spec.restart, Restart::Always);
        assert_eq!(spec.first_pause, Duration::from_secs(1));
        assert_eq!(spec.longest_pause, Duration::from_secs(60));
        let whole = tried(&json!({
            "argv": ["sh"], "env": {"A": "1"}, "cwd": "/tmp", "restart": "on-failure",
            "restart_backoff_ms": 10, "restart_backoff_max_ms": 50,
        }));
        let whole = whole.expect("a spec");
        assert_eq!(whole.command.cwd.as_deref(), Some("/tmp"));
        assert!(whole.is_started_again(false) && !whole.is_started_again(true));
        assert!(whole.ran_well(Duration::from_millis(50)));
        assert!(!whole.ran_well(Duration::from_millis(49)));
    }

    #[test]
    fn a_restart_policy_says_after_which_end() {
        for (policy, after_success, after_failure) in [
            ("always", true, true),
            ("on-failure", false, true),
            ("never", false, false),
        ] {
            let spec = tried(&json!({"argv": ["sh"], "restart": policy})).expect(policy);
            assert_eq!(spec.is_started_again(true), after_success, "{policy}");
            assert_eq!(spec.is_started_again(false), after_failure, "{policy}");
        }
    }

    #[test]
    fn a_mistake_is_named() {
        let rows = [
            (json!(null), "not a JSON object"),
            (json!("sh"), "not a JSON object"),
            (json!({}), "missing field `argv`"),
            (json!({"argv": []}), "argv is empty"),
            (json!({"argv": ["rm"]}), "'rm' is not on"),
            (json!({"argv": ["sh"], "timeout_ms": 1}), "unknown field"),
            (json!({"argv": ["sh"], "restart": "no"}), "unknown variant"),
            (json!({"argv": ["sh"], "cwd": "tmp"}), "cwd takes"),
            (
                json!({"argv": ["sh"], "env": {"LD_PRELOAD": "x"}}),
                "LD_PRELOAD",
            ),
            (
                json!({"argv": ["sh"], "restart_backoff_ms": 9}),
                "restart_backoff_ms takes",
            ),
            (
                json!({"argv": ["sh"], "restart_backoff_max_ms": 86_400_001}),
                "restart_backoff_max_ms takes",
            ),
        ];
        for (spec, words) in rows {
            let refusal = tried(&spec).expect_err(words);
            assert!(refusal.contains(words), "{spec}: {refusal}");
        }
    }
}
