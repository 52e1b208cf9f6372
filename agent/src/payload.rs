//! A job's payload: the command it names, and what it says that the command will need.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::allow::AllowList;
use crate::variables;

/// The library's longest run limit.
const TIMEOUT_LIMIT_MS: u64 = 604_800_000;

/// What a payload looks like.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    argv: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
    mem_mb: Option<u64>,
    cpu_pct: Option<f64>,
    gpu_mb: Option<u64>,
}

/// A command that may be run here.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// The program's path.
    pub program: PathBuf,
    /// What follows its name.
    pub arguments: Vec<String>,
    /// Variables beside those that every job gets.
    pub env: BTreeMap<String, String>,
    /// Where it runs.
    pub cwd: Option<String>,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

/// What the whole machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capacity {
    /// Memory.
    pub mem_mb: u64,
    /// Memory of its largest GPU.
    pub gpu_mb: Option<u64>,
}

/// Reads a payload. The error is a sentence for whoever submitted the job.
pub fn read(payload: &Value, allow: &AllowList, machine: Capacity) -> Result<Command, String> {
    if !payload.is_object() {
        return Err(
            "the payload is not a JSON object: it takes argv, env, cwd, timeout_ms, mem_mb, cpu_pct, gpu_mb"
                .to_owned(),
        );
    }
    let written = Written::deserialize(payload)
        .map_err(|error| in_one_line(&format!("the payload can't be read: {error}")))?;
    check_estimates(&written, machine)?;
    if let Some(ms) = written.timeout_ms
        && !(1..=TIMEOUT_LIMIT_MS).contains(&ms)
    {
        return Err(format!(
            "timeout_ms takes a whole number from 1 to {TIMEOUT_LIMIT_MS}, given {ms}"
        ));
    }
    let command = command(&written.argv, written.env, written.cwd, allow)?;
    Ok(Command {
        timeout: written.timeout_ms.map(Duration::from_millis),
        ..command
    })
}

/// A command without a time limit, if it may be run here.
pub(crate) fn command(
    argv: &[String],
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    allow: &AllowList,
) -> Result<Command, String> {
    let Some((word, arguments)) = argv.split_first() else {
        return Err("argv is empty: its first word names the program".to_owned());
    };
    let program = allow
        .find(word)
        .map_err(|why| in_one_line(&why))?
        .to_owned();
    if let Some(at) = argv.iter().position(|word| word.contains('\0')) {
        return Err(format!("argv[{at}] has a zero byte in it"));
    }
    for (name, value) in &env {
        let is_listed = allow.lists_variable(&program, name);
        variables::check(name, value, is_listed).map_err(|why| in_one_line(&why))?;
    }
    if let Some(cwd) = &cwd
        && (!cwd.starts_with('/') || cwd.contains('\0'))
    {
        let refusal = format!("cwd takes a path from the root, given '{cwd}'");
        return Err(in_one_line(&refusal));
    }
    Ok(Command {
        program,
        arguments: arguments.to_vec(),
        env,
        cwd,
        timeout: None,
    })
}

/// The same without line ends and other control characters, which could look like lines of a log that nobody wrote.
pub(crate) fn in_one_line(sentence: &str) -> String {
    let mut line = String::with_capacity(sentence.len());
    for character in sentence.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// What needs more than there is would wait for ever, or bring the machine down.
fn check_estimates(written: &Written, machine: Capacity) -> Result<(), String> {
    if let Some(mem_mb) = written.mem_mb
        && mem_mb > machine.mem_mb
    {
        return Err(format!(
            "mem_mb {mem_mb} is more than the whole machine has ({} MB)",
            machine.mem_mb
        ));
    }
    if let Some(cpu_pct) = written.cpu_pct
        && !(0.0..=100.0).contains(&cpu_pct)
    {
        return Err(format!(
            "cpu_pct takes a share of the whole machine from 0 to 100, given {cpu_pct}"
        ));
    }
    match (written.gpu_mb, machine.gpu_mb) {
        (Some(gpu_mb), None) if gpu_mb > 0 => Err(format!(
            "gpu_mb {gpu_mb} is asked for, and there is no GPU here"
        )),
        (Some(gpu_mb), Some(there)) if gpu_mb > there => Err(format!(
            "gpu_mb {gpu_mb} is more than the largest GPU here has ({there} MB)"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::allow::Allowed;

    const MACHINE: Capacity = Capacity {
        mem_mb: 1000,
        gpu_mb: Some(500),
    };

    fn tried(payload: &Value, machine: Capacity) -> Result<Command, String> {
        let sh = Allowed {
            path: "/bin/sh".into(),
            ..Allowed::default()
        };
        read(payload, &AllowList::new(&[sh]).expect("a list"), machine)
    }

    #[test]
    fn a_whole_payload_is_read() {
        let payload = json!({
            "argv": ["sh", "-c", "true"], "env": {"A_1": "x y"}, "cwd": "/tmp",
            "timeout_ms": 1500, "mem_mb": 1000, "cpu_pct": 12.5, "gpu_mb": 500,
        });
        let expected = Command {
            program: "/bin/sh".into(),
            arguments: vec!["-c".to_owned(), "true".to_owned()],
            env: BTreeMap::from([("A_1".to_owned(), "x y".to_owned())]),
            cwd: Some("/tmp".to_owned()),
            timeout: Some(Duration::from_millis(1500)),
        };
        assert_eq!(tried(&payload, MACHINE), Ok(expected));
    }

    #[test]
    fn a_mistake_is_named() {
        let rows = [
            (json!("text"), "not a JSON object"),
            (json!(null), "not a JSON object"),
            (json!(["sh"]), "not a JSON object"),
            (json!({}), "missing field `argv`"),
            (json!({"argv": []}), "argv is empty"),
            (json!({"argv": "sh"}), "expected a sequence"),
            (json!({"argv": ["sh", 1]}), "expected a string"),
            (json!({"argv": ["rm"]}), "'rm' is not on"),
            (json!({"argv": ["rm\nWARN"]}), "'rm\\nWARN' is not on"),
            (json!({"argv": ["sh"], "cwd": "a\nb"}), "'a\\nb'"),
            (json!({"argv": ["sh"], "a\nb": 1}), "`a\\nb`"),
            (json!({"argv": ["sh", "a\0b"]}), "argv[1]"),
            (
                json!({"argv": ["sh"], "shell": true}),
                "unknown field `shell`",
            ),
            (
                json!({"argv": ["sh"], "env": {"A": 1}}),
                "expected a string",
            ),
            (json!({"argv": ["sh"], "env": {"A=B": ""}}), "'A=B'"),
            (json!({"argv": ["sh"], "env": {"": ""}}), "env takes names"),
            (json!({"argv": ["sh"], "env": {"1A": ""}}), "'1A'"),
            (
                json!({"argv": ["sh"], "env": {"LD_PRELOAD": "x"}}),
                "LD_PRELOAD",
            ),
            (
                json!({"argv": ["sh"], "env": {"LOCKLESS_RUN": "x"}}),
                "LOCKLESS_RUN",
            ),
            (json!({"argv": ["sh"], "cwd": "tmp"}), "cwd takes"),
            (json!({"argv": ["sh"], "timeout_ms": 0}), "timeout_ms takes"),
            (
                json!({"argv": ["sh"], "timeout_ms": -1}),
                "the payload can't be read",
            ),
            (
                json!({"argv": ["sh"], "timeout_ms": 1e12}),
                "the payload can't be read",
            ),
            (
                json!({"argv": ["sh"], "mem_mb": 1001}),
                "the whole machine has (1000 MB)",
            ),
            (json!({"argv": ["sh"], "cpu_pct": 101}), "cpu_pct takes"),
            (
                json!({"argv": ["sh"], "gpu_mb": 501}),
                "largest GPU here has (500 MB)",
            ),
        ];
        for (payload, words) in rows {
            let refusal = tried(&payload, MACHINE).expect_err(words);
            assert!(refusal.contains(words), "{payload}: {refusal}");
        }
    }

    #[test]
    fn a_machine_without_gpu_takes_no_job_that_needs_one() {
        let without = Capacity {
            gpu_mb: None,
            ..MACHINE
        };
        assert!(tried(&json!({"argv": ["sh"], "gpu_mb": 1}), without).is_err());
        assert!(tried(&json!({"argv": ["sh"], "gpu_mb": 0}), without).is_ok());
    }
}
