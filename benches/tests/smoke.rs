//! The whole bench in the smallest effort: every group gives figures, and everything that is to be written is written.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output};

use lockless_benches::groups::GROUPS;
use lockless_benches::results::{Kept, Store, Target};

fn bench(directory: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["--smoke", "--out"])
        .arg(directory)
        .args(arguments)
        .output()
        .unwrap();
    let (said, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    println!("{said}\n{errors}");
    output
}

fn kept(directory: &Path) -> Vec<Kept> {
    let store = Store::in_directory(directory).unwrap();
    let local = GROUPS.iter().filter(|group| group.is_local);
    local
        .map(|group| {
            let found = store.read(group.name).unwrap();
            found.unwrap_or_else(|| panic!("{} left nothing", group.name))
        })
        .collect()
}

#[test]
fn every_group_gives_figures_that_are_written_and_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let output = bench(directory.path(), &[]);
    assert!(output.status.success());
    let page = fs::read_to_string(directory.path().join("RESULTS.md")).unwrap();
    let mut ids = BTreeSet::new();
    for one in kept(directory.path()) {
        assert!(
            one.result.figures().count() > 0,
            "{} has no figures",
            one.group
        );
        for figure in one.result.figures() {
            assert!(
                ids.insert(figure.id.clone()),
                "two figures are called {}",
                figure.id
            );
            let may_be_nothing = figure.target == Some(Target::AtMost(0.0));
            assert!(
                figure.first.median > 0.0 || may_be_nothing,
                "{} is nothing",
                figure.id
            );
            let ratio = figure.ratio.map_or(1.0, |ratio| ratio.median);
            assert!(
                ratio.is_finite() && ratio > 0.0,
                "{}: ratio {ratio}",
                figure.id
            );
            assert!(
                page.contains(&figure.what),
                "{} is not on the page",
                figure.what
            );
        }
        for plot in &one.result.plots {
            let file = directory.path().join(format!("results/{}.svg", plot.file));
            let svg = fs::read_to_string(&file).unwrap();
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
            assert!(page.contains(&format!("results/{}.svg", plot.file)));
        }
    }
}

#[test]
fn a_group_that_is_measured_alone_leaves_the_others_as_they_were() {
    let directory = tempfile::tempdir().unwrap();
    assert!(
        bench(directory.path(), &["--only", "native"])
            .status
            .success()
    );
    let native = fs::read(directory.path().join("results/native.json")).unwrap();
    assert!(
        bench(directory.path(), &["--only", "hosts"])
            .status
            .success()
    );
    assert_eq!(
        fs::read(directory.path().join("results/native.json")).unwrap(),
        native
    );
    let page = fs::read_to_string(directory.path().join("RESULTS.md")).unwrap();
    assert!(page.contains("## Beside native commands") && page.contains("## Without a server"));
}

#[test]
fn a_group_that_is_not_there_is_named_with_those_that_are() {
    let directory = tempfile::tempdir().unwrap();
    let output = bench(directory.path(), &["--only", "nonsense"]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(errors.contains("given 'nonsense'") && errors.contains("server-cost"));
}

/// The processes that a process has started and not waited for.
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|text| {
            text.split(' ')
                .filter_map(|pid| pid.trim().parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

#[test]
fn ctrl_c_ends_it_and_leaves_no_process() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["--quick", "--only", "growth", "--out"])
        .arg(directory.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Its second line: a server runs, and a cell is being filled.
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines
        .map_while(Result::ok)
        .find(|line| line.contains("preparing"));
    assert!(said.is_some());
    let servers = children(child.id());
    assert!(!servers.is_empty());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    for server in servers {
        assert!(
            !Path::new(&format!("/proc/{server}")).exists(),
            "{server} still runs"
        );
    }
}
