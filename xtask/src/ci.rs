//! `cargo xtask ci`: what must hold before a change is taken.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::{bundle, faults, run, test, wasm};

type Step = (&'static str, fn() -> Result<()>);

const STEPS: [Step; 7] = [
    ("format", || {
        run::visibly(run::cargo().args(["fmt", "--all", "--check"]))
    }),
    ("lints", || {
        run::visibly(run::cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))
    }),
    ("features", || {
        run::visibly(run::cargo().args([
            "clippy",
            "--package",
            "lockless-gateway",
            "--no-default-features",
            "--",
            "-D",
            "warnings",
        ]))
    }),
    ("bundle", bundle::check_committed),
    ("wasm", wasm::check_committed),
    ("tests", test::run_all),
    ("faults", faults::run_quickly),
];

pub(crate) fn run() -> Result<()> {
    // Before the first step, because starting again runs all of them.
    run::with_docker_if_needed()?;
    let mut times: Vec<(&str, Duration)> = Vec::with_capacity(STEPS.len());
    for (name, step) in STEPS {
        println!("== {name}");
        let begin = Instant::now();
        let done = step();
        let took = begin.elapsed();
        if let Err(error) = done {
            summarise(&times);
            println!("{name:<9} failed after {:.1} s", took.as_secs_f64());
            return Err(error).with_context(|| format!("the step `{name}` failed"));
        }
        println!("== {name} passed in {:.1} s", took.as_secs_f64());
        times.push((name, took));
    }
    summarise(&times);
    println!("All {} steps passed.", STEPS.len());
    Ok(())
}

fn summarise(times: &[(&str, Duration)]) {
    println!();
    for (name, took) in times {
        println!("{name:<9} passed in {:.1} s", took.as_secs_f64());
    }
}
